"""Which attempt at a chunk is taken, and an evaluation as it travels."""

from collections.abc import Sequence

from clearcall.schemas import Attempt, FragmentScore, GuardFlag, Outcome, Span
from clearcall.scoring.types import Evaluation, Flag, SpanOffsets

_Rank = tuple[bool, int, int, float, int]


def better(attempt: Attempt, other: Attempt) -> bool:
    """Whether ``attempt`` is to be taken rather than ``other``; false where they are equal.

    An evaluated attempt before a failed one; then fewer flagged fragments; then fewer flags of the chunk as a whole;
    then the higher mean similarity; then the earlier iteration, so a correction that is no better is not taken.
    """
    return _rank(attempt) < _rank(other)


def best_attempt(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt that is taken.

    Raises:
        ValueError: there is none.
    """
    return min(attempts, key=_rank)


def _rank(attempt: Attempt) -> _Rank:
    scores = [fragment.ss for fragment in attempt.fragments]
    return (
        attempt.outcome is Outcome.FAILED,
        sum(fragment.flagged for fragment in attempt.fragments),
        len(attempt.flags),
        -(sum(scores) / len(scores)) if scores else 0.0,
        attempt.iteration,
    )


def fragment_scores(evaluation: Evaluation) -> tuple[FragmentScore, ...]:
    """The fragments of one turn's evaluation as they travel."""
    return tuple(
        FragmentScore(
            fragment_id=number,
            text=fragment.text,
            cleaned=Span(start=fragment.start, end=fragment.end),
            ss=fragment.score,
            ss_paper=fragment.paper_score,
            source_text=fragment.source_text,
            flagged=fragment.flagged,
            flags=guard_flags(fragment.flags),
        )
        for number, fragment in enumerate(evaluation.fragments)
    )


def guard_flags(flags: Sequence[Flag]) -> tuple[GuardFlag, ...]:
    """Flags as they travel."""
    return tuple(
        GuardFlag(guard=flag.guard, reason=flag.reason, cleaned=_span(flag.cleaned), source=_span(flag.source))
        for flag in flags
    )


def _span(offsets: SpanOffsets | None) -> Span | None:
    return None if offsets is None else Span(start=offsets[0], end=offsets[1])
