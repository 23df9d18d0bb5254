"""A record as Kafka delivered it, and a message on its way through an agent."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from clearcall.schemas import Incoming, Topic
from clearcall.schemas.headers import RawHeaders


class Partition(NamedTuple):
    """A topic's partition, by the topic's full name."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Record:
    """The bytes of one message and its place; ``value`` is ``None`` for a tombstone.

    ``timestamp`` is in seconds of the epoch.
    """

    topic: Topic
    partition: Partition
    offset: int
    key: bytes | None
    value: bytes | None
    headers: RawHeaders = ()
    timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A decoded record that is under way; ``generation`` is the assignment under which it was taken."""

    record: Record
    incoming: Incoming[Any]
    generation: int
