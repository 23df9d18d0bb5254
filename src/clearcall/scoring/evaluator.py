"""The evaluator: every fragment of a cleaned text against what the same speaker said. No model decides a score.

Mode ``paper`` is Algorithm 1 on the characters as given, case and all. Mode ``strict`` normalises both sides first and
adds the guards. Both scores of a fragment are always recorded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clearcall.scoring import guards, sources
from clearcall.scoring.alignment import Comparison, compare
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.matcher import best_window, is_below
from clearcall.scoring.normalise import Normalised, normalise
from clearcall.scoring.types import GUARDS, Evaluation, Flag, Fragment, Match, Mode, Rules, SpanOffsets, Turn

DEFAULT_RULES = Rules()
_NO_WORDS = Match(100.0, 0, 0)


def evaluate_turn(cleaned: str, own: int, source: Sequence[Turn], *, rules: Rules = DEFAULT_RULES) -> Evaluation:
    """Score one cleaned turn.

    The similarity is taken against what the same speaker said around the turn; coverage, order, numbers, negations
    and new words are compared with the turn itself.

    Args:
        cleaned: the cleaned form of ``source[own]``.
        own: the index of the turn that was cleaned.
        source: the turns of the conversation around it, all speakers, in order, as they were said.
        rules: mode, threshold, the shape of fragments, the guards, and how much of the speaker's speech is source.

    Raises:
        IndexError: there is no ``source[own]``.
        ValueError: the rules' fragments or threshold make no sense.
    """
    said = sources.around(own, source, rules.source_chars)
    turn = Turn(source[own].speaker, cleaned)
    if rules.mode == "paper":
        return Evaluation(tuple(_paper_fragments(turn, own, said, rules)))
    comparison = compare(cleaned, source[own].text, rules.lexicon)
    others = sources.others_around(own, source, rules.source_chars)
    fragments = _strict_fragments(turn, own, comparison.cleaned, (said, others), rules)
    return _with_flags(fragments, [turn], [own], comparison, rules)


def evaluate(
    cleaned: Sequence[Turn],
    source: Sequence[Turn],
    *,
    mode: Mode = "strict",
    threshold: float = 80.0,
    words: int = 20,
    overlap: int = 3,
    enabled: Iterable[str] = GUARDS,
    lexicon: Lexicon = ENGLISH,
) -> Evaluation:
    """Score cleaned turns against all that the same speaker said in ``source``.

    Where the cleaned turns are as many as the source's, by the same speakers, each is the cleaned form of the turn in
    its place; otherwise the guards compare all that a speaker said with all that is left of it.

    Args:
        cleaned: the cleaned turns, in order.
        source: the turns as they were said, in order.
        mode: ``paper`` for Algorithm 1 alone, ``strict`` for normalised texts and guards.
        threshold: 0 to 100; a fragment with a lower score is flagged.
        words: the most words of a fragment.
        overlap: how many of them the next fragment repeats.
        enabled: the names of the guards that run in strict mode.
        lexicon: the fillers.

    Raises:
        ValueError: the fragments' shape or the threshold makes no sense.
    """
    rules = Rules(mode, threshold, words, overlap, guards=frozenset(enabled), lexicon=lexicon)
    said = {speaker: sources.spoken_by(speaker, source) for speaker in {turn.speaker for turn in (*cleaned, *source)}}
    if mode == "paper":
        scored = [_paper_fragments(turn, index, said[turn.speaker], rules) for index, turn in enumerate(cleaned)]
        return Evaluation(tuple(fragment for fragments in scored for fragment in fragments))
    others = {speaker: sources.join([turn for turn in source if turn.speaker != speaker]) for speaker in said}
    fragments: list[list[Fragment]] = []
    for index, turn in enumerate(cleaned):
        normal = normalise(turn.text, lexicon)
        heard = said[turn.speaker], others[turn.speaker]
        fragments.append(_strict_fragments(turn, index, normal, heard, rules))
    parts = []
    for indices, text in _units(cleaned, source, said):
        joined = sources.join([cleaned[index] for index in indices])
        mine = [fragment for index in indices for fragment in fragments[index]]
        comparison = compare(joined.text, text, lexicon)
        parts.append(_with_flags(mine, [cleaned[index] for index in indices], indices, comparison, rules))
    ordered = sorted(
        (f for part in parts for f in part.fragments), key=lambda fragment: (fragment.turn, fragment.start)
    )
    return Evaluation(tuple(ordered), tuple(flag for part in parts for flag in part.flags))


def _units(
    cleaned: Sequence[Turn], source: Sequence[Turn], said: dict[int, sources.Source]
) -> Iterable[tuple[list[int], str]]:
    """What the guards compare: the indices of cleaned turns, and the source that they stand for."""
    if [turn.speaker for turn in cleaned] == [turn.speaker for turn in source]:
        yield from (([index], turn.text) for index, turn in enumerate(source))
        return
    for speaker in sorted(said):
        yield [index for index, turn in enumerate(cleaned) if turn.speaker == speaker], said[speaker].text


def _paper_fragments(turn: Turn, index: int, said: sources.Source, rules: Rules) -> list[Fragment]:
    scored = []
    for start, end in fragment_spans(turn.text, rules.words, rules.overlap):
        text = turn.text[start:end]
        match = best_window(text, said.text)
        below = is_below(match, text, rules.threshold)
        place = (match.start, match.end)
        scored.append(
            _fragment(turn, index, (start, end), said, place, score=match.score, paper_score=match.score, below=below)
        )
    return scored


def _strict_fragments(
    turn: Turn, index: int, normal: Normalised, heard: tuple[sources.Source, sources.Source], rules: Rules
) -> list[Fragment]:
    said, others = heard
    scored = []
    spoken = said.normalised(rules.lexicon)
    for start, end in fragment_spans(turn.text, rules.words, rules.overlap):
        text = turn.text[start:end]
        paper = best_window(text, said.text)
        compared = normal.slice(*normal.within(start, end))
        match = best_window(compared, spoken.text) if compared else _NO_WORDS
        below = bool(compared) and is_below(match, compared, rules.threshold)
        place = spoken.original(match.start, match.end) if compared else (0, 0)
        fragment = _fragment(
            turn, index, (start, end), said, place, score=match.score, paper_score=paper.score, below=below
        )
        scored.append(_with_speaker_margin(fragment, compared, match, others, rules))
    return scored


def _fragment(
    turn: Turn,
    index: int,
    span: SpanOffsets,
    said: sources.Source,
    place: SpanOffsets,
    *,
    score: float,
    paper_score: float,
    below: bool,
) -> Fragment:
    return Fragment(
        turn=index,
        speaker=turn.speaker,
        text=turn.text[slice(*span)],
        start=span[0],
        end=span[1],
        score=score,
        paper_score=paper_score,
        source_text=said.text[slice(*place)],
        source_start=place[0],
        source_end=place[1],
        below_threshold=below,
    )


def _with_speaker_margin(
    fragment: Fragment, compared: str, own: Match, others: sources.Source, rules: Rules
) -> Fragment:
    if guards.SPEAKER_MARGIN not in rules.guards or own.score + guards.MARGIN > 100 or not others.text:  # noqa: PLR2004 - the highest score
        return fragment
    other = best_window(
        compared, others.normalised(rules.lexicon).text, mode="decide", threshold=own.score + guards.MARGIN
    )
    flag = guards.speaker_margin(own, other, (fragment.start, fragment.end))
    return replace(fragment, flags=(flag,)) if flag else fragment


def _with_flags(
    fragments: list[Fragment], turns: Sequence[Turn], indices: Sequence[int], comparison: Comparison, rules: Rules
) -> Evaluation:
    """The fragments with the guards' flags at their places, and the flags that belong to none of them."""
    if not comparison.blocks:
        return Evaluation(tuple(fragments))
    starts = sources.join(turns).starts
    offset = dict(zip(indices, starts, strict=True))
    local = [
        flag for name, guard in guards.FRAGMENT_GUARDS.items() if name in rules.guards for flag in guard(comparison)
    ]
    whole = [flag for name, guard in guards.TURN_GUARDS.items() if name in rules.guards for flag in guard(comparison)]
    if not local:
        return Evaluation(tuple(fragments), tuple(whole))
    placed: set[Flag] = set()
    flagged = []
    for fragment in fragments:
        shift = offset[fragment.turn]
        mine = [flag for flag in local if _touches(flag, fragment.start + shift, fragment.end + shift)]
        placed.update(mine)
        flagged.append(replace(fragment, flags=(*fragment.flags, *[_shifted(flag, -shift) for flag in mine])))
    return Evaluation(tuple(flagged), tuple(whole + [flag for flag in local if flag not in placed]))


def _touches(flag: Flag, start: int, end: int) -> bool:
    if flag.cleaned is None:
        return False
    if flag.cleaned[0] == flag.cleaned[1]:
        return start <= flag.cleaned[0] <= end
    return flag.cleaned[0] < end and flag.cleaned[1] > start


def _shifted(flag: Flag, shift: int) -> Flag:
    if not shift or flag.cleaned is None:
        return flag
    return replace(flag, cleaned=(flag.cleaned[0] + shift, flag.cleaned[1] + shift))
