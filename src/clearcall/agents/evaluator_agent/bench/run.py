"""Running the benchmark: one call of the function for each fragment of real turns, right ones and wrong ones."""

import asyncio
import os
import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import httpx
import structlog

from clearcall.agents.consultant.asking import together
from clearcall.agents.consultant.backend import ModelError
from clearcall.agents.consultant.bench.answers import Kept
from clearcall.agents.consultant.client import TRIES
from clearcall.agents.consultant.record import server_version
from clearcall.agents.evaluator_agent.build import caller_of
from clearcall.agents.evaluator_agent.caller import ToolCaller
from clearcall.agents.evaluator_agent.distortion import Compared
from clearcall.agents.evaluator_agent.own import own_settings
from clearcall.infra.settings import Settings
from clearcall.scoring import fragment_spans
from clearcall.scoring.bench import Pair, labelled_pairs, read_calls

LONGEST = 100
"""Words of a turn; longer ones are rare, and each takes a small model as long as many others."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Fragment:
    """A cleaned fragment and its turn as it was said; ``faithful`` where nothing in the cleaned turn was made wrong."""

    text: str
    source: str
    faithful: bool


@dataclass(frozen=True, slots=True)
class Result:
    """The calls by fragment; of ``drawn`` ones ``refused`` were not answered by the server, others not in time."""

    model: str
    server: str
    mode: str
    threshold: float
    seed: int
    compared: tuple[tuple[Fragment, Compared], ...]
    drawn: int
    refused: int
    seconds: float
    in_flight: int
    machine: str
    load: float


async def run(
    settings: Settings,
    data: Path,
    *,
    fragments: int = 150,
    seed: int = 1,
    in_flight: int = 8,
    most_seconds: float | None = None,
    answers: Path | None = None,
) -> Result:
    """Show a model so many fragments, half of them of faithful turns, and compare what it calls the function with.

    Args:
        settings: with the server's URL and model, and the rules that score.
        data: the folder with ``calls_dev.jsonl`` or ``dstc10_dev.jsonl``.
        fragments: at most how many; what is drawn twice is shown once.
        seed: of the draw.
        in_flight: requests under way together.
        most_seconds: what is not answered by then is left out; ``None`` waits for all.
        answers: keeps what the server answered, and is asked first.

    Raises:
        NoCalls: there are no calls in the folder.
        UnreadableAnswers: ``answers`` is another kind of file.
        Unavailable: the model does not answer.
        ModelError: the server refuses every request: it takes no tools.
    """
    drawn = draw(data, fragments, seed)
    kept = Kept(httpx.AsyncHTTPTransport(), answers)
    caller = caller_of(settings, in_flight=in_flight, tries=TRIES, transport=kept)
    began, load = time.monotonic(), os.getloadavg()[0]
    try:
        called = await _ask(caller, drawn, in_flight, most_seconds)
    finally:
        await caller.close()
        await kept.close()
    found = [(drawn[place], each) for place, each in sorted(called.items()) if isinstance(each, Compared)]
    refusals = [each for each in called.values() if isinstance(each, ModelError)]
    if refusals and not found:
        raise refusals[0]
    return Result(
        model=caller.model,
        server=await server_version(own_settings(settings).urls[0]),
        mode=settings.mode,
        threshold=settings.threshold,
        seed=seed,
        compared=tuple(found),
        drawn=len(drawn),
        refused=len(refusals),
        seconds=time.monotonic() - began,
        in_flight=in_flight,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        load=load,
    )


async def _ask(
    caller: ToolCaller, fragments: Sequence[Fragment], in_flight: int, most_seconds: float | None
) -> dict[int, Compared | ModelError]:
    """What came of each fragment, by its place; those without words and those that took too long are not there."""
    places = asyncio.Semaphore(in_flight)
    found: dict[int, Compared | ModelError] = {}

    async def one(place: int, fragment: Fragment) -> None:
        async with places:
            try:
                compared = await caller.check(fragment.text, fragment.source)
            except ModelError as error:
                found[place] = error
                return
        if compared is not None:
            log.info("bench.checked", kind=str(compared.kind))
            found[place] = compared

    with suppress(TimeoutError):
        async with asyncio.timeout(most_seconds):
            await together(one(place, fragment) for place, fragment in enumerate(fragments))
    return found


def draw(data: Path, count: int, seed: int) -> list[Fragment]:
    """At most so many fragments of real turns, half of them of turns that were made wrong, each kind of edit as often.

    Raises:
        NoCalls: there are no calls in the folder.
    """
    source = Random(f"{seed} fragments")  # noqa: S311 - a draw of examples
    chosen = []
    for pairs, faithful in zip(labelled_pairs(read_calls(data), seed, count), (True, False), strict=True):
        short = [pair for pair in pairs if len(pair.source[pair.own].text.split()) <= LONGEST]
        wanted = (count + faithful) // 2
        chosen += [_fragment(pair, source, faithful=faithful) for pair in _evenly(short, wanted, source)]
    source.shuffle(chosen)
    return list(dict.fromkeys(chosen))


def _evenly(pairs: Sequence[Pair], count: int, source: Random) -> list[Pair]:
    """So many pairs, of each kind in turn."""
    kinds = sorted({pair.kind for pair in pairs})
    by_kind = {kind: [pair for pair in pairs if pair.kind == kind] for kind in kinds}
    for group in by_kind.values():
        source.shuffle(group)
    taken: list[Pair] = []
    while len(taken) < count and any(by_kind.values()):
        taken += [by_kind[kind].pop() for kind in kinds if by_kind[kind]]
    return taken[:count]


def _fragment(pair: Pair, source: Random, *, faithful: bool) -> Fragment:
    start, end = source.choice(fragment_spans(pair.cleaned, 20, 3))
    return Fragment(pair.cleaned[start:end], pair.source[pair.own].text, faithful)
