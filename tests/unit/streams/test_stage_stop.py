"""How a stage ends whose libraries do not."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Outgoing
from clearcall.streams.running_stage import RunningStage
from clearcall.streams.stages import STAGES, arrange


class Deaf:
    """Goes on when it is cancelled, as Faust does while it stops one service after the other."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def __call__(self) -> None:
        while not self.over.is_set():
            try:
                await self.over.wait()
            except asyncio.CancelledError:
                continue


class Agent:
    def __init__(self, close: Deaf) -> None:
        self.close = close

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> Sequence[Outgoing]:
        raise AssertionError(f"nothing was sent, and {batch} came")


async def test_a_stage_is_settled_and_ends_though_neither_its_app_nor_its_agent_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaf = Deaf()
    stage = RunningStage(STAGES["evaluator"], arrange(STAGES["evaluator"], Agent(deaf)), Settings())
    monkeypatch.setattr(stage.app, "stop", deaf)
    await asyncio.wait_for(stage.stop(0.01, 0.01), 60)
    assert stage.settled  # the worker's exit code goes by it
    deaf.over.set()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
