"""What messages are made of: how a chunk stands, who answered, what was found.

Texts are kept exactly as received.
"""

from base64 import b64decode
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _base64(text: str) -> str:
    b64decode(text, validate=True)  # its error is a ValueError, as pydantic wants it
    return text


CallId = Annotated[str, Field(min_length=1, max_length=256)]
Ordinal = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
"""A whole number as such: taken as 1, "1", 1.0 and true would give several chunks one id."""
Base64 = Annotated[str, AfterValidator(_base64)]
Score = Annotated[float, Field(ge=0, le=100)]
Name = Annotated[str, Field(max_length=64, pattern=r"^[a-z0-9-]*$")]
"""Of a consultant or a task; empty where it has none."""


class Status(StrEnum):
    """How a chunk ended."""

    CLEAN = "clean"  # accepted at iteration 0
    CORRECTED = "corrected"  # accepted at iteration 1 or 2
    RESTORED = "restored"  # flagged at the bound: flagged fragments replaced by rule-cleaned source
    KEPT = "kept"  # flagged at the bound, policy keep: the best attempt as it is, marked
    PASSTHROUGH = "passthrough"  # no model answered (policy degrade), or nothing to clean


class Outcome(StrEnum):
    """What the consultant has to say of a chunk."""

    ANSWERED = "answered"
    FAILED = "failed"  # the model answered, but not this chunk: see Failure
    DEGRADED = "degraded"  # no model answered, policy degrade: cleaned by rules
    NOTHING_TO_CLEAN = "nothing_to_clean"  # empty or filler-only: no model call, no score
    BOUND_REACHED = "bound_reached"  # a correction whose iteration header allows no further request


class Failure(StrEnum):
    """Why a chunk has no usable answer."""

    EMPTY = "empty"
    GARBAGE = "garbage"
    MISSING_LINE = "missing_line"
    REPEATED_LINE = "repeated_line"
    MERGED_LINE = "merged_line"  # one line for several chunks
    CUT = "cut"
    REFUSAL = "refusal"
    OTHER_LANGUAGE = "other_language"
    REJECTED = "rejected"  # the server refused the request itself, such as one too long for the model
    NOT_RECORDED = "not_recorded"  # a recording holds no answer to this correction


class Part(BaseModel):
    """A piece of a message."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, hide_input_in_errors=True)


class ContextTurn(Part):
    """A neighbouring chunk as it was said: the model's context and the evaluator's source."""

    chunk_id: Ordinal
    speaker: Ordinal
    text: str


class ConsultantInfo(Part):
    """Who answered, and how: on every row, so that a change of model or prompt can be told apart."""

    backend: str
    model: str
    prompt_version: str
    decoding: str = "free"


class Span(Part):
    """Half-open character offsets in a text as given."""

    start: int
    end: int


class GuardFlag(Part):
    """What a guard saw, with its place in the cleaned text and in the source."""

    guard: str
    reason: str
    cleaned: Span | None = None
    source: Span | None = None


class FragmentScore(Part):
    """One fragment of a cleaned chunk against its best window in the same speaker's source.

    ``ss`` is the similarity of the run's mode, ``ss_paper`` that of Algorithm 1 alone, both 0 to 100.
    ``cleaned`` is its place in the cleaned text; ``source_text`` the best window as it was said.
    """

    fragment_id: Ordinal
    text: str
    cleaned: Span
    ss: Score
    ss_paper: Score
    source_text: str
    flagged: bool
    flags: tuple[GuardFlag, ...] = ()


class Attempt(Part):
    """An earlier answer to a chunk and how it was scored; travels so that no stage keeps state.

    ``notes`` are findings that do not flag: where the answer is no allowed reduction of what was said, and need not be.
    """

    iteration: Ordinal
    cleaned: str
    outcome: Outcome
    failure: Failure | None = None
    consultant: ConsultantInfo
    flagged: bool
    fragments: tuple[FragmentScore, ...] = ()
    flags: tuple[GuardFlag, ...] = ()  # of the chunk as a whole: coverage, order
    notes: tuple[GuardFlag, ...] = ()


class Track(Part):
    """Which of several consultants a chunk is under way with, and for which of several tasks; empty where it is one.

    A ``shadow`` answers beside the consultant that delivers: it is scored, and nothing of it is delivered. ``step``
    counts the tasks from 0.
    """

    agent: Name = ""
    shadow: bool = False
    task: Name = ""
    step: Ordinal = 0

    @property
    def mark(self) -> str:
        """What its ids end with, such as ``@canary:format-numbers``; nothing where there is one consultant and task."""
        return (f"@{self.agent}" if self.agent else "") + (f":{self.task}" if self.task else "")


class TaskEnd(Part):
    """How an earlier task of a chunk ended, and how many attempts were scored on the way."""

    track: Track
    status: Status
    attempts: Ordinal
