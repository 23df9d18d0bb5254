"""What the evaluator agent, a model that calls the scoring function, made of its arguments."""

from enum import StrEnum

from typing_extensions import override

from clearcall.schemas.messages import Message
from clearcall.schemas.parts import CallId, ConsultantInfo, Ordinal, Part, Score, Track


class Distortion(StrEnum):
    """What became of a text on its way into the call, the worse the later."""

    EXACT = "exact"
    ALTERED = "altered"  # words, marks or case changed, added or moved, most words the true ones
    TRUNCATED = "truncated"  # a part of the true text and nothing else
    SWAPPED = "swapped"  # the call's other text in its place
    INVENTED = "invented"  # most words are not the true text's
    MISSING = "missing"  # no call, or one that cannot be read


class FlagChange(StrEnum):
    """What a distorted call would have done to a fragment's flag."""

    NONE = "none"
    HIDDEN = "hidden"  # flagged, and would not have been
    FALSE = "false"  # not flagged, and would have been
    UNSCORED = "unscored"  # nothing was handed over that could be scored


class FragmentCheck(Part):
    """One call of the scoring function beside what it should have been.

    ``given_fragment`` and ``given_source`` are what was handed over, ``None`` where that is the true text, or nothing.
    ``ss`` is what the function says of the true arguments, ``given_ss`` of those handed over: similarity alone, of the
    fragment in its own chunk, so that it may differ from the score that counts.
    """

    fragment_id: Ordinal
    fragment: Distortion
    source: Distortion
    given_fragment: str | None = None
    given_source: str | None = None
    ss: Score
    given_ss: Score | None = None
    change: FlagChange


class ToolCheck(Message):
    """The calls for the fragments of one scored answer; ``model`` and ``prompt_version`` are those of the caller."""

    schema_name = "clearcall.tool-check"

    call_id: CallId
    chunk_id: Ordinal
    iteration: Ordinal
    track: Track = Track()
    consultant: ConsultantInfo
    model: str
    prompt_version: str
    checks: tuple[FragmentCheck, ...]
    mode: str
    threshold: Score
    clearcall_version: str
    checked_at: float

    @property
    @override
    def key(self) -> str:
        return self.call_id

    @property
    @override
    def message_id(self) -> str:
        return f"{self.call_id}/{self.chunk_id}/{self.iteration}{self.track.mark}"
