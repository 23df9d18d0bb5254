"""How fast a consultant's requests are answered, and how fast the bare server answers the very same ones."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, TypeVar

import httpx

from clearcall.agents.consultant.agent import ChunkConsultant
from clearcall.schemas import Chunk, Draft, Incoming

_CHAT = "/chat/completions"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Speed:
    """Requests answered with so many of them in flight: seconds in all, tokens written, each one's latency.

    ``decodings`` are those of the answers that came through clearcall.
    """

    in_flight: int
    seconds: float
    tokens: int
    latencies: tuple[float, ...]
    decodings: tuple[str, ...] = ()

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
        tuple(decoding for part in parts for decoding in part.decodings),
    )


class Overheard(httpx.AsyncBaseTransport):
    """A transport that keeps the bodies of chats that are answered: one that is refused cannot be sent bare."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.bodies: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass on."""
        response = await self._inner.handle_async_request(request)
        if request.url.path.endswith(_CHAT) and response.status_code == httpx.codes.OK:
            self.bodies.append(json.loads(request.content))
        return response

    async def aclose(self) -> None:
        """Close what is behind."""
        await self._inner.aclose()


async def through(agent: ChunkConsultant, chunks: Sequence[Chunk], in_flight: int) -> Speed:
    """One request for each chunk, through clearcall's agent: prompt, grammar, client, answer taken apart, draft."""

    async def ask(chunk: Chunk) -> int:
        (out,) = await agent([Incoming(chunk)])
        if not isinstance(out.message, Draft):
            return 0
        decodings.append(out.message.consultant.decoding)
        return out.message.completion_tokens

    decodings: list[str] = []
    speed = await _timed(ask, chunks, in_flight)
    return replace(speed, decodings=tuple(decodings))


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
