"""A model server that answers as a small model does, some of it wrong, and fails as servers do when told to."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from chaos_proxy import Proxy

from clearcall.infra.kafka.ports import free_ports
from model_server import asked_lines, completion, serving

_WRONG_SHARE = 0.05
_HARD_WORD, _HARD_SHARE = "brake", 0.7
"""Lines with this word are mostly answered wrong, whenever they are asked: some of them reach the bound."""

_LATENCY = (0.05, 0.3)


class Model:
    """The answers; ``mode`` is one of ``MODES`` and holds until it is set anew."""

    MODES = ("well", "slow", "hanging", "busy", "failing", "garbage", "cut")

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self.mode = "well"
        self._over = asyncio.Event()
        self.proxy = Proxy(0, 0)

    @property
    def url(self) -> str:
        """As the workers reach it, through the proxy."""
        return f"http://127.0.0.1:{self.proxy.port}/v1"

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        async with serving(self._answer) as url:
            self.proxy = Proxy(free_ports(1)[0], int(url.split(":")[2].removesuffix("/v1")))
            await self.proxy.open()
            try:
                yield
            finally:
                self._over.set()  # what hangs ends: aiohttp would wait for it
                await self.proxy.refuse()

    async def _answer(self, body: dict[str, Any]) -> dict[str, Any] | web.Response:
        mode = self.mode
        await asyncio.sleep(self._random.uniform(*_LATENCY))
        if mode == "slow":
            await asyncio.sleep(self._random.uniform(1, 8))
        elif mode == "hanging":
            await self._over.wait()
        elif mode == "busy":
            return web.Response(status=429, headers={"Retry-After": "1"})
        elif mode == "failing":
            return web.Response(status=500, text="out of memory")
        elif mode == "garbage":
            return self._garbage()
        lines = asked_lines(body)
        if mode == "cut":
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
            return completion("\n".join(lines), "length")
        return completion("\n".join(map(self._line, lines)))

    def _line(self, line: str) -> str:
        """The line as a model cleans it, or with something that nobody said."""
        head, _, text = line.partition(": ")
        words = [word for word in text.split() if word not in ("um", "uh")]
        if self._random.random() < (_HARD_SHARE if _HARD_WORD in words else _WRONG_SHARE):
            words.insert(len(words) // 2, self._random.choice(("not", "Birmingham", "three hundred dollars")))
        cleaned = " ".join(words)
        return f"{head}: {cleaned[:1].upper()}{cleaned[1:]}."

    def _garbage(self) -> web.Response | dict[str, Any]:
        return self._random.choice(
            (
                web.Response(text="<html>502</html>", content_type="text/html"),
                web.json_response({"choices": []}),
                completion("As an AI I cannot help with that."),
                completion("1 agent: one\n1 agent: two\n7 caller: three"),
                completion(""),
            )
        )
