import asyncio
from collections.abc import Sequence
from typing import Any

from runtime_fakes import bench, chunk, record, until

from clearcall.agents.protocol import Poison, Unavailable
from clearcall.schemas import Incoming, Outgoing, Topic
from clearcall.streams.records import Partition


class Inserts:
    """A sink: remembers the batches that it stored; ``failures`` come first."""

    def __init__(self, failures: Sequence[Exception] = (), poison: frozenset[int] = frozenset()) -> None:
        self.batches: list[list[int]] = []
        self.failures = list(failures)
        self.poison = poison
        self.held = asyncio.Event()
        self.held.set()

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        await self.held.wait()
        if self.failures:
            raise self.failures.pop(0)
        ids = [one.message.chunk_id for one in batch]
        if self.poison.intersection(ids):
            raise Poison("bad_row", "ClickHouse refuses it")
        self.batches.append(ids)
        return []


async def never(_seconds: float) -> None:
    await asyncio.Event().wait()


async def test_a_full_batch_is_inserted_without_waiting_for_the_clock() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=3, batch_sleep=never)
    for offset in range(3):
        await it.ordered.take(record(offset))
    await until(lambda: it.counters.finished == 3)
    assert inserts.batches == [[0, 1, 2]]


async def test_a_batch_of_large_messages_is_full_by_their_bytes() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=1000, size=10_000, batch_sleep=never)
    for offset in range(6):
        await it.ordered.take(record(offset, chunk(chunk_id=offset, text="x" * 4000)))
    await until(lambda: it.counters.finished == 6)
    assert inserts.batches == [[0, 1, 2], [3, 4, 5]]


async def test_a_message_larger_than_a_batch_may_be_is_a_batch_of_its_own() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=1000, size=10, batch_sleep=never)
    for offset in range(3):
        await it.ordered.take(record(offset))
    await until(lambda: it.counters.finished == 3)
    assert inserts.batches == [[0], [1], [2]]


async def test_a_part_of_a_batch_is_inserted_when_its_time_is_over() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=1000, seconds=1.5)
    await it.ordered.take(record(0))
    await it.ordered.take(record(1))
    await until(lambda: it.counters.finished == 2)
    assert inserts.batches == [[0, 1]]
    assert it.time.slept == [1.5]


async def test_while_one_batch_is_inserted_the_next_one_gathers() -> None:
    inserts = Inserts()
    inserts.held.clear()
    it = bench(inserts, rows=2, batch_sleep=never)
    for offset in range(6):
        await it.ordered.take(record(offset))
    inserts.held.set()
    await until(lambda: it.counters.finished == 6)
    assert inserts.batches == [[0, 1], [2, 3], [4, 5]]


async def test_a_batch_spans_partitions_and_acks_each() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=4, batch_sleep=never)
    places = [Partition("transcripts.chunks", number) for number in (0, 1)]
    for offset in (7, 8):
        for place in places:
            await it.ordered.take(record(offset, partition=place))
    await until(lambda: it.counters.finished == 4)
    assert it.ordered.committable() == {places[0]: 9, places[1]: 9}


async def test_nothing_is_acked_while_the_database_is_away_and_everything_once_it_is_back() -> None:
    inserts = Inserts([Unavailable("down", "refused")] * 40)
    it = bench(inserts, rows=2, retries=1)
    await it.ordered.take(record(0))
    await it.ordered.take(record(1))
    await until(lambda: len(it.time.slept) > 20)
    assert it.ordered.committable()[record(0).partition] == 0
    await until(lambda: it.counters.finished == 2)
    assert inserts.batches == [[0, 1]]
    assert it.counters.dead_lettered == 0


async def test_a_poisoned_row_is_found_and_dead_lettered_and_the_others_are_stored() -> None:
    inserts = Inserts(poison=frozenset({3}))
    it = bench(inserts, rows=8, batch_sleep=never)
    for offset in range(8):
        await it.ordered.take(record(offset))
    await until(lambda: it.counters.finished == 8)
    assert sorted(number for batch in inserts.batches for number in batch) == [0, 1, 2, 4, 5, 6, 7]
    assert it.counters.dead_letters_by_reason == {"bad_row": 1}
    assert it.kafka.topics() == [Topic.DEAD_LETTERS]


async def test_after_a_revoked_assignment_a_new_batch_gathers() -> None:
    inserts = Inserts()
    it = bench(inserts, rows=2, batch_sleep=never)
    await it.ordered.take(record(0, chunk(chunk_id=0)))
    await it.ordered.drain(1)
    it.ordered.revoke()
    for offset in (0, 1):
        await it.ordered.take(record(offset))
    await until(lambda: it.counters.finished == 2)
    assert inserts.batches == [[0, 1]]
