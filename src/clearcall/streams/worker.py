"""A worker: one stage or several in one event loop, until a signal, a crash or the watchdog ends it."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog
from aiokafka.errors import KafkaError

from clearcall.infra.settings import Settings
from clearcall.streams.faust_logging import into_structlog
from clearcall.streams.last_resort import EXIT_STALLED, LoopGuard, exit_after
from clearcall.streams.running_stage import RunningStage, StageFailed, StageStalled
from clearcall.streams.stages import Stage, build_agents, chosen
from clearcall.streams.topics import list_topics

log = structlog.get_logger()

EXIT_STOPPED = 0
EXIT_FAILED = 1

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_CHECK_SECONDS = 0.5
_LEAVE_SHARE = 0.25
"""Of the stop timeout, kept for the last commit and for leaving the group."""


async def run_worker(stages: Sequence[str | Stage], settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code.

    0 after a signal, 1 where a stage crashed or could not start, 3 where a watchdog ended it; the process
    ends itself with 4 where stopping takes longer than ``settings.stop_timeout``.

    Raises:
        UnknownStage: there is no such stage.
    """
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def stop(name: str) -> None:
        log.info("worker.signal", signal=name)
        exit_after(settings.stop_timeout)
        stopping.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number.name)
    guard = LoopGuard(settings.stall_timeout)
    guard.start()
    try:
        async with running(stages, settings, until=stopping, pulse=guard.beat):
            await stopping.wait()
    except StageFailed as failure:
        exit_after(settings.stop_timeout)
        log.critical("worker.failed", reason=str(failure))
        return EXIT_STALLED if isinstance(failure, StageStalled) else EXIT_FAILED
    finally:
        guard.stop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
    return EXIT_STOPPED


@asynccontextmanager
async def running(
    stages: Sequence[str | Stage],
    settings: Settings,
    *,
    until: asyncio.Event | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> AsyncIterator[tuple[RunningStage, ...]]:
    """The stages, running in this event loop for the length of the block; drained and stopped at its end.

    Args:
        stages: their names; ``all`` stands for every one.
        settings: of this deployment.
        until: ends the wait for the first assignment early.
        pulse: called while the event loop runs, about twice a second.

    Raises:
        UnknownStage: there is no such stage.
        StageFailed: one could not start, or crashed or stalled (``StageStalled``): the block is cancelled then.
    """
    into_structlog()
    wanted = chosen(stages)
    await _require_topics(settings)
    started = tuple(RunningStage(stage, build_agents(stage, settings), settings) for stage in wanted)
    supervision = asyncio.create_task(_supervise(started, pulse))
    body = asyncio.current_task()
    assert body is not None

    def end_body(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            body.cancel()

    supervision.add_done_callback(end_body)
    try:
        await _start(started, until)
        yield started
    except asyncio.CancelledError:
        if supervision.done() and not supervision.cancelled():
            body.uncancel()
            await supervision
        raise
    finally:
        supervision.remove_done_callback(end_body)
        supervision.cancel()
        await _stop(started, settings.stop_timeout, pulse)


async def _require_topics(settings: Settings) -> None:
    """Without them a broker might create them, each with as many partitions as it likes."""
    try:
        missing = [state.name for state in await list_topics(settings) if state.partitions is None]
    except KafkaError as error:
        raise StageFailed(f"no Kafka at {settings.kafka}: {error!r}") from error
    if missing:
        raise StageFailed(f"topics are missing: {', '.join(missing)}; `clearcall topics create` creates them")


async def _supervise(stages: Sequence[RunningStage], pulse: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        pulse()
        for stage in stages:
            stage.check()


async def _start(stages: Sequence[RunningStage], until: asyncio.Event | None) -> None:
    """Return when all have their first assignment or ``until`` is set; raises what the first to fail raised."""
    pending = {asyncio.create_task(stage.start()) for stage in stages}
    ended = asyncio.create_task((until or asyncio.Event()).wait())
    try:
        while pending and not ended.done():
            done, _ = await asyncio.wait((*pending, ended), return_when=asyncio.FIRST_COMPLETED)
            pending = {start for start in pending if not start.done()}
            for task in done:
                await task
    finally:
        for task in (*pending, ended):
            task.cancel()
        await asyncio.gather(*pending, ended, return_exceptions=True)


async def _stop(stages: Sequence[RunningStage], seconds: float, pulse: Callable[[], None]) -> None:
    """Stop every stage; one that takes too long is left behind."""
    leave = seconds * _LEAVE_SHARE
    stops = [asyncio.create_task(stage.stop(seconds - leave, leave)) for stage in stages]
    beating = asyncio.create_task(_beat(pulse))
    try:
        for stopped in await asyncio.gather(*stops, return_exceptions=True):
            if isinstance(stopped, BaseException):
                log.error("stage.stop_failed", error=repr(stopped)[:300])
    finally:
        beating.cancel()


async def _beat(pulse: Callable[[], None]) -> None:
    while True:
        pulse()
        await asyncio.sleep(_CHECK_SECONDS)
