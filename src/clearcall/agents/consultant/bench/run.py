"""Running the benchmark: each mode over the same turns with its corrections, its speed, and the request's shapes."""

import os
import platform
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import structlog

from clearcall.agents.consultant.backend import Line, Request
from clearcall.agents.consultant.bench.answers import Kept
from clearcall.agents.consultant.bench.quality import Quality
from clearcall.agents.consultant.bench.shapes import Shape, compare
from clearcall.agents.consultant.bench.speed import IN_FLIGHT, Speeds, bare_transport, speeds_of
from clearcall.agents.consultant.bench.turns import GoldTurn, Turns, read_stretches, read_turns
from clearcall.agents.consultant.build import backend_of, build
from clearcall.agents.consultant.decoding import CONSTRAINED, FREE, decoding_at, window_grammar
from clearcall.agents.consultant.record import Loop, run_loop, server_version
from clearcall.infra.settings import Settings
from clearcall.schemas import Attempt, Chunk

RULES = "rules"
"""The row of the rules alone, without a model, that the modes stand beside."""

STRETCH_CHUNKS = 20
"""Chunks of a call that wait together, where shapes are compared: about a window with a grammar."""

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


class Decoding(NamedTuple):
    """How an answer was asked for, and how it was decoded: ``project`` for a grammar that the server did not take."""

    asked: str
    answered: str


@dataclass(slots=True)
class Mode:
    """What one mode did. ``first`` is the initial answers, ``final`` what the loop took of them and the corrections.

    ``decodings`` counts answers, corrections too, by how they were decoded.
    ``as_published`` is the same where the loop goes by the published SS alone; only where initial answers are free.
    """

    name: str
    model: str = ""
    prompt: str = ""
    first: Quality = field(default_factory=Quality)
    final: Quality = field(default_factory=Quality)
    first_flagged: Flagged = field(default_factory=Flagged)
    final_flagged: Flagged = field(default_factory=Flagged)
    corrections: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    decodings: Counter[Decoding] = field(default_factory=Counter)
    speeds: Speeds | None = None
    as_published: "Mode | None" = None


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
    shapes: tuple[Shape, ...]
    shape_decoding: str
    machine: Machine
    seconds: float


async def run(
    settings: Settings,
    data: Path,
    modes: Sequence[str],
    *,
    turns: int = 300,
    load_turns: int = 64,
    load_modes: Sequence[str] = (),
    rounds: int = 4,
    answers: Path | None = None,
    shapes: Sequence[str] = (),
    stretches: int = 24,
) -> Result:
    """Measure the modes on the model servers of the settings.

    Args:
        settings: with the server's URL and model; the first URL is the one that is also asked bare.
        data: the folder with ``calls_dev.jsonl``.
        modes: of decoding.
        turns: at most so many are cleaned in each mode.
        load_turns: requests at the largest number in flight, fewer at smaller ones; 0 leaves the speeds out.
        load_modes: those whose speed is measured; none named, all.
        rounds: how often clearcall and the bare server take turns at each number in flight.
        answers: keeps what the server answered, and is asked first; for speeds and shapes nothing is kept.
        shapes: of requests, compared in the settings' own decoding; with a context, unlike the modes.
        stretches: of calls, on which the shapes are compared.

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
    kept = Kept(bare_transport(), answers)
    measured = [await _quality(own.model_copy(update={"consultant": "rules"}), RULES, found.turns, kept)]
    model = prompt = ""
    timed: set[str] = set()
    try:
        for name in modes:
            chosen = own.model_copy(update={"decoding": name})
            mode = await _quality(chosen, name, found.turns, kept)
            model, prompt = mode.model, mode.prompt
            if decoding_at(name, 0) == FREE:
                published = chosen.model_copy(update={"mode": "paper"})
                mode.as_published = await _quality(published, f"{name}, as published", found.turns, kept)
            asked = CONSTRAINED if decoding_at(name, 0) == CONSTRAINED else FREE  # all others ask the same
            if load_turns and asked not in timed and (not load_modes or name in load_modes):
                timed.add(asked)
                mode.speeds = await speeds_of(chosen, [turn.chunk for turn in found.turns], load_turns, rounds)
            measured.append(mode)
    finally:
        await kept.close()
    shaped = await compare(own, shapes, read_stretches(data, stretches, STRETCH_CHUNKS)) if shapes else ()
    return Result(
        model=model or own.model,
        server=await server_version(own.urls[0]),
        prompt=prompt,
        turns=found,
        load_turns=load_turns,
        modes=tuple(measured),
        grammar_seconds=grammars,
        shapes=shaped,
        shape_decoding=own.decoding,
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
    if name != RULES:
        mode.decodings.update(_decoding(settings, each.attempt) for each in loop.evaluations)
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


def _decoding(settings: Settings, attempt: Attempt) -> Decoding:
    return Decoding(decoding_at(settings.decoding, attempt.iteration), attempt.consultant.decoding)


def _grammar_seconds(chunk: Chunk) -> float:
    began = time.perf_counter()
    assert window_grammar(Request(0, (Line(chunk, chunk.text),))).ebnf
    return time.perf_counter() - began
