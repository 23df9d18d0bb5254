"""At least once, nothing lost, in order per call: over any schedule of failures, rebalances, crashes and jumps back."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_fakes import Bench, bench, chunk, echo, record

from clearcall.agents.protocol import Poison, Unavailable
from clearcall.schemas import Incoming, Outgoing, Topic
from clearcall.streams.records import Partition

PARTITIONS = [Partition("transcripts.chunks", number) for number in range(2)]
CALLS_PER_PARTITION = 3

Step = tuple[str, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "turn", "commit", "rebalance", "hasty rebalance", "crash"]),
        st.integers(1, 8),
    ),
    min_size=1,
    max_size=40,
)


class Log:
    """A broker: a log of records per partition, and the offsets that the group committed."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.committed = dict.fromkeys(PARTITIONS, 0)
        self.handled: dict[Partition, set[int]] = defaultdict(set)
        self.order: dict[str, list[int]] = defaultdict(list)

    def record(self, partition: Partition, offset: int) -> Any:
        call = f"{partition.number}-{offset % CALLS_PER_PARTITION}"
        return record(offset, chunk(call, offset), partition=partition)

    def commit(self, it: Bench) -> None:
        for partition, offset in it.ordered.committable().items():
            assert self.handled[partition].issuperset(range(offset)), "committed past an unfinished message"
            self.committed[partition] = max(offset, self.committed[partition])


class Flaky:
    """A handler that takes some turns, and fails as a seeded source decides."""

    def __init__(self, log: Log, source: random.Random) -> None:
        self.log = log
        self.random = source
        self.running: set[str] = set()

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        call = batch[0].message.call_id
        assert {one.message.call_id for one in batch} == {call}
        assert call not in self.running, "two handlers of one call at once"
        self.running.add(call)
        try:
            for _ in range(self.random.randrange(4)):
                await asyncio.sleep(0)
            self._fail()
            return await echo(batch)
        finally:
            self.running.discard(call)

    def _fail(self) -> None:
        chance = self.random.random()
        if chance < 0.1:
            raise ValueError("passes")
        if chance < 0.2:
            raise Unavailable("model", "away")
        if chance < 0.25:
            raise Poison("bad", "this one")


class Worker:
    """One life of a worker process: a runtime over the log, reading from what was committed."""

    def __init__(self, log: Log, source: random.Random, *, limit: int, rows: int | None) -> None:
        self.log = log
        handler = Flaky(log, source)
        handle = handler if rows is None else self._insert(handler)
        self.it = bench(handle, limit=limit, rows=rows, in_flight=6, produce=self._produce)
        self.position = dict(log.committed)
        self.taking: asyncio.Task[None] | None = None

    def _insert(self, handler: Flaky) -> Any:
        async def insert(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
            handler._fail()
            return await echo(batch)

        return insert

    async def _produce(self, topic: str, key: bytes, value: bytes, headers: Any) -> Any:
        async def arrive() -> None:
            await asyncio.sleep(0)
            if topic == Topic.DEAD_LETTERS:
                _, partition, offset = dict(headers)["message-id"].decode().rsplit("/", 2)
                self.log.handled[PARTITIONS[int(partition)]].add(int(offset))
            else:
                call, offset = dict(headers)["message-id"].decode().split("/")
                self.log.handled[PARTITIONS[int(call[0])]].add(int(offset))
                self.log.order[call].append(int(offset))

        del key, value
        return asyncio.ensure_future(arrive())

    def take(self, partition: Partition) -> None:
        if (self.taking is not None and not self.taking.done()) or self.position[partition] >= self.log.length:
            return
        one = self.log.record(partition, self.position[partition])
        self.position[partition] += 1
        self.taking = asyncio.create_task(self.it.ordered.take(one))

    async def rebalance(self, seconds: float) -> None:
        await self.it.ordered.drain(seconds)
        self.log.commit(self.it)
        self.it.ordered.revoke()
        if self.taking is not None:
            await self.taking
        self.position = dict(self.log.committed)

    async def die(self) -> None:
        """As by SIGKILL: nothing is drained or committed."""
        if self.taking is not None:
            self.taking.cancel()
        await self.it.ordered.drain(0)

    async def finish(self) -> None:
        """Read to the end, over every backoff."""
        for _ in range(100_000):
            for partition in PARTITIONS:
                self.take(partition)
            await asyncio.sleep(0)
            if self.it.counters.in_flight == 0 and all(at == self.log.length for at in self.position.values()):
                return
        raise AssertionError("it never finished")


async def _live(steps: Sequence[Step], seed: int, *, limit: int, rows: int | None) -> Log:
    source = random.Random(seed)
    log = Log(length=25)
    worker = Worker(log, source, limit=limit, rows=rows)
    for step, number in steps:
        if step == "take":
            worker.take(PARTITIONS[number % len(PARTITIONS)])
            await asyncio.sleep(0)
        elif step == "turn":
            for _ in range(number * 3):
                await asyncio.sleep(0)
        elif step == "commit":
            log.commit(worker.it)
        elif step == "rebalance":
            await worker.rebalance(60)
        elif step == "hasty rebalance":
            await worker.rebalance(0)
        else:
            await worker.die()
            worker = Worker(log, source, limit=limit, rows=rows)
    await worker.finish()
    log.commit(worker.it)
    return log


def _in_order_but_for_redelivery(offsets: list[int]) -> bool:
    """The first appearance of each chunk comes after the first appearance of every chunk before it."""
    firsts = list(dict.fromkeys(offsets))
    return firsts == sorted(firsts)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 2**32), st.sampled_from([1, 3]))
def test_per_key_no_schedule_loses_a_message_or_commits_past_one_or_breaks_a_calls_order(
    steps: list[Step], seed: int, limit: int
) -> None:
    log = asyncio.run(_live(steps, seed, limit=limit, rows=None))
    assert log.committed == dict.fromkeys(PARTITIONS, log.length)
    assert all(log.handled[partition] == set(range(log.length)) for partition in PARTITIONS)
    assert all(_in_order_but_for_redelivery(offsets) for offsets in log.order.values())


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 2**32))
def test_in_batches_no_schedule_loses_a_message_or_commits_past_one(steps: list[Step], seed: int) -> None:
    log = asyncio.run(_live(steps, seed, limit=1, rows=4))
    assert log.committed == dict.fromkeys(PARTITIONS, log.length)
    assert all(log.handled[partition] == set(range(log.length)) for partition in PARTITIONS)
