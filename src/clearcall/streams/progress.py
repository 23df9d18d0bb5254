"""Which of the chunks sent have ended, as the topics tell it. Pure: fed with records, asked for counts."""

import base64
from collections import Counter
from dataclasses import dataclass, field

from clearcall.schemas import (
    Chunk,
    Cleaned,
    Correction,
    DeadLetter,
    DecodeError,
    Draft,
    Evaluation,
    Handover,
    Message,
    Status,
    Topic,
    decode,
)
from clearcall.streams.shadow_progress import ShadowProgress
from clearcall.streams.stages import SHADOW

Place = tuple[int, int]
"""Partition and offset on ``transcripts.chunks``."""


@dataclass
class Progress:
    """Every record sent to ``transcripts.chunks``, and how it ended.

    A record is known by its place; a valid chunk also by its message id, which is how later stages name it.
    Several records of one chunk end together. ``refused`` has what Kafka did not take, by name and reason: it counts
    neither as sent nor as ended.
    """

    prefix: str = ""
    sent: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)
    evaluations: int = 0
    dead: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    shadows: ShadowProgress = field(default_factory=ShadowProgress)
    _waiting: dict[Place, str | None] = field(default_factory=dict)
    _places: dict[str, list[Place]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _dead_places: set[Place] = field(default_factory=set)

    @property
    def ended(self) -> int:
        """Records that ended: cleaned, or in the dead letters."""
        return self.sent - len(self._waiting)

    @property
    def cleaned(self) -> int:
        """Distinct chunks cleaned."""
        return self.statuses.total()

    def add(self, place: Place, message_id: str | None) -> None:
        """A record was written to ``place``; ``message_id`` is ``None`` where it is no valid chunk.

        Its end may be known already: the pipeline can be faster than the producer's confirmation.
        """
        self.sent += 1
        if message_id in self._ended or place in self._dead_places:
            return
        self._waiting[place] = message_id
        if message_id is not None:
            self._places.setdefault(message_id, []).append(place)

    def on_cleaned(self, value: bytes) -> None:
        """A record of ``transcripts.cleaned``; a second one of the same chunk counts for nothing."""
        cleaned = decode(Cleaned, value)
        if cleaned.message_id in self._ended:
            return
        self.statuses[cleaned.status] += 1
        self.evaluations += cleaned.scored
        self.shadows.on_cleaned(cleaned)
        self._end(cleaned.message_id)

    def on_dead_letter(self, value: bytes) -> None:
        """A record of ``transcripts.dead-letters``: of a chunk itself, or of what became of it in a later stage."""
        letter = decode(DeadLetter, value)
        self.dead += 1
        topic = Topic(letter.topic.removeprefix(self.prefix))
        message = _content(topic, letter)
        if (shadow := _shadow(letter, message)) is not None:
            if isinstance(message, _OF_CHUNK):
                self.shadows.on_end(shadow, message.chunk.message_id)
            elif isinstance(message, Chunk):
                self.shadows.on_end(shadow, message.message_id)
        elif topic is Topic.CHUNKS:
            place = (letter.partition, letter.offset)
            self._dead_places.add(place)
            self._waiting.pop(place, None)
        elif isinstance(message, _OF_CHUNK):
            self._end(message.chunk.message_id)

    def on_evaluation(self, value: bytes) -> None:
        """A record of ``transcripts.evaluations``: what shadows do is seen there alone."""
        self.shadows.on_evaluation(decode(Evaluation, value))

    def _end(self, message_id: str) -> None:
        self._ended.add(message_id)
        for place in self._places.pop(message_id, ()):
            self._waiting.pop(place, None)


_OF_CHUNK = (Draft, Correction, Handover)


def _shadow(letter: DeadLetter, message: Message | None) -> str | None:
    """The shadow that a letter is of: of its own stage, or of what it had answered; ``None`` where it is of none."""
    if letter.stage.startswith(f"{SHADOW}-"):
        return letter.stage.removeprefix(f"{SHADOW}-")
    return message.track.agent if isinstance(message, _OF_CHUNK) and message.track.shadow else None


def _content(topic: Topic, letter: DeadLetter) -> Message | None:
    if letter.record_value is None:
        return None
    try:
        return decode(topic.message_type, base64.b64decode(letter.record_value))
    except DecodeError:
        return None
