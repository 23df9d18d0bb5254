"""Work that does not end when it is told to: it is left behind, and holds up nothing."""

import asyncio

import pytest

from clearcall.streams.bounded import cancel, ended_within


async def deaf(over: asyncio.Event) -> None:
    """Goes on when it is cancelled, as a service does that stops its children one after the other."""
    while not over.is_set():
        try:
            await over.wait()
        except asyncio.CancelledError:
            continue


async def quick() -> None:
    """Ends at once."""


async def broken() -> None:
    raise OSError("no broker")


async def test_work_that_swallows_its_cancellation_is_left_behind() -> None:
    over = asyncio.Event()
    assert not await ended_within(0.01, deaf(over))
    over.set()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))


async def test_work_that_ends_in_time_is_waited_for() -> None:
    assert await ended_within(60, quick())


async def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(OSError, match="no broker"):
        await ended_within(60, broken())


async def test_tasks_that_go_on_when_they_are_cancelled_are_not_waited_for() -> None:
    over = asyncio.Event()
    tasks = [asyncio.create_task(deaf(over)), asyncio.create_task(quick()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    await cancel(tasks, 0.01)
    assert not tasks[0].done()
    over.set()
    await tasks[0]
