"""A stage that copies chunks to drafts, with faults on demand; also a worker process of it.

The text of a chunk may hold orders: ``poison``, ``flaky N`` (fails N times), ``slow S`` (takes S seconds),
``block S`` (lets nothing else run for S seconds).
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from clearcall.agents.protocol import Poison
from clearcall.infra.settings import Settings
from clearcall.infra.uncaught import into_events
from clearcall.schemas import Chunk, ConsultantInfo, Draft, Incoming, Outcome, Outgoing, Topic
from clearcall.streams.stages import ShapeKind, Stage
from clearcall.streams.worker import run_worker

STAGE = Stage("echo", (Topic.CHUNKS,), ShapeKind.PER_KEY, "echo_agent", lambda _settings: 8)


class Echo:
    """Chunks to drafts; ``delay`` seconds a batch."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.failures: Counter[str] = Counter()
        self.closed = False

    async def __call__(self, batch: Sequence[Incoming[Chunk]]) -> list[Outgoing]:
        await asyncio.sleep(self.delay)
        for incoming in batch:
            await self._obey(incoming.message)
        return [draft(incoming) for incoming in batch]

    async def _obey(self, chunk: Chunk) -> None:
        order, _, number = chunk.text.partition(" ")
        if order == "poison":
            raise Poison("poison", "asked for")
        if order == "slow":
            await asyncio.sleep(float(number))
        if order == "block":
            time.sleep(float(number))  # noqa: ASYNC251 - a handler that blocks the loop is the subject
        if order == "flaky" and self.failures[chunk.message_id] < int(number):
            self.failures[chunk.message_id] += 1
            raise ValueError("asked for")

    async def close(self) -> None:
        self.closed = True


def draft(incoming: Incoming[Chunk]) -> Outgoing:
    chunk = incoming.message
    info = ConsultantInfo(backend="echo", model="none", prompt_version="1")
    message = Draft(
        chunk=chunk, iteration=0, outcome=Outcome.ANSWERED, cleaned=chunk.text, consultant=info, drafted_at=0
    )
    return Outgoing(Topic.DRAFTS, message, incoming.headers.traceparent)


def build(_settings: Any) -> Echo:
    return Echo(float(os.environ.get("ECHO_DELAY", "0")))


if __name__ == "__main__":
    into_events()
    sys.exit(asyncio.run(run_worker([STAGE], Settings())))
