"""Which offsets may be committed: never past the lowest message that is still under way."""

from collections import deque

from clearcall.streams.records import Partition


class PartitionOffsets:
    """The messages of one partition that were begun and not yet released.

    A finished message is released once every message before it is finished. Memory grows with the messages
    between the lowest unfinished and the highest begun one.
    """

    __slots__ = ("_finished", "_open", "_order", "_top")

    def __init__(self) -> None:
        self._order: deque[int] = deque()
        self._open: set[int] = set()
        self._finished: set[int] = set()
        self._top = -1

    def begin(self, offset: int) -> bool:
        """Note that ``offset`` is under way; ``False`` where it already is, so that it is not handled twice."""
        if offset in self._open or offset in self._finished:
            return False
        if self._order and offset < self._order[-1]:
            # Kafka went back to an earlier place: rare, so sorting is cheap enough.
            self._order = deque(sorted((*self._order, offset)))
        else:
            self._order.append(offset)
        self._open.add(offset)
        self._top = max(self._top, offset)
        return True

    def finish(self, offset: int) -> list[int]:
        """Note that ``offset`` is done; returns what this releases, in order."""
        if offset not in self._open:
            return []
        self._open.remove(offset)
        order = self._order
        if order[0] != offset:
            self._finished.add(offset)
            return []
        released = [order.popleft()]
        while order and order[0] in self._finished:
            self._finished.remove(order[0])
            released.append(order.popleft())
        return released

    @property
    def lowest_unfinished(self) -> int | None:
        """The lowest offset under way."""
        return self._order[0] if self._order else None

    @property
    def committable(self) -> int | None:
        """The offset to continue from after a crash; ``None`` before the first message."""
        if self._order:
            return self._order[0]
        return self._top + 1 if self._top >= 0 else None


class Offsets:
    """The offsets of one assignment of partitions.

    A rebalance ends the assignment: what was under way is forgotten, since Kafka delivers it again, and what
    finishes of it later changes nothing.
    """

    def __init__(self) -> None:
        self._partitions: dict[Partition, PartitionOffsets] = {}
        self._generation = 0

    @property
    def generation(self) -> int:
        """Grows by one with every revoked assignment."""
        return self._generation

    def begin(self, partition: Partition, offset: int) -> bool:
        """Note a message as under way; ``False`` where it already is."""
        offsets = self._partitions.get(partition)
        if offsets is None:
            offsets = self._partitions[partition] = PartitionOffsets()
        return offsets.begin(offset)

    def finish(self, partition: Partition, offset: int, generation: int) -> list[int]:
        """Note a message of that generation as done; returns the offsets that this releases, in order."""
        if generation != self._generation:
            return []
        return self._partitions[partition].finish(offset)

    def revoke(self) -> None:
        """Forget the assignment."""
        self._generation += 1
        self._partitions.clear()

    def committable(self) -> dict[Partition, int]:
        """Per partition, the offset to continue from after a crash."""
        found = {partition: offsets.committable for partition, offsets in self._partitions.items()}
        return {partition: offset for partition, offset in found.items() if offset is not None}

    def lowest_unfinished(self, partition: Partition) -> int | None:
        """The lowest offset under way in ``partition``."""
        offsets = self._partitions.get(partition)
        return offsets.lowest_unfinished if offsets else None
