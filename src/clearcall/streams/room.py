"""How much may be under way at once: a bound in messages and one in bytes, whichever is reached first."""

import asyncio
from dataclasses import dataclass, field

from clearcall.streams.records import Partition, Record

_HEADER_BYTES = 16
"""About what a header takes beside its name and value."""


@dataclass(slots=True)
class _Use:
    messages: int = 0
    aside: int = 0
    size: int = 0


@dataclass(slots=True)
class Room:
    """Counts what is under way, in all and by partition; both bounds are at least 1.

    The bound of bytes can be passed by one message, the last one let in: a message larger than all room must pass.
    """

    messages: int
    size: int
    _all: _Use = field(default_factory=_Use)
    _by_partition: dict[Partition, _Use] = field(default_factory=dict)
    _free: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._free.set()

    def enter(self, record: Record) -> None:
        """A message is under way."""
        size = size_of(record)
        for use in (self._all, self._by_partition.setdefault(record.partition, _Use())):
            use.messages += 1
            use.size += size
        if self._share(self._all) >= 1:
            self._free.clear()

    def lay_aside(self, record: Record) -> None:
        """A message that had entered gives its place to another; its bytes stay."""
        for use in (self._all, self._by_partition[record.partition]):
            use.messages -= 1
            use.aside += 1
        self._free_if_space()

    def leave(self, record: Record, *, aside: bool = False) -> None:
        """A message that had entered is done; ``aside``: it was laid aside."""
        size = size_of(record)
        partition = self._by_partition[record.partition]
        for use in (self._all, partition):
            use.messages -= not aside
            use.aside -= aside
            use.size -= size
        if not partition.messages and not partition.aside:
            del self._by_partition[record.partition]
        self._free_if_space()

    def clear(self) -> None:
        """Nothing is under way any more."""
        self._all = _Use()
        self._by_partition.clear()
        self._free.set()

    @property
    def short_of_bytes(self) -> bool:
        """The bytes are what fills it."""
        return self._all.size >= self.size

    async def wait(self) -> None:
        """Return when there is room for one more message."""
        await self._free.wait()

    @property
    def has_space(self) -> bool:
        """One more message may enter."""
        return self._free.is_set()

    @property
    def used(self) -> float:
        """The share of the room that is taken: of messages or of bytes, whichever is more."""
        return self._share(self._all)

    def used_by(self, partition: Partition) -> float:
        """The same for what one partition takes."""
        use = self._by_partition.get(partition)
        return self._share(use) if use is not None else 0.0

    @property
    def messages_in(self) -> int:
        """Messages under way, those aside among them."""
        return self._all.messages + self._all.aside

    @property
    def bytes_in(self) -> int:
        """Their bytes."""
        return self._all.size

    def _free_if_space(self) -> None:
        if self._share(self._all) < 1:
            self._free.set()

    def _share(self, use: _Use) -> float:
        return max(use.messages / self.messages, use.size / self.size)


def size_of(record: Record) -> int:
    """The bytes of a record's key, value and headers."""
    size = len(record.value or b"") + len(record.key or b"")
    for name, content in record.headers:
        size += len(name) + len(content or b"") + _HEADER_BYTES
    return size
