"""The topics, by their names, and the message each one carries."""

from enum import StrEnum

from clearcall.schemas.checks import ToolCheck
from clearcall.schemas.messages import (
    Alert,
    Chunk,
    Cleaned,
    Correction,
    DeadLetter,
    Draft,
    Evaluation,
    Handover,
    Message,
)


class Topic(StrEnum):
    """A topic's name without the deployment's prefix."""

    CHUNKS = "transcripts.chunks"
    DRAFTS = "transcripts.drafts"
    CORRECTIONS = "transcripts.corrections"
    TASKS = "transcripts.tasks"
    EVALUATIONS = "transcripts.evaluations"
    CLEANED = "transcripts.cleaned"
    CHECKS = "transcripts.checks"
    ALERTS = "transcripts.alerts"
    DEAD_LETTERS = "transcripts.dead-letters"

    @property
    def message_type(self) -> type[Message]:
        """The type of this topic's values."""
        return _MESSAGE_TYPES[self]


_MESSAGE_TYPES: dict[Topic, type[Message]] = {
    Topic.CHUNKS: Chunk,
    Topic.DRAFTS: Draft,
    Topic.CORRECTIONS: Correction,
    Topic.TASKS: Handover,
    Topic.EVALUATIONS: Evaluation,
    Topic.CLEANED: Cleaned,
    Topic.CHECKS: ToolCheck,
    Topic.ALERTS: Alert,
    Topic.DEAD_LETTERS: DeadLetter,
}
