"""A fragment that somebody else said."""

from clearcall.scoring.types import Flag, Match, SpanOffsets

NAME = "speaker_margin"

MARGIN = 10.0
"""How much better than one's own speech another speaker's must match, on the scale of the score."""


def speaker_margin(own: Match, other: Match, cleaned: SpanOffsets) -> Flag | None:
    """A flag where another speaker's text matches a fragment better than its own speaker's, by ``MARGIN`` or more."""
    if other.score - own.score < MARGIN:
        return None
    return Flag(NAME, f"another speaker's words match {other.score:.0f}, the speaker's own {own.score:.0f}", cleaned)
