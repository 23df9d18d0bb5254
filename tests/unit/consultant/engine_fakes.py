"""Engines for tests of the consultant in process, which die, hang and refuse as they are told."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clearcall.agents.consultant.backend import ChatMessage
from clearcall.agents.consultant.engine import EngineFailed, GrammarRefused, Written


@dataclass
class FakeEngine:
    """Answers ``text`` to everything."""

    text: str = "1 agent: Hello."
    alive: bool = True
    closed: bool = False
    takes_grammars: bool = True
    gate: asyncio.Event | None = None
    asked: list[str | None] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def write(self, messages: Sequence[ChatMessage], max_tokens: int, ebnf: str | None) -> Written:
        assert messages
        assert max_tokens
        self.asked.append(ebnf)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.gate is not None:
                await self.gate.wait()
            if not self.alive:
                raise EngineFailed("EngineDeadError")
            if ebnf is not None and not self.takes_grammars:
                raise GrammarRefused("VLLMValidationError")
            return Written(self.text, "stop", 12, 5)
        finally:
            self.under_way -= 1

    def close(self) -> None:
        self.alive = False
        self.closed = True


class Starts:
    """Gives the next engine of its script, or raises what stands there; the last one for ever."""

    def __init__(self, *script: FakeEngine | Exception) -> None:
        self.script = list(script)
        self.number = 0
        self.before: Callable[[], object] = lambda: None

    def __call__(self) -> FakeEngine:
        self.before()
        self.number += 1
        given = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(given, Exception):
            raise given
        return given
