"""The limit of dead letters: a bad deploy stops the worker, rubbish among good messages does not."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from runtime_fakes import CHUNKS, Bench, bench, chunk, echo, record, until

from clearcall.agents.protocol import Poison
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Outgoing
from clearcall.streams.limit import DeadLetterLimit, Outcome, Tally
from clearcall.streams.retry import Abandoned

LIMIT = DeadLetterLimit()


async def broken(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
    raise AttributeError(f"a bad deploy meets {len(batch)}")


async def refusing(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
    raise Poison("rows_refused", f"no such column in {len(batch)}")


async def feed(it: Bench, number: int, **given: Any) -> asyncio.Task[None]:
    async def take() -> None:
        for offset in range(number):
            await it.ordered.take(record(offset, chunk(f"call{offset}"), **given))

    return asyncio.create_task(take())


def test_the_defaults_of_the_settings_are_those_of_the_limit() -> None:
    assert DeadLetterLimit.of(Settings()) == LIMIT


async def test_a_bad_deploy_is_stopped_after_a_run_of_failures_and_the_rest_stays_on_the_topic() -> None:
    it = bench(broken, retries=0, in_flight=10, limit_of_letters=LIMIT)
    feeding = await feed(it, 10_000)
    await until(lambda: it.ordered.tally.reason is not None)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert it.ordered.tally.reason is not None
    assert it.ordered.tally.reason.startswith("50 messages in a row failed")
    assert it.counters.dead_lettered == 49
    assert not feeding.done()
    assert max(it.ordered.committable().values()) <= 49
    feeding.cancel()
    await it.ordered.drain(60)


async def test_a_bad_deploy_writes_no_dead_letter_where_enough_calls_wait_to_show_it() -> None:
    it = bench(broken, retries=0, in_flight=100, limit_of_letters=LIMIT)
    feeding = await feed(it, 10_000)
    await until(lambda: it.ordered.tally.reason is not None)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert it.counters.dead_lettered == 0
    assert it.ordered.committable() == {CHUNKS: 0}
    feeding.cancel()
    await it.ordered.drain(60)


async def test_a_failure_before_anything_was_handled_waits_for_a_minute_at_most() -> None:
    it = bench(broken, retries=0, limit_of_letters=LIMIT)
    began = it.time.now
    await it.ordered.take(record(0))
    await until(lambda: it.time.now > began + 50)
    assert it.counters.dead_lettered == 0
    assert it.counters.active_at > began + 40  # it waits on purpose, and is not stuck
    await until(lambda: it.counters.dead_lettered == 1)
    await it.ordered.take(record(1))
    await until(lambda: it.counters.dead_lettered == 2)
    assert it.time.now < began + 70


async def test_a_failure_is_let_go_as_soon_as_another_call_was_handled() -> None:
    async def picky(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        if batch[0].message.call_id == "bad":
            raise ValueError("of its own")
        return await echo(batch)

    it = bench(picky, retries=0, limit_of_letters=LIMIT)
    began = it.time.now
    await it.ordered.take(record(0, chunk("bad")))
    await it.ordered.take(record(1, chunk("good")))
    await until(lambda: it.counters.finished == 2)
    assert it.counters.dead_lettered == 1
    assert it.time.now < began + 2


async def test_a_failure_that_is_held_back_is_given_up_when_the_assignment_ends() -> None:
    it = bench(broken, retries=0, limit_of_letters=LIMIT)
    await it.ordered.take(record(0))
    for _ in range(20):
        await asyncio.sleep(0)
    await it.ordered.drain(60)
    assert (it.kafka.sent, it.ordered.committable()) == ([], {CHUNKS: 0})


async def test_refusals_alone_stop_by_their_share_and_not_by_their_run() -> None:
    it = bench(refusing, limit_of_letters=LIMIT)
    feeding = await feed(it, 10_000)
    await until(lambda: it.ordered.tally.reason is not None)
    assert it.ordered.tally.reason is not None
    assert it.ordered.tally.reason.startswith("200 of the last 200")
    assert it.counters.dead_lettered <= 199
    feeding.cancel()
    await it.ordered.drain(60)


async def test_a_version_that_reads_nothing_is_stopped_after_a_minute_and_a_letter_a_second() -> None:
    it = bench(in_flight=20, limit_of_letters=DeadLetterLimit(unreadable_window=500))
    began = it.time.now
    feeding = await feed(it, 10_000, value=b"{}")
    await until(lambda: it.ordered.tally.reason is not None)
    assert it.ordered.tally.reason is not None
    assert "500 of the last 500 messages cannot be read" in it.ordered.tally.reason
    assert 20 <= it.counters.dead_lettered <= 60
    assert 60 <= it.time.now - began < 70
    assert it.counters.active_at > began + 50  # it waits on purpose, and is not stuck
    assert it.counters.in_flight <= 520
    assert not feeding.done()
    feeding.cancel()
    await it.ordered.drain(60)


async def test_rubbish_alone_that_is_too_little_to_judge_by_drains_after_a_minute() -> None:
    it = bench(in_flight=20, limit_of_letters=LIMIT)
    began = it.time.now
    await (await feed(it, 300, value=b"{}"))
    await until(lambda: it.counters.dead_lettered == 300)
    assert 60 <= it.time.now - began < 70
    assert it.ordered.committable() == {CHUNKS: 300}
    assert it.ordered.tally.reason is None


async def test_rubbish_goes_at_once_when_something_could_be_read_though_it_fills_all_room() -> None:
    it = bench(in_flight=20, limit_of_letters=LIMIT)
    began = it.time.now
    for offset in range(200):
        await it.ordered.take(record(offset, value=b"{}"))
    await it.ordered.take(record(200))
    await until(lambda: it.counters.finished == 201)
    assert it.time.now - began < 2
    assert it.counters.in_flight == it.counters.in_flight_bytes == 0


async def test_what_is_held_back_by_the_limit_is_given_up_when_the_assignment_ends() -> None:
    it = bench(limit_of_letters=DeadLetterLimit(unreadable_window=1))
    await it.ordered.take(record(0))
    await until(lambda: it.counters.finished == 1)
    sent = list(it.kafka.sent)
    await it.ordered.take(record(1, value=b"rubbish"))
    await it.ordered.drain(60)
    assert it.ordered.committable() == {CHUNKS: 1}
    assert it.kafka.sent == sent
    with pytest.raises(Abandoned):
        await it.settling.bury(record(1), "any", "reason")


@pytest.mark.parametrize("seed", range(3))
def test_a_million_unreadable_messages_with_one_good_among_a_hundred_stop_nothing(seed: int) -> None:
    source, tally = random.Random(seed), Tally(LIMIT)
    for _ in range(1_000_000 // 5):
        tally.arrived(readable=source.random() < 0.01)
    assert tally.reason is None


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
def test_messages_that_fail_by_themselves_stop_nothing(share: float) -> None:
    source, tally = random.Random(7), Tally(LIMIT)
    for _ in range(100_000):
        tally.ended(Outcome.FAILED if source.random() < share else Outcome.HANDLED)
    assert tally.reason is None


def test_a_fault_that_spares_some_messages_is_found_by_its_share() -> None:
    tally = Tally(LIMIT)
    for number in range(1000):
        tally.ended(Outcome.HANDLED if number % 3 == 0 else Outcome.FAILED)
    assert tally.reason is not None
    assert "of the last 200 messages failed or were refused" in tally.reason


def test_the_reason_that_came_first_stays() -> None:
    tally = Tally(DeadLetterLimit(run=1))
    tally.ended(Outcome.FAILED)
    first = tally.reason
    tally.ended(Outcome.HANDLED, 1000)
    tally.ended(Outcome.FAILED)
    assert tally.reason == first is not None


async def test_a_batch_with_bad_messages_counts_each_alone() -> None:
    bad = {3, 5}

    async def picky(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        if bad & {one.message.chunk_id for one in batch}:
            raise ValueError("one of them")
        return await echo(batch)

    it = bench(picky, retries=0, limit=8, limit_of_letters=DeadLetterLimit(run=2, window=8, share=0.5))
    for offset in range(8):
        await it.ordered.take(record(offset, chunk("call", offset)))
    await until(lambda: it.counters.finished == 8)
    assert it.ordered.tally.reason is None
    assert it.counters.dead_lettered == 2
