"""The runtime through which every agent consumes: nothing is acked before it is handled, sent and in order.

Raw records come in by ``take``. Each is decoded, handled by its shape (per key, in batches) and finished; the
offsets say what may be committed. The work in flight is bounded: ``take`` returns when there is room for more.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import structlog

from clearcall.schemas import DecodeError, Headers, Incoming, decode
from clearcall.streams.counters import Counters
from clearcall.streams.limit import Tally
from clearcall.streams.offsets import Offsets
from clearcall.streams.records import Partition, Record, Taken
from clearcall.streams.retry import Abandoned, Patience
from clearcall.streams.room import Room
from clearcall.streams.settling import Settling

log = structlog.get_logger()

_SCARCE = 0.5
"""Share of the room from which one partition must not have too much of it."""

_HOT = 0.25
"""Share of the room at which a partition is paused then."""

_COOL = 0.125
"""Share at which it is fetched again: half, so that it does not start and stop with every message."""

_CANCEL_SECONDS = 1.0
"""For cancelled handlers to end; a handler that swallows its cancellation is left behind, and said so."""


class Shape(Protocol):
    """How messages become batches; ``PerKey`` and ``InBatches``."""

    def put(self, taken: Taken) -> None:
        """Queue a message; never blocks."""

    def forget_queued(self) -> None:
        """Drop what no handler has yet."""

    def reset(self) -> None:
        """Start anew: no later message meets work of before."""

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """The handlers that run."""


class Flow(Protocol):
    """Stops and resumes the reading of a partition; both may be called again without effect."""

    def pause(self, partition: Partition) -> None:
        """Fetch no more of it; what was fetched may still come."""

    def resume(self, partition: Partition) -> None:
        """Fetch it again."""

    def pause_all(self) -> None:
        """Fetch nothing more."""

    def resume_all(self, but: AbstractSet[Partition]) -> None:
        """Fetch all again that is not to stay paused."""


class Ordered:
    """One stage's messages, from the record to the committable offset.

    Args:
        shape: builds the shape, given what to call when a message may be acked.
        room: bounds what is under way.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        shape: Callable[[Callable[[Taken], None]], Shape],
        settling: Settling,
        patience: Patience,
        counters: Counters,
        *,
        room: Room,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counters = counters
        self._shape = shape(self._finish)
        self._settling = settling
        self._patience = patience
        self._room = room
        self._clock = clock
        self._offsets = Offsets()
        self._flow: Flow | None = None
        self._paused: set[Partition] = set()
        self._burials: set[asyncio.Task[None]] = set()
        self._closed = False
        counters.active_at = clock()

    @property
    def tally(self) -> Tally:
        """How messages ended, against the limit of dead letters."""
        return self._settling.tally

    def steer(self, flow: Flow) -> None:
        """Give the runtime the means to slow a partition down: one hot key must not fill the room of all others."""
        self._flow = flow

    async def take(self, record: Record) -> None:
        """Begin a record; returns when there is room for the next one. After ``close`` it never returns."""
        if self._closed:
            await asyncio.Event().wait()
        if not self._offsets.begin(record.partition, record.offset):
            self.counters.repeated += 1
            return
        counters = self.counters
        counters.received += 1
        counters.active_at = self._clock()
        self._room.enter(record)
        self._count_room()
        self._start(record)
        if self._room.used >= _SCARCE:
            self._slow_down(record.partition)
        if not self._room.has_space:
            await self._wait_for_space()

    def committable(self) -> dict[Partition, int]:
        """Per partition the offset to commit: that of the lowest message under way, or behind the last one."""
        return self._offsets.committable()

    def lowest_unfinished(self, partition: Partition) -> int | None:
        """The lowest offset of ``partition`` that is under way; ``None`` where none is."""
        return self._offsets.lowest_unfinished(partition)

    def close(self) -> None:
        """Take nothing more."""
        self._closed = True

    async def drain(self, seconds: float) -> None:
        """Let running handlers finish for up to ``seconds``; what waits or queues is given up at once.

        What is not finished then is cancelled. Kafka delivers it again.
        """
        self._shape.forget_queued()
        self._patience.end()
        running = self._shape.tasks | self._burials
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            _, stuck = await asyncio.wait(late, timeout=_CANCEL_SECONDS)
            log.warning("drain.cancelled", handlers=len(late), stuck=len(stuck), after_seconds=seconds)

    def revoke(self) -> None:
        """The assignment is over: forget all that is under way, and be ready for the next."""
        self._offsets.revoke()
        self._paused.clear()
        self._shape.reset()
        self._patience.renew()
        self._room.clear()
        self._count_room()
        self.counters.rebalances += 1

    def _start(self, record: Record) -> None:
        headers = Headers.parse(record.headers)
        try:
            message = decode(record.topic.message_type, record.value, headers.schema)
        except DecodeError as error:
            aside = self.tally.undecided
            self.tally.arrived(readable=False)
            if aside:
                self._room.lay_aside(record)
            self._spawn(self._bury(record, error.reason, str(error), aside=aside))
            return
        self.tally.arrived(readable=True)
        self._shape.put(Taken(record, Incoming(message, headers), self._offsets.generation))

    async def _bury(self, record: Record, reason: str, detail: str, *, aside: bool) -> None:
        """``aside``: its place is another's, so that what it takes to judge this version can arrive."""
        generation = self._offsets.generation
        try:
            await self._settling.bury_unreadable(record, reason, detail)
        except Abandoned:
            return
        self._done(record, generation, aside=aside)

    def _finish(self, taken: Taken) -> None:
        self._done(taken.record, taken.generation)

    def _done(self, record: Record, generation: int, *, aside: bool = False) -> None:
        if generation != self._offsets.generation:
            return
        self._offsets.finish(record.partition, record.offset, generation)
        counters = self.counters
        counters.finished += 1
        counters.active_at = self._clock()
        self._room.leave(record, aside=aside)
        self._count_room()
        if record.partition in self._paused:
            self._speed_up(record.partition)

    async def _wait_for_space(self) -> None:
        """Where bytes are short nothing is fetched meanwhile: what waits in front of us is large, too."""
        stops = self._flow is not None and self._room.short_of_bytes
        if self._flow is not None and stops:
            self._flow.pause_all()
        await self._room.wait()
        if self._flow is not None and stops:
            self._flow.resume_all(self._paused)

    def _slow_down(self, partition: Partition) -> None:
        """Pause a partition that has much of all room to itself while room is scarce."""
        if self._flow is not None and self._room.used_by(partition) >= _HOT:
            # Said again with every message: a consumer may resume by itself.
            self._paused.add(partition)
            self._flow.pause(partition)

    def _speed_up(self, partition: Partition) -> None:
        if self._flow is not None and self._room.used_by(partition) <= _COOL:
            self._paused.discard(partition)
            self._flow.resume(partition)

    def _count_room(self) -> None:
        self.counters.in_flight = self._room.messages_in
        self.counters.in_flight_bytes = self._room.bytes_in

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._burials.add(task)
        task.add_done_callback(self._burials.discard)
