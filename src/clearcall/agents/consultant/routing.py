"""One stage, several consultants: each message goes to the agent that it belongs to."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from clearcall.agents.consultant.agent import bound_reached
from clearcall.agents.consultant.asking import together
from clearcall.agents.consultant.next_task import unasked
from clearcall.agents.protocol import Agent
from clearcall.schemas import Chunk, Correction, Draft, Handover, Incoming, Outgoing, Topic

Weight = Callable[[Any], int]


class ByCall:
    """Chunks: ``answerer`` gives the agent of a call."""

    def __init__(self, answerer: Callable[[str], Agent[Chunk]], weight: Weight) -> None:
        self._answerer = answerer
        self.weight = weight

    async def __call__(self, batch: Sequence[Incoming[Chunk]]) -> Sequence[Outgoing]:
        """Handle the queued chunks of one call; raises as its agent does."""
        return await self._answerer(batch[0].message.call_id)(batch)


class ByTrack:
    """What goes on from a draft: ``agent`` gives a message's agent, or ``None`` where it is of another stage."""

    def __init__(self, agent: Callable[[Any], Agent[Any] | None], weight: Weight) -> None:
        self._agent = agent
        self.weight = weight

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        """Each message by its agent, side by side; nothing for one of another stage. Raises as the agents do."""
        found = await together(self._one(incoming) for incoming in batch)
        return [outgoing for each in found for outgoing in each]

    async def _one(self, incoming: Incoming[Any]) -> Sequence[Outgoing]:
        agent = self._agent(incoming.message)
        return () if agent is None else await agent([incoming])


class Ending:
    """The agent of what no consultant here does any more: a chunk ends with what there is. ``now`` is epoch seconds."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now

    async def __call__(self, batch: Sequence[Incoming[Correction | Handover]]) -> list[Outgoing]:
        """The last draft of each chunk."""
        return [
            Outgoing(Topic.DRAFTS, self._draft(incoming.message), incoming.headers.traceparent) for incoming in batch
        ]

    def _draft(self, message: Correction | Handover) -> Draft:
        now = self._now()
        return bound_reached(message, now) if isinstance(message, Correction) else unasked(message, now)
