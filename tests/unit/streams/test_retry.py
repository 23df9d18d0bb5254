import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.streams.retry import Abandoned, Backoff, Patience


@given(st.integers(1, 10_000), st.integers(0, 2**32))
def test_a_wait_is_bounded_and_at_least_half_its_ceiling(failures: int, seed: int) -> None:
    backoff = Backoff(first=0.5, most=30)
    ceiling = min(30, 0.5 * 2.0 ** min(failures - 1, 40))
    assert ceiling / 2 <= backoff.delay(failures, random.Random(seed)) <= ceiling


async def test_a_wait_ends_at_once_when_the_assignment_does() -> None:
    never = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await never.wait()

    patience = Patience(Backoff(), random.Random(1), sleep)
    waiting = asyncio.create_task(patience.wait(1))
    await asyncio.sleep(0)
    patience.end()
    with pytest.raises(Abandoned):
        await waiting
    with pytest.raises(Abandoned):
        await patience.wait(1)


async def test_with_a_new_assignment_waiting_is_possible_again() -> None:
    async def sleep(_seconds: float) -> None:
        await asyncio.sleep(0)

    patience = Patience(Backoff(), random.Random(1), sleep)
    patience.end()
    patience.renew()
    await patience.wait(1)
