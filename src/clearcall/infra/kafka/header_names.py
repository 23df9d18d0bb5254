"""Records whose header names are no text: read with replacement characters instead of not at all.

Kafka takes any bytes as a header's name. aiokafka raises where they are not UTF-8, at that record, again after each
start: one such record would stand in the way of its partition for good.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import aiokafka.consumer.fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords
from typing_extensions import override

_LENGTH = slice(8, 12)
_BEFORE_LENGTH_ENDS = 12
"""A batch is its offset (8 bytes), the length of what follows (4 bytes), and what follows."""


def tolerate_header_names() -> None:
    """Let aiokafka's consumers in this process read such records; a second call changes nothing."""
    aiokafka.consumer.fetcher.MemoryRecords = ReadableRecords


class ReadableRecords:
    """The batches of a fetched piece of a partition, as aiokafka's ``MemoryRecords`` gives them."""

    def __init__(self, data: bytes) -> None:
        self._records = MemoryRecords(data)
        self._rest = memoryview(data)

    def has_next(self) -> bool:
        """Whether there is another batch."""
        return bool(self._records.has_next())

    def size_in_bytes(self) -> int:
        """The bytes of all of them."""
        return int(self._records.size_in_bytes())

    def next_batch(self) -> "_ReadableBatch":
        """The next batch."""
        size = _BEFORE_LENGTH_ENDS + int.from_bytes(self._rest[_LENGTH], "big")
        whole, self._rest = self._rest[:size], self._rest[size:]
        return _ReadableBatch(self._records.next_batch(), whole)


class _ReadableBatch:
    """aiokafka's batch; from a record that it cannot read on, its slow reader with another way to decode names."""

    def __init__(self, batch: Any, whole: memoryview) -> None:
        self._batch = batch
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._batch:
                yield record
                read += 1
        except UnicodeDecodeError:
            yield from itertools.islice(_slow_reader(self._whole), read, None)


def _slow_reader(whole: memoryview) -> _DefaultRecordBatchPy:
    batch = _DefaultRecordBatchPy(whole)
    batch._maybe_uncompress()  # noqa: SLF001 - pinned by a test
    batch._buffer = _LenientBytes(batch._buffer)  # noqa: SLF001 - pinned by a test
    return batch


class _LenientBytes(bytearray):
    """Bytes whose parts are decoded whatever they are."""

    @override
    def __getitem__(self, place: Any) -> Any:
        part = super().__getitem__(place)
        return _LenientBytes(part) if isinstance(place, slice) else part

    @override
    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        return super().decode(encoding, errors)
