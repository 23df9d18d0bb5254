"""The circuit breaker, and the number in flight, as pure state."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant.breaker import FAILURES, FIRST_REST, LONGEST_REST, Breaker, State
from clearcall.agents.consultant.limits import Limit, Places


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(clock, random.Random(1))
    for _ in range(FAILURES):
        breaker.failed(probe=breaker.begin())
    return breaker


def test_it_opens_after_failures_in_a_row_and_not_before() -> None:
    breaker = Breaker(Clock(), random.Random(1))
    for _ in range(FAILURES - 1):
        breaker.failed(probe=breaker.begin())
    assert breaker.allows()
    breaker.failed(probe=breaker.begin())
    assert not breaker.allows()
    assert breaker.state is State.OPEN


def test_a_success_between_failures_starts_the_count_anew() -> None:
    breaker = Breaker(Clock(), random.Random(1))
    for _ in range(3 * FAILURES):
        breaker.failed(probe=breaker.begin())
        breaker.succeeded()
    assert breaker.state is State.CLOSED


def test_after_its_rest_one_probe_may_go_and_no_second() -> None:
    clock = Clock()
    breaker = opened(clock)
    assert FIRST_REST / 2 <= breaker.rests() <= FIRST_REST
    clock.now += FIRST_REST
    assert breaker.allows()
    assert breaker.begin()
    assert not breaker.allows()
    assert not breaker.begin()


def test_a_probe_that_succeeds_closes_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += FIRST_REST
    breaker.begin()
    breaker.succeeded()
    assert breaker.allows()
    breaker.failed(probe=False)
    assert breaker.allows()


def test_rests_grow_with_each_failing_probe_up_to_a_bound() -> None:
    clock = Clock()
    breaker = opened(clock)
    rests = []
    for _ in range(10):
        clock.now += LONGEST_REST
        breaker.failed(probe=breaker.begin())
        rests.append(breaker.rests())
    assert rests[0] <= 2 * FIRST_REST
    assert LONGEST_REST / 2 <= rests[-1] <= LONGEST_REST


def test_late_failures_of_requests_before_the_opening_prolong_nothing() -> None:
    clock = Clock()
    breaker = opened(clock)
    rest = breaker.rests()
    breaker.failed(probe=False)
    assert breaker.rests() == rest
    clock.now += FIRST_REST
    breaker.begin()
    breaker.failed(probe=False)
    assert breaker.state is State.HALF_OPEN


def test_a_probe_that_is_given_up_leaves_room_for_the_next() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += FIRST_REST
    breaker.abandoned(probe=breaker.begin())
    assert breaker.allows()
    assert breaker.begin()


@given(st.lists(st.sampled_from(["ok", "fail", "drop", "wait"]), max_size=60))
def test_whatever_happens_a_probe_may_go_in_the_end(events: list[str]) -> None:
    clock = Clock()
    breaker = Breaker(clock, random.Random(1))
    for event in events:
        if event == "wait":
            clock.now += 1.0
        elif breaker.allows():
            probe = breaker.begin()
            if event == "ok":
                breaker.succeeded()
            elif event == "fail":
                breaker.failed(probe=probe)
            else:
                breaker.abandoned(probe=probe)
    clock.now += LONGEST_REST
    assert breaker.allows()


def test_the_number_begins_at_the_most_and_stays_there_while_all_is_well() -> None:
    limit = Limit(32, slow=10)
    for at in range(100):
        limit.answered(at, at + 1, held=32)
    assert limit.size == 32


def test_one_overload_halves_it_once_for_all_that_were_under_way() -> None:
    limit = Limit(32, slow=10)
    for _ in range(32):
        limit.overloaded(began=0, now=1)
    assert limit.size == 16
    limit.overloaded(began=2, now=3)
    assert limit.size == 8


def test_a_slow_answer_is_an_overload() -> None:
    limit = Limit(32, slow=10)
    limit.answered(began=0, now=11, held=32)
    assert limit.size == 16


def test_a_round_of_answers_adds_one() -> None:
    limit = Limit(32, slow=10)
    limit.overloaded(began=0, now=1)
    for _ in range(17):
        limit.answered(began=2, now=3, held=17)
    assert limit.size == 17


def test_a_number_that_is_not_reached_does_not_grow() -> None:
    limit = Limit(32, slow=10)
    limit.overloaded(began=0, now=1)
    for _ in range(100):
        limit.answered(began=2, now=3, held=3)
    assert limit.size == 16


@given(st.integers(1, 64), st.lists(st.tuples(st.booleans(), st.floats(0, 30)), max_size=80))
def test_the_number_stays_within_its_limits(most: int, events: list[tuple[bool, float]]) -> None:
    limit, now = Limit(most, slow=10), 0.0
    for refused, took in events:
        now += took + 0.1
        if refused:
            limit.overloaded(now - took, now)
        else:
            limit.answered(now - took, now, held=limit.size)
        assert max(1, most // 8) <= limit.size <= most


async def test_no_more_than_the_limit_hold_a_place_and_all_get_one() -> None:
    places = Places(Limit(4, slow=10))
    most = 0

    async def hold() -> None:
        nonlocal most
        async with places:
            most = max(most, places.held)
            await asyncio.sleep(0)

    await asyncio.gather(*(hold() for _ in range(20)))
    assert (most, places.held) == (4, 0)


async def test_places_shrink_with_the_limit() -> None:
    places = Places(Limit(2, slow=10))
    first, second, third = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hold(end: asyncio.Event) -> None:
        async with places:
            await end.wait()

    tasks = [asyncio.create_task(hold(end)) for end in (first, second, third)]
    await asyncio.sleep(0)
    places.limit.overloaded(began=0, now=1)
    first.set()
    await tasks[0]
    assert places.held == 1
    second.set()
    await tasks[1]
    assert places.held == 1
    third.set()
    await tasks[2]
    assert places.held == 0


@pytest.mark.parametrize("given_at_once", [False, True])
async def test_one_that_is_cancelled_while_it_waits_takes_no_place(*, given_at_once: bool) -> None:
    places = Places(Limit(1, slow=10))
    end = asyncio.Event()

    async def hold() -> None:
        async with places:
            await end.wait()

    holder = asyncio.create_task(hold())
    waiting, last = asyncio.create_task(hold()), asyncio.create_task(hold())
    await asyncio.sleep(0)
    if given_at_once:
        end.set()
        await holder
    waiting.cancel()
    end.set()
    await asyncio.wait_for(last, 10)
    await asyncio.gather(holder, waiting, return_exceptions=True)
    assert places.held == 0
