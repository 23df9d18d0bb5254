"""The shape of the sink: messages of all partitions in large batches, one batch at a time."""

import asyncio
from typing import Any

from clearcall.agents.protocol import Agent
from clearcall.streams.per_key import Finish
from clearcall.streams.records import Taken
from clearcall.streams.retry import Abandoned, Sleep
from clearcall.streams.room import size_of
from clearcall.streams.settling import Settling


class InBatches:
    """Gives ``agent`` up to ``rows`` messages or ``size`` bytes, or what there is ``seconds`` after the first.

    A batch has at least one message, and its last one may take it over ``size``.
    """

    def __init__(
        self,
        agent: Agent[Any],
        settling: Settling,
        finish: Finish,
        *,
        rows: int,
        size: int,
        seconds: float,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._agent = agent
        self._settling = settling
        self._finish = finish
        self._rows = rows
        self._size = size
        self._seconds = seconds
        self._sleep = sleep
        self._waiting: list[Taken] = []
        self._waiting_size = 0
        self._full = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def put(self, taken: Taken) -> None:
        """Add a message to the batch that gathers."""
        self._waiting.append(taken)
        self._waiting_size += size_of(taken.record)
        if self._enough():
            self._full.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def forget_queued(self) -> None:
        """Drop what no insert has yet; Kafka delivers it again."""
        self._waiting.clear()
        self._waiting_size = 0
        self._full.set()  # nothing to wait for

    def reset(self) -> None:
        """Start anew: no message joins an insert of before."""
        self._waiting = []
        self._waiting_size = 0
        self._task = None

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """The insert that runs, if one does."""
        return {self._task} if self._task is not None and not self._task.done() else set()

    async def _run(self) -> None:
        """Insert until nothing waits; ends then, and starts again with the next message."""
        try:
            while self._waiting:
                await self._gather()
                batch = self._next_batch()
                if not batch:
                    return
                await self._settling.settle(self._agent, batch)
                for taken in batch:
                    self._finish(taken)
        except Abandoned:
            return

    def _enough(self) -> bool:
        return len(self._waiting) >= self._rows or self._waiting_size >= self._size

    def _next_batch(self) -> list[Taken]:
        size = number = 0
        while number < len(self._waiting) and number < self._rows and size < self._size:
            size += size_of(self._waiting[number].record)
            number += 1
        batch, self._waiting = self._waiting[:number], self._waiting[number:]
        self._waiting_size -= size
        return batch

    async def _gather(self) -> None:
        if self._enough():
            return
        self._full.clear()
        sleeping = asyncio.ensure_future(self._sleep(self._seconds))
        full = asyncio.ensure_future(self._full.wait())
        try:
            await asyncio.wait((sleeping, full), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            full.cancel()
