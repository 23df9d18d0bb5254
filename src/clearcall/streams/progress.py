"""Which of the chunks sent have ended, as the topics tell it. Pure: fed with records, asked for counts."""

import base64
from collections import Counter
from dataclasses import dataclass, field

from clearcall.schemas import Cleaned, Correction, DeadLetter, DecodeError, Draft, Status, Topic, decode

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
        self.evaluations += len(cleaned.attempts)
        self._end(cleaned.message_id)

    def on_dead_letter(self, value: bytes) -> None:
        """A record of ``transcripts.dead-letters``: of a chunk itself, or of what became of it in a later stage."""
        letter = decode(DeadLetter, value)
        self.dead += 1
        topic = letter.topic.removeprefix(self.prefix)
        if topic == Topic.CHUNKS:
            place = (letter.partition, letter.offset)
            self._dead_places.add(place)
            self._waiting.pop(place, None)
            return
        message_id = _chunk_of(Topic(topic), letter)
        if message_id is not None:
            self._end(message_id)

    def _end(self, message_id: str) -> None:
        self._ended.add(message_id)
        for place in self._places.pop(message_id, ()):
            self._waiting.pop(place, None)


def _chunk_of(topic: Topic, letter: DeadLetter) -> str | None:
    if letter.record_value is None:
        return None
    try:
        message = decode(topic.message_type, base64.b64decode(letter.record_value))
    except DecodeError:
        return None
    return message.chunk.message_id if isinstance(message, Draft | Correction) else None
