"""The shape of consultant and evaluator: one chain of tasks per key, all that queued meanwhile in one batch."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clearcall.agents.protocol import Agent
from clearcall.schemas import Message, Topic
from clearcall.streams.records import Taken
from clearcall.streams.retry import Abandoned
from clearcall.streams.settling import Settling

ChainKey = tuple[Topic, str]


Finish = Callable[[Taken], None]
"""Called when a message may be acked."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What handles a topic: an agent, and how much of one key's queue it takes at once.

    A batch grows while the sum of the messages' weights stays within ``limit``; it has at least one message.
    """

    agent: Agent[Any]
    weight: Callable[[Any], int] = lambda _message: 1
    limit: int = 1


class PerKey:
    """Keeps messages of one topic and key in order; different keys run side by side."""

    def __init__(self, lanes: dict[Topic, Lane], settling: Settling, finish: Finish) -> None:
        self._lanes = lanes
        self._settling = settling
        self._finish = finish
        self._queues: dict[ChainKey, deque[Taken]] = {}
        self._chains: set[asyncio.Task[None]] = set()

    def put(self, taken: Taken) -> None:
        """Queue a message behind those of its key; the first of an idle key starts its chain."""
        message: Message = taken.incoming.message
        key = taken.record.topic, message.key
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(taken)
            return
        queue = self._queues[key] = deque((taken,))
        chain = asyncio.create_task(self._run(self._lanes[taken.record.topic], key, queue))
        self._chains.add(chain)
        chain.add_done_callback(self._chains.discard)

    def forget_queued(self) -> None:
        """Drop what no handler has yet; Kafka delivers it again."""
        for queue in self._queues.values():
            queue.clear()

    def reset(self) -> None:
        """Start anew: no message joins a chain of before."""
        self.forget_queued()
        self._queues.clear()

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """The chains whose handlers run."""
        return set(self._chains)

    async def _run(self, lane: Lane, key: ChainKey, queue: deque[Taken]) -> None:
        try:
            while queue:
                batch = _next_batch(lane, queue)
                await self._settling.settle(lane.agent, batch)
                for taken in batch:
                    self._finish(taken)
        except Abandoned:
            pass
        finally:
            # A chain that is cancelled late must not take its successor's queue with it.
            if self._queues.get(key) is queue:
                del self._queues[key]


def _next_batch(lane: Lane, queue: deque[Taken]) -> list[Taken]:
    batch = [queue.popleft()]
    if not queue or lane.limit <= 1:
        return batch
    weight = lane.weight(batch[0].incoming.message)
    while queue:
        weight += lane.weight(queue[0].incoming.message)
        if weight > lane.limit:
            break
        batch.append(queue.popleft())
    return batch
