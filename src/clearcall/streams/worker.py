"""A worker: one stage or several in one event loop, until a signal, a crash or the watchdog ends it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from aiokafka.errors import KafkaError

from clearcall.infra.settings import Settings
from clearcall.infra.uncaught import of_loop
from clearcall.streams.bounded import cancel
from clearcall.streams.faust_logging import into_structlog
from clearcall.streams.groups import coordinated, group_of
from clearcall.streams.health import Health
from clearcall.streams.last_resort import EXIT_STALLED, EXIT_TOO_SLOW, LoopGuard, exit_after, exit_with
from clearcall.streams.running_stage import RunningStage, StageFailed, StageStalled, TooManyDeadLetters
from clearcall.streams.signals import on_signal
from clearcall.streams.stages import Stage, build_agents, chosen
from clearcall.streams.topics import list_topics
from clearcall.streams.web import PortTaken, served

log = structlog.get_logger()

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_DEAD_LETTERS = 5

_CHECK_SECONDS = 0.5
_DRAIN_SHARE = 0.5
_LEAVE_SHARE = 0.1
"""Of the stop timeout, each for the last commit, for leaving the group and for closing: enough where Kafka is away."""


_CANCEL_SECONDS = 1.0
"""For what is cancelled at the start to end; a client that goes on connecting is left behind."""


async def run_worker(stages: Sequence[str | Stage], settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code.

    0 after a signal, 1 where a stage crashed or could not start, 3 where a watchdog ended it, 5 where the limit of
    dead letters is reached; with 3, too, the process ends itself where the event loop is blocked.

    A process that is still there ``settings.stop_timeout`` after a signal ends itself: with 0 where all stages have
    finished or given up what ran and only connections do not close, else with 4.

    Raises:
        UnknownStage: there is no such stage.
    """
    stopping = asyncio.Event()

    def stop(name: str) -> None:
        log.info("worker.signal", signal=name)
        exit_after(settings.stop_timeout, lambda: EXIT_STOPPED if all(map(_settled, stages_here)) else EXIT_TOO_SLOW)
        stopping.set()

    def built(stages: tuple[RunningStage, ...]) -> None:
        health.watch(stages)
        stages_here.extend(stages)

    asyncio.get_running_loop().set_exception_handler(of_loop)
    guard = LoopGuard(settings.stall_timeout)
    health = Health()
    stages_here: list[RunningStage] = []
    code = EXIT_STOPPED
    with on_signal(stop):
        guard.start()
        try:
            async with (
                served(settings, health),
                running(stages, settings, until=stopping, pulse=guard.beat, built=built),
            ):
                await stopping.wait()
        except (StageFailed, PortTaken) as failure:
            log.critical("worker.failed", reason=str(failure))
            code = _exit_code(failure)
        finally:
            guard.stop()
    exit_with(code)
    return code


def _settled(stage: RunningStage) -> bool:
    return stage.settled


def _exit_code(failure: Exception) -> int:
    if isinstance(failure, StageStalled):
        return EXIT_STALLED
    return EXIT_DEAD_LETTERS if isinstance(failure, TooManyDeadLetters) else EXIT_FAILED


@asynccontextmanager
async def running(
    stages: Sequence[str | Stage],
    settings: Settings,
    *,
    until: asyncio.Event | None = None,
    pulse: Callable[[], None] = lambda: None,
    built: Callable[[tuple[RunningStage, ...]], None] = lambda _stages: None,
) -> AsyncIterator[tuple[RunningStage, ...]]:
    """The stages, running in this event loop for the length of the block; drained and stopped at its end.

    Args:
        stages: their names; ``all`` stands for every one.
        settings: of this deployment.
        until: ends the wait for Kafka and for the first assignment early; the block runs all the same, without
            any stage where none was built yet.
        pulse: called while the event loop runs, about twice a second.
        built: given the stages before they start.

    Raises:
        UnknownStage: there is no such stage.
        StageFailed: one could not start, or crashed or stalled (``StageStalled``): the block is cancelled then.
    """
    into_structlog()
    wanted = chosen(stages, settings)
    until = until or asyncio.Event()
    await _unless(until, _require_topics(settings))
    await _unless(until, _await_coordinators(settings, wanted))
    if until.is_set():
        yield ()
        return
    started = tuple(RunningStage(stage, build_agents(stage, settings), settings) for stage in wanted)
    built(started)
    supervision = asyncio.create_task(_supervise(started, settings, pulse))
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


async def _await_coordinators(settings: Settings, stages: Sequence[Stage]) -> None:
    with suppress(KafkaError):  # the stages' own consumers say what is wrong
        await coordinated(settings, [group_of(settings, stage.name) for stage in stages])


async def _supervise(stages: Sequence[RunningStage], settings: Settings, pulse: Callable[[], None]) -> None:
    """Raise what the first stage to fail raises; one that stands aside only ends itself, if others run."""
    watched, leaving = list(stages), set[asyncio.Task[None]]()
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        pulse()
        for stage in tuple(watched):
            try:
                stage.check()
            except StageFailed as failure:
                if not stage.aside or all(each.aside for each in watched):
                    raise
                log.error("stage.failed_aside", stage=stage.name, reason=str(failure))  # noqa: TRY400 - the reason is all
                watched.remove(stage)
                leaving.add(asyncio.create_task(_stop((stage,), settings.stop_timeout, pulse)))


async def _unless(over: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do ``work``; given up once ``over`` is set. Raises what it raised."""
    working, ended = asyncio.create_task(work), asyncio.create_task(over.wait())
    try:
        done, _ = await asyncio.wait((working, ended), return_when=asyncio.FIRST_COMPLETED)
        if working in done:
            await working
    finally:
        await cancel((working, ended), _CANCEL_SECONDS)


async def _start(stages: Sequence[RunningStage], until: asyncio.Event) -> None:
    """Return when all have their first assignment or ``until`` is set; raises what the first to fail raised."""
    pending = {asyncio.create_task(stage.start()) for stage in stages}
    ended = asyncio.create_task(until.wait())
    try:
        while pending and not ended.done():
            done, _ = await asyncio.wait((*pending, ended), return_when=asyncio.FIRST_COMPLETED)
            pending = {start for start in pending if not start.done()}
            for task in done:
                await task
    finally:
        await cancel((*pending, ended), _CANCEL_SECONDS)


async def _stop(stages: Sequence[RunningStage], seconds: float, pulse: Callable[[], None]) -> None:
    """Stop every stage; one that takes too long is left behind."""
    drain, leave = seconds * _DRAIN_SHARE, seconds * _LEAVE_SHARE
    stops = [asyncio.create_task(stage.stop(drain, leave)) for stage in stages]
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
