"""The speed of a mode beside the bare server's, and what a grammar costs the server before the first token."""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import structlog

from clearcall.agents.consultant.bench.load import Overheard, Speed, bare, first_token, joined, through
from clearcall.agents.consultant.build import backend_of, build
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk
from clearcall.scoring import is_nothing_to_clean

IN_FLIGHT = {1: 16, 8: 2, 32: 1}
"""Requests under way together, and which part of the requests is sent so: few in flight take longer."""

_FIRST_TOKENS = 16
"""Requests whose first token is waited for."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Pair:
    """Rounds at one number in flight, through clearcall and bare; ``shares`` are of tokens a second, by round."""

    ours: Speed
    bare: Speed
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FirstToken:
    """Seconds to the first token of the same request: without a grammar, with a new one, with one that is known."""

    free: float
    new_grammar: float | None = None
    known_grammar: float | None = None


@dataclass(frozen=True, slots=True)
class Speeds:
    """What was measured of a mode."""

    pairs: tuple[Pair, ...]
    first_tokens: tuple[FirstToken, ...]


def bare_transport() -> httpx.AsyncBaseTransport:
    """As many connections as requests."""
    return httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None))


async def speeds_of(settings: Settings, turns: Sequence[Chunk], most: int, rounds: int) -> Speeds:
    """Ask for at most ``most`` of the turns, evenly spread, ``rounds`` times on each side.

    Raises:
        Unavailable: the model does not answer.
        httpx.HTTPError: the bare server does not.
    """
    asked = [turn for turn in turns if not is_nothing_to_clean(turn.text)]
    chunks = [asked[index * len(asked) // most] for index in range(most)] if len(asked) > most else asked
    overheard = Overheard(bare_transport())
    consultant = build(settings, backend_of(settings, overheard))
    key = settings.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = settings.urls[0]
    try:
        async with httpx.AsyncClient(
            timeout=settings.request_timeout, headers=headers, transport=bare_transport()
        ) as client:
            await through(consultant.chunks, chunks, max(IN_FLIGHT))  # both then find the prompts in the server's cache
            bodies = list(overheard.bodies)
            pairs = []
            for in_flight, part in IN_FLIGHT.items():
                some = max(1, len(bodies) // part)
                ours = partial(through, consultant.chunks, chunks[:some], in_flight)
                theirs = partial(bare, client, url, bodies[:some], in_flight)
                pairs.append(await _by_turns(ours, theirs, rounds))
                log.info("bench.speed", decoding=settings.decoding, in_flight=in_flight, requests=some)
            firsts = [await _first_token(client, url, body) for body in bodies[:_FIRST_TOKENS]]
    finally:
        await consultant.close()
    return Speeds(tuple(pairs), tuple(firsts))


async def _by_turns(ours: Callable[[], Awaitable[Speed]], theirs: Callable[[], Awaitable[Speed]], rounds: int) -> Pair:
    """Both sides, each first in every other round: what else the machine does then hits both."""
    mine: list[Speed] = []
    bares: list[Speed] = []
    for number in range(rounds):
        sides = [(theirs, bares), (ours, mine)]
        for ask, kept in sides if number % 2 else reversed(sides):
            kept.append(await ask())
    shares = tuple(
        own.tokens_per_second / other.tokens_per_second
        for own, other in zip(mine, bares, strict=True)
        if other.tokens_per_second
    )
    return Pair(joined(mine), joined(bares), shares)


async def _first_token(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> FirstToken:
    """One request at a time; its prompt is in the server's cache already."""
    constraint = body.get("structured_outputs")
    free = await first_token(client, url, {name: body[name] for name in body if name != "structured_outputs"})
    if constraint is None:
        return FirstToken(free)
    # a rule that nothing refers to makes it a grammar that the server has never seen
    grammar = f'{constraint["grammar"]}\nunused{os.urandom(6).hex()} ::= "a"'
    asked = body | {"structured_outputs": {"grammar": grammar}}
    return FirstToken(free, await first_token(client, url, asked), await first_token(client, url, asked))
