"""How fast a consultant's requests are answered, and how fast the bare server answers the very same ones."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

import httpx

from clearcall.agents.consultant.agent import ChunkConsultant
from clearcall.schemas import Chunk, Draft, Incoming

_CHAT = "/chat/completions"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Speed:
    """Requests answered with so many of them in flight: seconds in all, tokens written, each one's latency."""

    in_flight: int
    seconds: float
    tokens: int
    latencies: tuple[float, ...]

    @property
    def tokens_per_second(self) -> float:
        """Tokens written a second, of all requests together."""
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def typical_latency(self) -> float:
        """The median, in seconds."""
        return median(self.latencies) if self.latencies else 0.0


def joined(parts: Sequence[Speed]) -> Speed:
    """Runs with the same number in flight, one after the other, as one."""
    return Speed(
        parts[0].in_flight,
        sum(part.seconds for part in parts),
        sum(part.tokens for part in parts),
        tuple(latency for part in parts for latency in part.latencies),
    )


class Overheard(httpx.AsyncBaseTransport):
    """A transport that keeps the bodies of chats that pass."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.bodies: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass on."""
        if request.url.path.endswith(_CHAT):
            self.bodies.append(json.loads(request.content))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close what is behind."""
        await self._inner.aclose()


async def through(agent: ChunkConsultant, chunks: Sequence[Chunk], in_flight: int) -> Speed:
    """One request for each chunk, through clearcall's agent: prompt, grammar, client, answer taken apart, draft."""

    async def ask(chunk: Chunk) -> int:
        (out,) = await agent([Incoming(chunk)])
        return out.message.completion_tokens if isinstance(out.message, Draft) else 0

    return await _timed(ask, chunks, in_flight)


async def bare(client: httpx.AsyncClient, url: str, bodies: Sequence[dict[str, Any]], in_flight: int) -> Speed:
    """The same requests as fast as the server takes them: nothing is made, nothing is read but the count of tokens."""

    async def ask(body: dict[str, Any]) -> int:
        response = await client.post(url + _CHAT, json=body)
        response.raise_for_status()
        return int(response.json()["usage"]["completion_tokens"])

    return await _timed(ask, bodies, in_flight)


async def first_token(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> float:
    """Seconds to the first token, streamed."""
    began = time.perf_counter()
    async with client.stream("POST", url + _CHAT, json={**body, "stream": True}) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {") and _has_text(json.loads(line.removeprefix("data: "))):
                break
        return time.perf_counter() - began


def _has_text(event: dict[str, Any]) -> bool:
    return any(choice.get("delta", {}).get("content") for choice in event.get("choices", ()))


async def _timed(ask: Callable[[T], Awaitable[int]], items: Sequence[T], in_flight: int) -> Speed:
    places = asyncio.Semaphore(in_flight)

    async def one(item: T) -> tuple[int, float]:
        async with places:
            began = time.perf_counter()
            return await ask(item), time.perf_counter() - began

    began = time.perf_counter()
    done = await asyncio.gather(*map(one, items))
    seconds = time.perf_counter() - began
    return Speed(in_flight, seconds, sum(tokens for tokens, _ in done), tuple(latency for _, latency in done))
