"""The evaluator: every fragment of a cleaned text against what the same speaker said. No model decides a score."""

from collections.abc import Sequence

from clearcall.scoring import sources
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.matcher import best_window, is_below
from clearcall.scoring.types import Evaluation, Fragment, Mode, Rules, Turn

DEFAULT_RULES = Rules()


def evaluate_turn(cleaned: str, own: int, source: Sequence[Turn], *, rules: Rules = DEFAULT_RULES) -> Evaluation:
    """Score one cleaned turn.

    Args:
        cleaned: the cleaned form of ``source[own]``.
        own: the index of the turn that was cleaned.
        source: the turns of the conversation around it, all speakers, in order, as they were said.
        rules: mode, threshold, the shape of fragments, and how much of the speaker's speech counts as source.

    Raises:
        IndexError: there is no ``source[own]``.
    """
    speaker = source[own].speaker
    said = sources.around(own, source, rules.source_chars)
    return Evaluation(tuple(_score(cleaned, own, speaker, said, rules)))


def evaluate(
    cleaned: Sequence[Turn],
    source: Sequence[Turn],
    *,
    mode: Mode = "strict",
    threshold: float = 80.0,
    words: int = 20,
    overlap: int = 3,
) -> Evaluation:
    """Score cleaned turns against all that the same speaker said in ``source``."""
    rules = Rules(mode=mode, threshold=threshold, words=words, overlap=overlap)
    fragments: list[Fragment] = []
    for index, turn in enumerate(cleaned):
        said = sources.spoken_by(turn.speaker, source)
        fragments.extend(_score(turn.text, index, turn.speaker, said, rules))
    return Evaluation(tuple(fragments))


def _score(cleaned: str, turn: int, speaker: int, said: sources.Source, rules: Rules) -> list[Fragment]:
    scored = []
    for start, end in fragment_spans(cleaned, rules.words, rules.overlap):
        text = cleaned[start:end]
        match = best_window(text, said.text)
        scored.append(
            Fragment(
                turn=turn,
                speaker=speaker,
                text=text,
                start=start,
                end=end,
                score=match.score,
                paper_score=match.score,
                source_text=said.text[match.start : match.end],
                source_start=match.start,
                source_end=match.end,
                below_threshold=is_below(match, text, rules.threshold),
            )
        )
    return scored
