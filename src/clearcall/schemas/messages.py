"""The values of the topics. Unknown fields are ignored, missing ones are an error that names them.

A change of a field is a change of ``schema_version``; a test holds the exported JSON Schema to it.
Texts are kept exactly as received; times are seconds (of the call: ``start``, ``end``; of the epoch: ``*_at``).
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

CallId = Annotated[str, Field(min_length=1, max_length=256)]
Ordinal = Annotated[int, Field(ge=0, le=2**31 - 1)]
Score = Annotated[float, Field(ge=0, le=100)]


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


class Message(Part):
    """A value of a topic, keyed by ``call_id``."""

    schema_name: ClassVar[str]
    schema_version: ClassVar[int] = 1

    @property
    def key(self) -> str:
        """The Kafka key: order is kept within it."""
        raise NotImplementedError

    @property
    def message_id(self) -> str:
        """A function of the content's place, so that a redelivered message writes the same rows."""
        raise NotImplementedError


class Chunk(Message):
    """What one speaker said in one stretch, from the recogniser."""

    schema_name = "clearcall.chunk"

    call_id: CallId
    chunk_id: Ordinal
    speaker: Ordinal
    text: str
    start: float | None = None
    end: float | None = None

    @property
    @override
    def key(self) -> str:
        return self.call_id

    @property
    @override
    def message_id(self) -> str:
        return f"{self.call_id}/{self.chunk_id}"


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
    """An earlier answer to a chunk and how it was scored; travels so that no stage keeps state."""

    iteration: Ordinal
    cleaned: str
    outcome: Outcome
    failure: Failure | None = None
    consultant: ConsultantInfo
    flagged: bool
    fragments: tuple[FragmentScore, ...] = ()
    flags: tuple[GuardFlag, ...] = ()  # of the chunk as a whole: coverage, order


class _OfChunk(Message):
    """A message about one chunk."""

    chunk: Chunk

    @property
    @override
    def key(self) -> str:
        return self.chunk.call_id


class Draft(_OfChunk):
    """The consultant's answer to one chunk at one iteration, with all the evaluator needs."""

    schema_name = "clearcall.draft"

    iteration: Ordinal
    outcome: Outcome
    failure: Failure | None = None
    cleaned: str
    consultant: ConsultantInfo
    context: tuple[ContextTurn, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float = 0.0
    prompt_tokens: Ordinal = 0
    completion_tokens: Ordinal = 0
    drafted_at: float

    @property
    @override
    def message_id(self) -> str:
        return f"{self.chunk.message_id}/{self.iteration}"


class Correction(_OfChunk):
    """A flagged chunk on its way back to the consultant; the header ``iteration`` says which round."""

    schema_name = "clearcall.correction"

    context: tuple[ContextTurn, ...] = ()
    attempts: Annotated[tuple[Attempt, ...], Field(min_length=1)]

    @property
    @override
    def message_id(self) -> str:
        return f"{self.chunk.message_id}/{self.attempts[-1].iteration + 1}"


class Evaluation(_OfChunk):
    """All scores of one chunk at one iteration."""

    schema_name = "clearcall.evaluation"

    attempt: Attempt
    mode: str
    threshold: Score
    fragment_words: Ordinal
    fragment_overlap: Ordinal
    latency_ms: float = 0.0
    prompt_tokens: Ordinal = 0
    completion_tokens: Ordinal = 0
    clearcall_version: str
    evaluated_at: float

    @property
    @override
    def message_id(self) -> str:
        return f"{self.chunk.message_id}/{self.attempt.iteration}"


class Cleaned(_OfChunk):
    """The end of a chunk: what is delivered, and every score on the way to it."""

    schema_name = "clearcall.cleaned"

    text: str
    status: Status
    iteration: Ordinal  # of the attempt that was taken
    consultant: ConsultantInfo
    attempts: tuple[Attempt, ...] = ()
    mode: str
    threshold: Score
    clearcall_version: str
    cleaned_at: float

    @property
    @override
    def message_id(self) -> str:
        return self.chunk.message_id


class Alert(Message):
    """Drift of a monitored figure against its pinned reference."""

    schema_name = "clearcall.alert"

    fingerprint: Annotated[str, Field(min_length=1)]
    state: str
    monitor: str
    consultant: ConsultantInfo
    observed: float
    reference: float
    p_value: float
    calls: Ordinal
    summary: str
    clearcall_version: str
    raised_at: float

    @property
    @override
    def key(self) -> str:
        return self.fingerprint

    @property
    @override
    def message_id(self) -> str:
        return f"{self.fingerprint}/{self.raised_at:.3f}"


class DeadLetter(Message):
    """A message that no stage could handle: why, and everything needed to send it again.

    ``key``, ``value`` and header values are base64 of the original bytes; ``None`` is Kafka's null.
    """

    schema_name = "clearcall.dead-letter"

    stage: str
    reason: str
    detail: str
    errors: tuple[str, ...] = ()
    topic: str
    partition: Ordinal
    offset: Annotated[int, Field(ge=0)]
    record_key: str | None
    record_value: str | None
    record_headers: tuple[tuple[str, str | None], ...] = ()
    record_timestamp: float | None = None
    truncated: bool = False
    clearcall_version: str
    died_at: float

    @property
    @override
    def key(self) -> str:
        return f"{self.topic}/{self.partition}"

    @property
    @override
    def message_id(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"
