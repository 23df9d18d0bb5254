"""Running the benchmark: each mode over the same turns with its corrections, then its speed beside the bare server."""

import os
import platform
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import structlog

from clearcall.agents.consultant.backend import Line, Request
from clearcall.agents.consultant.bench.answers import Kept
from clearcall.agents.consultant.bench.load import Overheard, Speed, bare, first_tokens, joined, through
from clearcall.agents.consultant.bench.quality import Quality
from clearcall.agents.consultant.bench.turns import GoldTurn, Turns, read_turns
from clearcall.agents.consultant.build import backend_of, build
from clearcall.agents.consultant.decoding import window_grammar
from clearcall.agents.consultant.record import Loop, run_loop, server_version
from clearcall.infra.settings import Settings
from clearcall.schemas import Attempt, Chunk

RULES = "rules"
"""The row of the rules alone, without a model, that the modes stand beside."""

IN_FLIGHT = (1, 8, 32)

log = structlog.get_logger()


@dataclass(slots=True)
class Flagged:
    """Fragments, and how many of them are flagged: by the published SS, by that of normalised texts, by all rules."""

    fragments: int = 0
    published: int = 0
    normalised: int = 0
    strict: int = 0

    def add(self, attempt: Attempt, threshold: float) -> None:
        """Count one answer."""
        self.fragments += len(attempt.fragments)
        self.published += sum(fragment.ss_paper < threshold for fragment in attempt.fragments)
        self.normalised += sum(fragment.ss < threshold for fragment in attempt.fragments)
        self.strict += sum(fragment.flagged for fragment in attempt.fragments)


@dataclass(slots=True)
class Mode:
    """What one mode did. ``first`` is the initial answers, ``final`` what the loop took of them and the corrections."""

    name: str
    model: str = ""
    prompt: str = ""
    first: Quality = field(default_factory=Quality)
    final: Quality = field(default_factory=Quality)
    first_flagged: Flagged = field(default_factory=Flagged)
    final_flagged: Flagged = field(default_factory=Flagged)
    corrections: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    speeds: tuple[tuple[Speed, Speed], ...] = ()
    first_token_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran: ``load`` is the average of runnable processes over a minute, before and after."""

    cores: int
    system: str
    load: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Result:
    """The modes over the same turns."""

    model: str
    server: str
    prompt: str
    turns: Turns
    load_turns: int
    modes: tuple[Mode, ...]
    grammar_seconds: tuple[float, ...]
    machine: Machine
    seconds: float


async def run(
    settings: Settings,
    data: Path,
    modes: Sequence[str],
    *,
    turns: int = 300,
    load_turns: int = 64,
    rounds: int = 2,
    answers: Path | None = None,
) -> Result:
    """Measure the modes on the model servers of the settings.

    Args:
        settings: with the server's URL and model; the first URL is the one that is also asked bare.
        data: the folder with ``calls_dev.jsonl``.
        modes: of decoding.
        turns: at most so many are cleaned in each mode.
        load_turns: requests at the largest number in flight, fewer at smaller ones; 0 leaves the speeds out.
        rounds: how often clearcall and the bare server take turns at each number in flight.

        answers: keeps what the server answered, and is asked first; for the speeds nothing is kept.

    Raises:
        NoTurns: there are no calls with gold.
        UnreadableAnswers: ``answers`` is another kind of file.
        Unavailable: the model does not answer.
        httpx.HTTPError: the bare server does not.
    """
    found = read_turns(data, turns)
    own = settings.model_copy(update={"policy": "keep", "mode": "strict", "outage": "wait", "consultant": "openai"})
    began, load = time.monotonic(), os.getloadavg()[0]
    grammars = tuple(_grammar_seconds(turn.chunk) for turn in found.turns)
    kept = Kept(_transport(), answers)
    measured = [await _quality(own.model_copy(update={"consultant": "rules"}), RULES, found.turns, kept)]
    model = prompt = ""
    try:
        for name in modes:
            chosen = own.model_copy(update={"decoding": name})
            mode = await _quality(chosen, name, found.turns, kept)
            model, prompt = mode.model, mode.prompt
            if load_turns:
                await _speeds(chosen, mode, found.turns, load_turns, rounds)
            measured.append(mode)
    finally:
        await kept.close()
    return Result(
        model=model or own.model,
        server=await server_version(own.urls[0]),
        prompt=prompt,
        turns=found,
        load_turns=load_turns,
        modes=tuple(measured),
        grammar_seconds=grammars,
        machine=Machine(os.cpu_count() or 0, f"{platform.system()} {platform.machine()}", (load, os.getloadavg()[0])),
        seconds=time.monotonic() - began,
    )


async def _quality(settings: Settings, name: str, turns: Sequence[GoldTurn], kept: Kept) -> Mode:
    """Clean every turn, as a call of its own, with its corrections."""
    consultant = build(settings, backend_of(settings, kept))
    try:
        loop = await run_loop(consultant, settings, [[turn.chunk] for turn in turns], max(IN_FLIGHT))
    finally:
        await consultant.close()
    mode = Mode(name)
    info = consultant.asker.backend.info(0)
    mode.model, mode.prompt = info.model, info.prompt_version
    _count(mode, loop, turns, settings.threshold)
    log.info("bench.cleaned", mode=name, turns=len(turns), foreign=mode.first.foreign, corrections=mode.corrections)
    return mode


def _count(mode: Mode, loop: Loop, turns: Sequence[GoldTurn], threshold: float) -> None:
    ends = {cleaned.chunk.call_id: cleaned for cleaned in loop.cleaned}
    firsts = {each.chunk.call_id: each.attempt for each in loop.evaluations if not each.attempt.iteration}
    mode.corrections = sum(each.attempt.iteration > 0 for each in loop.evaluations)
    for turn in turns:
        first, end = firsts.get(turn.chunk.call_id), ends[turn.chunk.call_id]
        said = turn.chunk.text
        usable = first.cleaned if first and not first.failure else None
        mode.first.add(said, usable, turn.gold, turn.punctuated)
        mode.final.add(said, end.text, turn.gold, turn.punctuated)
        if first and first.failure:
            mode.failures[first.failure] += 1
        if first:
            mode.first_flagged.add(first, threshold)
        taken = next((each for each in end.attempts if each.iteration == end.iteration), None)
        if taken:
            mode.final_flagged.add(taken, threshold)


def _grammar_seconds(chunk: Chunk) -> float:
    began = time.perf_counter()
    assert window_grammar(Request(0, (Line(chunk, chunk.text),))).ebnf
    return time.perf_counter() - began


async def _speeds(settings: Settings, mode: Mode, turns: Sequence[GoldTurn], load_turns: int, rounds: int) -> None:
    """Fill in the mode's speeds."""
    overheard = Overheard(_transport())
    backend = backend_of(settings, overheard)
    key = settings.api_key.get_secret_value()
    chunks = [turn.chunk for turn in turns[:: max(1, len(turns) // load_turns)]][:load_turns]
    client = httpx.AsyncClient(
        timeout=settings.request_timeout, headers={"Authorization": f"Bearer {key}"} if key else {}
    )
    speeds = []
    try:
        await through(backend, chunks, max(IN_FLIGHT))  # both sides then find the same prompts in the server's cache
        bodies = list(overheard.bodies)
        for in_flight in IN_FLIGHT:
            some = max(1, len(bodies) * (in_flight + 4) // (max(IN_FLIGHT) + 4))
            ours = partial(through, backend, chunks[:some], in_flight)
            theirs = partial(bare, client, settings.urls[0], bodies[:some], in_flight)
            speeds.append(await _by_turns(ours, theirs, rounds))
            log.info("bench.speed", mode=mode.name, in_flight=in_flight, requests=some)
        mode.first_token_seconds = await first_tokens(client, settings.urls[0], bodies[:16])
    finally:
        await client.aclose()
        await backend.close()
    mode.speeds = tuple(speeds)


def _transport() -> httpx.AsyncBaseTransport:
    """As many connections as requests."""
    return httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None))


async def _by_turns(
    ours: Callable[[], Awaitable[Speed]], theirs: Callable[[], Awaitable[Speed]], rounds: int
) -> tuple[Speed, Speed]:
    """Both sides, each first in every other round: what else the machine does then hits both."""
    mine: list[Speed] = []
    bares: list[Speed] = []
    for number in range(rounds):
        sides = [(theirs, bares), (ours, mine)]
        for ask, kept in sides if number % 2 else reversed(sides):
            kept.append(await ask())
    return joined(mine), joined(bares)
