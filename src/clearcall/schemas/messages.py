"""The values of the topics. Unknown fields are ignored, missing ones are an error that names them.

A change of a field is a change of ``schema_version``; a test holds the exported JSON Schema to it.
Texts are kept exactly as received; times are seconds (of the call: ``start``, ``end``; of the epoch: ``*_at``).
"""

from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import override

from clearcall.schemas.parts import (
    Attempt,
    Base64,
    CallId,
    ConsultantInfo,
    ContextTurn,
    Failure,
    Ordinal,
    Outcome,
    Part,
    Score,
    Status,
    TaskEnd,
    Track,
)


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


class _OfChunk(Message):
    """A message about one chunk, on one of its tracks. Version 1 knew of one consultant and one task."""

    schema_version = 2

    chunk: Chunk
    track: Track = Track()

    @property
    @override
    def key(self) -> str:
        return self.chunk.call_id

    def id_at(self, iteration: int) -> str:
        """The id of what is about this chunk, track and iteration."""
        return f"{self.chunk.message_id}/{iteration}{self.track.mark}"


class _OfTask(_OfChunk):
    """A message about what a task makes of a chunk. ``given`` is what it rewrites; the first task: the chunk's text."""

    given: str | None = None

    @property
    def source(self) -> str:
        """What is rewritten, and scored against."""
        return self.chunk.text if self.given is None else self.given


class Draft(_OfTask):
    """The consultant's answer to one chunk at one iteration, with all the evaluator needs."""

    schema_name = "clearcall.draft"

    iteration: Ordinal
    outcome: Outcome
    failure: Failure | None = None
    cleaned: str
    consultant: ConsultantInfo
    context: tuple[ContextTurn, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    earlier: tuple[TaskEnd, ...] = ()
    latency_ms: float = 0.0
    prompt_tokens: Ordinal = 0
    completion_tokens: Ordinal = 0
    drafted_at: float

    @property
    @override
    def message_id(self) -> str:
        return self.id_at(self.iteration)


class Correction(_OfTask):
    """A flagged chunk on its way back to the consultant; the header ``iteration`` says which round."""

    schema_name = "clearcall.correction"

    context: tuple[ContextTurn, ...] = ()
    attempts: Annotated[tuple[Attempt, ...], Field(min_length=1)]
    earlier: tuple[TaskEnd, ...] = ()

    @property
    @override
    def message_id(self) -> str:
        return self.id_at(self.attempts[-1].iteration + 1)


class Handover(_OfChunk):
    """A chunk that one task has done, on its way to the next: ``given`` is the text so far, ``track`` of the next."""

    schema_name = "clearcall.handover"
    schema_version = 1

    given: str
    context: tuple[ContextTurn, ...] = ()
    earlier: Annotated[tuple[TaskEnd, ...], Field(min_length=1)]

    @property
    @override
    def message_id(self) -> str:
        return self.id_at(0)


class Evaluation(_OfTask):
    """All scores of one chunk at one iteration; ``ends`` says that no other will follow on its track."""

    schema_name = "clearcall.evaluation"

    attempt: Attempt
    ends: bool = False
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
        return self.id_at(self.attempt.iteration)


class Cleaned(_OfChunk):
    """The end of a chunk: what is delivered, and every score of its last task on the way to it."""

    schema_name = "clearcall.cleaned"

    text: str
    status: Status
    iteration: Ordinal  # of the attempt that was taken
    consultant: ConsultantInfo
    attempts: tuple[Attempt, ...] = ()
    earlier: tuple[TaskEnd, ...] = ()
    mode: str
    threshold: Score
    clearcall_version: str
    cleaned_at: float

    @property
    @override
    def message_id(self) -> str:
        return self.chunk.message_id

    @property
    def scored(self) -> int:
        """Attempts that were scored on the way, those of earlier tasks included."""
        return len(self.attempts) + sum(end.attempts for end in self.earlier)


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
    offset: Annotated[int, Field(ge=0, strict=True)]
    record_key: Base64 | None
    record_value: Base64 | None
    record_headers: tuple[tuple[str, Base64 | None], ...] = ()
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
