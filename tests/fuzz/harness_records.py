"""Whole records through the runtime: a line with the topic, the key, headers as for ``headers``, the value."""

import asyncio
import base64
import sys
from collections.abc import Sequence
from typing import Any

from fuzz_parts import FOLDER, parts
from harness_headers import WORDS as HEADERS
from harness_messages import WORDS as VALUES
from harness_messages import topic_of

from clearcall.schemas import DeadLetter, Incoming, Outgoing, Topic, decode
from clearcall.streams.records import Partition, Record

sys.path.append(str(FOLDER.parent / "unit" / "streams"))
from runtime_fakes import bench, until

WORDS = (*VALUES, *HEADERS, "\n====\n")

_OFFSET = 41


def check(data: bytes) -> None:
    """A record is handled, or unharmed in a dead letter with its reason; either way, and only then, it is acked."""
    name, key, headers, value = parts(data, 4)
    topic = topic_of(name)
    found = [line.partition(b"=") for line in headers.split(b"\n") if line]
    raw_headers = [(name.decode("utf-8", "replace"), content) for name, _, content in found]
    record = Record(topic, Partition(topic, 0), _OFFSET, key or None, value, raw_headers)
    handled, letters, committable = asyncio.run(_through_the_runtime(record))
    assert committable == {record.partition: _OFFSET + 1}
    if topic is Topic.DEAD_LETTERS:
        assert not letters
        return
    assert len(handled) + len(letters) == 1
    for letter in letters:
        assert letter.reason
        assert letter.detail
        assert not letter.truncated
        _is_the_original(letter, record)


async def _through_the_runtime(record: Record) -> tuple[list[Any], list[DeadLetter], dict[Partition, int]]:
    handled: list[Any] = []

    async def keep(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        handled.extend(batch)
        return []

    made = bench(keep)
    await made.ordered.take(record)
    await until(lambda: made.counters.finished == 1)
    letters = [decode(DeadLetter, value) for topic, _, value, _ in made.kafka.sent if topic == Topic.DEAD_LETTERS]
    return handled, letters, made.ordered.committable()


def _is_the_original(letter: DeadLetter, record: Record) -> None:
    assert (letter.topic, letter.partition, letter.offset) == (*record.partition, record.offset)
    assert _bytes(letter.record_key) == record.key
    assert _bytes(letter.record_value) == record.value
    assert [(name, _bytes(value)) for name, value in letter.record_headers] == list(record.headers)


def _bytes(content: str | None) -> bytes | None:
    return None if content is None else base64.b64decode(content, validate=True)
