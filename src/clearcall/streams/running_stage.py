"""A stage put together: its agents, the ordered runtime, the Faust app and the watchdog."""

import random
from collections.abc import Callable

import structlog

from clearcall.infra.settings import Settings
from clearcall.streams.bounded import ended_within
from clearcall.streams.counters import Counters
from clearcall.streams.faust_app import StageApp
from clearcall.streams.in_batches import InBatches
from clearcall.streams.limit import DeadLetterLimit, Tally
from clearcall.streams.ordered import Ordered, Shape
from clearcall.streams.per_key import Finish, Lane, PerKey
from clearcall.streams.retry import Backoff, Patience
from clearcall.streams.room import Room
from clearcall.streams.sending import Produce, Sender
from clearcall.streams.settling import Settling
from clearcall.streams.stages import BuiltAgents, ShapeKind, Stage, stands_aside
from clearcall.streams.watchdog import Watchdog

log = structlog.get_logger()

_INSERTS_AHEAD = 2
"""Batches of the sink under way: one is inserted while the next one gathers."""


def ordered(
    stage: Stage, agents: BuiltAgents, settings: Settings, produce: Produce, source: random.Random | None = None
) -> Ordered:
    """The runtime of a stage over any ``produce``; ``source`` makes trace ids and jitter."""
    source = source or random.SystemRandom()
    counters = Counters()
    patience = Patience(Backoff(), source)
    sender = Sender(produce, settings.topic_prefix, patience, source, counters)
    tally = Tally(DeadLetterLimit.of(settings))
    settling = Settling(stage.name, sender, patience, counters, tally, retries=settings.retries)
    room = Room(settings.in_flight, settings.in_flight_bytes)
    if stage.shape is ShapeKind.IN_BATCHES:
        room = Room(
            max(settings.in_flight, _INSERTS_AHEAD * settings.batch_rows),
            max(settings.in_flight_bytes, _INSERTS_AHEAD * settings.batch_bytes),
        )
    return Ordered(_shape(stage, agents, settings, settling), settling, patience, counters, room=room)


def _shape(stage: Stage, agents: BuiltAgents, settings: Settings, settling: Settling) -> Callable[[Finish], Shape]:
    if stage.shape is ShapeKind.IN_BATCHES:
        agent = next(iter(agents.by_topic.values()))
        return lambda finish: InBatches(
            agent,
            settling,
            finish,
            rows=settings.batch_rows,
            size=settings.batch_bytes,
            seconds=settings.batch_seconds,
        )
    limit = stage.limit(settings)
    lanes = {
        topic: Lane(agent, getattr(agent, "weight", None) or (lambda _message: 1), limit)
        for topic, agent in agents.by_topic.items()
    }
    return lambda finish: PerKey(lanes, settling, finish)


class StageFailed(RuntimeError):
    """A stage could not start, or crashed."""


class StageStalled(StageFailed):
    """A stage is alive but out of its group, or behind and not moving."""


class TooManyDeadLetters(StageFailed):
    """So much fails that the fault is probably not the messages'; what is not acked stays where it is."""


class RunningStage:
    """One stage of this process: started once, stopped once."""

    def __init__(self, stage: Stage, agents: BuiltAgents, settings: Settings) -> None:
        self.name = stage.name
        self.is_shadow = bool(stage.shadow)
        self.aside = stands_aside(stage.name)
        self._agents = agents
        self._stopping = False
        self.app = StageApp.build(stage.name, settings)
        self.ordered = ordered(stage, agents, settings, self.app.produce)
        self.app.ordered = self.ordered
        self.ordered.steer(self.app)
        self.app.consume(stage.topics, settings.topic_prefix)
        self._watchdog = Watchdog(settings.stall_timeout)
        self.settled = False
        """Stopped as far as messages are concerned: finished and committed, or given up to be delivered again."""

    def silent_seconds(self) -> float:
        """Since Kafka last answered."""
        return self.app.silent_seconds()

    def absence(self) -> str:
        """Why the stage is not in its group; empty where it is, Kafka answers, and no rebalance is under way."""
        if not self.app.is_member():
            return "not in its consumer group"
        return self.app.silence.why(self.silent_seconds())

    @property
    def tally(self) -> Tally:
        """Its dead letters against their limit."""
        return self.ordered.tally

    @property
    def counters(self) -> Counters:
        """What the stage did so far."""
        return self.ordered.counters

    async def start(self) -> None:
        """Return when the stage has joined its group and has its first assignment.

        Raises:
            StageFailed: Kafka cannot be reached.
        """
        try:
            await self.app.start()
        except Exception as error:
            raise StageFailed(f"{self.name} could not start: {error!r}") from error
        log.info("stage.started", stage=self.name)

    def check(self) -> None:
        """Bring the lag up to date and raise where the stage must not go on.

        Raises:
            StageFailed: the Faust app crashed.
            TooManyDeadLetters: the limit is reached.
            StageStalled: the watchdog has given up on it.
        """
        if self.app.crashed:
            raise StageFailed(f"{self.name} crashed: {self.app.crash_reason!r}")
        limit = self.tally.reason
        if limit is not None:
            raise TooManyDeadLetters(f"{self.name}: {limit}")
        self.counters.lag = self.app.lag()
        member = self.app.is_member()
        silent = self.silent_seconds() if member else 0.0  # who joins is answered when all have come
        self.app.silence.tell(silent)
        reason = self._watchdog.verdict(
            member=member,
            silent=silent,
            behind=self.counters.in_flight > 0 or self.counters.lag > 0,
            active_at=self.counters.active_at,
        )
        if reason is not None:
            raise StageStalled(f"{self.name}: {self.app.silence.why(silent) or reason}")

    async def stop(self, drain_timeout: float, leave_timeout: float) -> None:
        """Take nothing more, finish for ``drain_timeout`` seconds what runs; then commit, leave the group and close.

        The last two have ``leave_timeout`` seconds, as has the commit: without it messages are delivered again.
        A second time does nothing.
        """
        if self._stopping:
            return
        self._stopping = True
        self.ordered.close()
        if self.app.consumes:
            await self.app.settle_down(drain_timeout, leave_timeout)
        self.settled = True
        if not await ended_within(leave_timeout, self.app.stop()):
            log.warning("stage.left_behind", stage=self.name, after_seconds=leave_timeout)
        if not await ended_within(leave_timeout, self._agents.close()):
            log.warning("agents.left_behind", stage=self.name, after_seconds=leave_timeout)
        counters = self.counters
        log.info("stage.stopped", stage=self.name, finished=counters.finished, dead_lettered=counters.dead_lettered)
