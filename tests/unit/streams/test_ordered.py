import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from runtime_fakes import CHUNKS, bench, chunk, echo, record, until

from clearcall.agents.protocol import Unavailable
from clearcall.schemas import Incoming, Outgoing
from clearcall.streams.records import Partition


class Gate:
    """A handler that waits to be let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.started = 0
        self.cancelled = 0

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        self.started += 1
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await echo(batch)


@dataclass
class FakeFlow:
    paused: set[Partition] = field(default_factory=set)
    all_stops: int = 0
    stayed_paused: set[Partition] = field(default_factory=set)

    def pause(self, partition: Partition) -> None:
        self.paused.add(partition)

    def resume(self, partition: Partition) -> None:
        self.paused.discard(partition)

    def pause_all(self) -> None:
        self.all_stops += 1

    def resume_all(self, but: AbstractSet[Partition]) -> None:
        self.all_stops -= 1
        self.stayed_paused = set(but)


async def turns(number: int = 50) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_the_intake_stops_at_the_bound_and_goes_on_when_a_message_is_done() -> None:
    gate = Gate()
    it = bench(gate, in_flight=3)
    for offset in range(2):
        await it.ordered.take(record(offset, chunk(f"call{offset}")))
    third = asyncio.create_task(it.ordered.take(record(2, chunk("call2"))))
    await turns()
    assert not third.done()
    assert it.counters.in_flight == 3
    gate.open.set()
    await third
    await until(lambda: it.counters.in_flight == 0)


async def test_large_messages_stop_the_intake_long_before_their_number_does_and_nothing_is_fetched_meanwhile() -> None:
    gate, flow = Gate(), FakeFlow()
    it = bench(gate, in_flight=1000, in_flight_bytes=10_000)
    it.ordered.steer(flow)
    for offset in range(2):
        await it.ordered.take(record(offset, chunk(f"call{offset}", text="x" * 4000)))
    assert flow.all_stops == 0
    third = asyncio.create_task(it.ordered.take(record(2, chunk("call2", text="x" * 4000))))
    await turns()
    assert not third.done()
    assert flow.all_stops == 1
    assert 12_000 < it.counters.in_flight_bytes < 13_000
    gate.open.set()
    await third
    assert flow.all_stops == 0
    await until(lambda: it.counters.in_flight == 0)
    assert it.counters.in_flight_bytes == 0


async def test_a_message_larger_than_all_room_is_taken_alone() -> None:
    it = bench(in_flight_bytes=10)
    for offset in range(3):
        await it.ordered.take(record(offset))
    await until(lambda: it.counters.finished == 3)


async def test_with_a_model_ten_times_slower_than_the_calls_come_no_more_is_under_way_and_nothing_is_dropped() -> None:
    tick = asyncio.Condition()

    async def slow(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        async with tick:
            await tick.wait()
        return await echo(batch)

    it = bench(slow, in_flight=50)
    arrived = 0

    async def arrive() -> None:
        nonlocal arrived
        for offset in range(2000):
            await it.ordered.take(record(offset, chunk(f"call{offset % 300}", offset)))
            arrived += 1

    most = 0
    arriving = asyncio.create_task(arrive())
    while it.counters.finished < 2000:
        await turns(10)
        async with tick:
            tick.notify(5)
        most = max(most, it.counters.in_flight)
        assert arrived <= it.counters.finished + 50
    await arriving
    assert most == 50
    assert it.ordered.committable() == {CHUNKS: 2000}
    assert it.counters.dead_lettered == 0


async def test_a_call_of_20_000_chunks_is_not_served_before_calls_that_came_after_its_first() -> None:
    served: list[str] = []

    async def serve(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        await asyncio.sleep(0)
        served.append(batch[0].message.call_id)
        return []

    it = bench(serve, in_flight=100_000, weight=lambda _message: 1, limit=10)
    for offset in range(20_000):
        await it.ordered.take(record(offset, chunk("hot", offset)))
    for offset in range(20_000, 20_050):
        await it.ordered.take(record(offset, chunk(f"other{offset}")))
    await until(lambda: it.counters.finished == 20_050, turns=100_000)
    assert served.count("hot") == 2000
    last = max(place for place, call in enumerate(served) if call != "hot")
    assert served[:last].count("hot") <= 2


async def test_a_hot_partition_is_paused_before_it_fills_the_room_of_all_and_resumed_when_it_has_drained() -> None:
    gate, flow = Gate(), FakeFlow()
    it = bench(gate, in_flight=40)
    it.ordered.steer(flow)
    hot, other = CHUNKS, Partition("transcripts.chunks", 1)
    for offset in range(5):
        await it.ordered.take(record(offset, chunk(f"quiet{offset}"), partition=other))
    for offset in range(20):
        await it.ordered.take(record(offset, chunk("hot", offset)))
    assert flow.paused == {hot}
    gate.open.set()
    await until(lambda: it.counters.in_flight == 0)
    assert flow.paused == set()


async def test_one_partition_may_use_half_the_room_while_nobody_else_wants_it() -> None:
    gate, flow = Gate(), FakeFlow()
    it = bench(gate, in_flight=40)
    it.ordered.steer(flow)
    for offset in range(19):
        await it.ordered.take(record(offset))
    assert flow.paused == set()
    gate.open.set()
    await until(lambda: it.counters.in_flight == 0)


async def test_a_drain_lets_running_handlers_finish_and_gives_up_what_is_queued() -> None:
    gate = Gate()
    it = bench(gate)
    for offset in range(3):
        await it.ordered.take(record(offset))
    await until(lambda: gate.started == 1)
    draining = asyncio.create_task(it.ordered.drain(60))
    await turns()
    assert not draining.done()
    gate.open.set()
    await draining
    assert gate.started == 1
    assert it.ordered.committable() == {CHUNKS: 1}


async def test_a_drain_cancels_what_does_not_finish_in_time() -> None:
    gate = Gate()
    it = bench(gate)
    await it.ordered.take(record(0))
    await until(lambda: gate.started == 1)
    await it.ordered.drain(0)
    assert gate.cancelled == 1
    assert it.ordered.committable() == {CHUNKS: 0}


async def test_a_drain_does_not_wait_for_a_message_that_waits_for_its_next_attempt() -> None:
    async def away(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        del batch
        raise Unavailable("model", "refused")

    it = bench(away)
    never = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await never.wait()

    it.patience._sleep = sleep
    await it.ordered.take(record(0))
    await turns()
    await asyncio.wait_for(it.ordered.drain(3600), 5)
    assert it.ordered.committable() == {CHUNKS: 0}


async def test_after_a_revocation_the_same_messages_are_handled_again_and_room_is_free() -> None:
    gate = Gate()
    it = bench(gate, in_flight=2)
    await it.ordered.take(record(0))
    blocked = asyncio.create_task(it.ordered.take(record(1)))
    await until(lambda: gate.started == 1)
    await it.ordered.drain(0)
    it.ordered.revoke()
    await blocked
    assert it.ordered.committable() == {}
    gate.open.set()
    await it.ordered.take(record(0))
    await until(lambda: it.counters.finished == 1)
    assert it.ordered.committable() == {CHUNKS: 1}


async def test_a_handler_that_outlives_its_assignment_acks_nothing_in_the_next_one() -> None:
    release = asyncio.Event()
    calls = 0

    async def stubborn(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        nonlocal calls
        calls += 1
        if calls == 1:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
        else:
            await asyncio.Event().wait()
        return await echo(batch)

    it = bench(stubborn)
    await it.ordered.take(record(0))
    await until(lambda: calls == 1)
    await it.ordered.drain(0)
    it.ordered.revoke()
    await it.ordered.take(record(0))
    await until(lambda: calls == 2)
    release.set()
    await turns()
    assert it.ordered.committable() == {CHUNKS: 0}
    assert it.counters.finished == 0
    await it.ordered.drain(0)


async def test_after_close_nothing_is_taken() -> None:
    it = bench()
    it.ordered.close()
    taking = asyncio.create_task(it.ordered.take(record(0)))
    await turns()
    assert not taking.done()
    assert it.counters.received == 0
    taking.cancel()


async def test_dead_letters_that_are_being_written_are_drained_too() -> None:
    it = bench()
    await it.ordered.take(record(0))  # something that can be read, or the letter would be held back
    await turns()
    it.kafka.held = asyncio.Event()
    await it.ordered.take(record(1, value=None))
    await turns()
    draining = asyncio.create_task(it.ordered.drain(60))
    await turns()
    assert not draining.done()
    it.kafka.held.set()
    await draining
    assert it.ordered.committable() == {CHUNKS: 2}
