"""The evaluator: every fragment of a cleaned text against what the same speaker said. No model decides a score.

Mode ``paper`` is Algorithm 1 on the characters as given, case and all. Mode ``strict`` normalises both sides first and
adds the guards. Both scores of a fragment are always recorded.
"""

from collections.abc import Iterable, Sequence

from clearcall.scoring import sources
from clearcall.scoring.alignment import compare
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.near import Aligned
from clearcall.scoring.normalise import normalise
from clearcall.scoring.restated import restated
from clearcall.scoring.scored import Heard, paper_fragments, strict_fragments, with_flags
from clearcall.scoring.types import GUARDS, Evaluation, Fragment, Mode, Rules, Turn

DEFAULT_RULES = Rules()


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
        return Evaluation(tuple(paper_fragments(turn, own, said, rules)))
    comparison = compare(cleaned, source[own].text, rules.lexicon)
    others = sources.others_around(own, source, rules.source_chars)
    heard = Heard(said, others, restated(comparison), said.own_start, Aligned(comparison))
    fragments = strict_fragments(turn, own, comparison.cleaned, heard, rules)
    return with_flags(fragments, [turn], [own], comparison, rules)


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
        scored = [paper_fragments(turn, index, said[turn.speaker], rules) for index, turn in enumerate(cleaned)]
        return Evaluation(tuple(fragment for fragments in scored for fragment in fragments))
    others = {speaker: sources.join([turn for turn in source if turn.speaker != speaker]) for speaker in said}
    parts = []
    for indices, text, start in _units(cleaned, source, said):
        turns = [cleaned[index] for index in indices]
        comparison = compare(sources.join(turns).text, text, lexicon)
        own = restated(comparison)
        fragments: list[Fragment] = []
        for index, turn, at in zip(indices, turns, sources.join(turns).starts, strict=True):
            aligned = Aligned(comparison, at)
            heard = Heard(said[turn.speaker], others[turn.speaker], own, start, aligned)
            fragments += strict_fragments(turn, index, normalise(turn.text, lexicon), heard, rules)
        parts.append(with_flags(fragments, turns, indices, comparison, rules))
    ordered = sorted(
        (f for part in parts for f in part.fragments), key=lambda fragment: (fragment.turn, fragment.start)
    )
    return Evaluation(tuple(ordered), tuple(flag for part in parts for flag in part.flags))


def _units(
    cleaned: Sequence[Turn], source: Sequence[Turn], said: dict[int, sources.Source]
) -> Iterable[tuple[list[int], str, int]]:
    """What the guards compare: the indices of cleaned turns, the source that they stand for, and where it starts.

    The start is in all that the speaker said.
    """
    if [turn.speaker for turn in cleaned] == [turn.speaker for turn in source]:
        starts = {speaker: iter(all_of_it.starts) for speaker, all_of_it in said.items()}
        yield from (([index], turn.text, next(starts[turn.speaker])) for index, turn in enumerate(source))
        return
    for speaker in sorted(said):
        yield [index for index, turn in enumerate(cleaned) if turn.speaker == speaker], said[speaker].text, 0
