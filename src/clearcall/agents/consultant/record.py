"""Makes a recording: the real agents, consultant and evaluator, over whole calls in one process, without Kafka."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import httpx
import structlog

from clearcall import __version__
from clearcall.agents import evaluator
from clearcall.agents.consultant.build import Consultant, backend_of, build
from clearcall.agents.consultant.decoding import decoding_at
from clearcall.agents.consultant.prompt import prompts_of
from clearcall.agents.consultant.recorded import Recorder
from clearcall.agents.consultant.recording import Header, Place, Recorded, UnreadableRecording, read, write
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Cleaned, Correction, Draft, Evaluation, Headers, Incoming, Message, Outgoing

log = structlog.get_logger()

CALLS_AT_ONCE = 16
"""Calls under way together: enough for a model server to batch."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What the correction loop made of some calls."""

    evaluations: tuple[Evaluation, ...]
    cleaned: tuple[Cleaned, ...]

    def rates(self) -> list["Rate"]:
        """A row for each iteration that was reached."""
        found: dict[int, Rate] = {}
        for evaluation in self.evaluations:
            attempt = evaluation.attempt
            rate = found.setdefault(attempt.iteration, Rate(attempt.iteration))
            rate.add(evaluation)
        return [found[iteration] for iteration in sorted(found)]


@dataclass(slots=True)
class Rate:
    """Counts of one iteration: chunks scored, flagged and failed; fragments, flagged, and flagged by SS alone."""

    iteration: int
    chunks: int = 0
    chunks_flagged: int = 0
    fragments: int = 0
    flagged: int = 0
    below_threshold: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, evaluation: Evaluation) -> None:
        """Count one chunk."""
        attempt = evaluation.attempt
        self.chunks += 1
        self.chunks_flagged += attempt.flagged
        self.fragments += len(attempt.fragments)
        self.flagged += sum(fragment.flagged for fragment in attempt.fragments)
        self.below_threshold += sum(fragment.ss_paper < evaluation.threshold for fragment in attempt.fragments)
        if attempt.failure:
            self.failures[attempt.failure] += 1


async def run_loop(
    consultant: Consultant, settings: Settings, calls: Iterable[Sequence[Chunk]], at_once: int = CALLS_AT_ONCE
) -> Loop:
    """Clean whole calls, each as if all its chunks were queued; ``at_once`` together, each in its own order."""
    judge = evaluator.build(settings)
    places = asyncio.Semaphore(at_once)

    async def clean(call: Sequence[Chunk]) -> list[Message]:
        async with places:
            ended = [message async for message in _call(consultant, judge, settings.window_words, call)]
        log.info("record.call_cleaned", call_id=call[0].call_id, chunks=len(call), mode=settings.mode)
        return ended

    ends = [message for ended in await asyncio.gather(*map(clean, calls)) for message in ended]
    return Loop(
        tuple(message for message in ends if isinstance(message, Evaluation)),
        tuple(message for message in ends if isinstance(message, Cleaned)),
    )


async def record(
    settings: Settings,
    calls: Sequence[Sequence[Chunk]],
    path: Path,
    *,
    quantisation: str,
    extend: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Loop:
    """Run the loop with the settings' own backend and keep every answer in ``path``.

    It runs in the mode of the settings, whose outcome is returned, then in the other one, which flags and corrects
    other chunks: what was answered already is not asked again.
    ``quantisation`` goes into the recording's label: a server does not tell it. ``extend`` keeps the answers that
    ``path`` has, but for those that another decoding made, and asks for those that it lacks, such as corrections
    that another scoring wants.

    Raises:
        Unavailable: the model does not answer; what an earlier pass recorded is written.
        UnreadableRecording: ``extend``, and there is no recording by the same model and prompts.
    """
    recorder = Recorder(backend_of(settings), kept=_kept(path, settings) if extend else {})
    consultant = build(settings, recorder)
    other = settings.model_copy(update={"mode": "paper" if settings.mode == "strict" else "strict"})
    try:
        loops = []
        for pass_settings in (settings, other):
            loops.append(await run_loop(consultant, pass_settings, calls))
            header = await _label(settings, recorder.info(0).model, quantisation, now())
            write(path, header, list(recorder.answers.values()))
    finally:
        await consultant.close()
    return loops[0]


async def _label(settings: Settings, model: str, quantisation: str, now: datetime) -> Header:
    return Header(
        model=model,
        server=await server_version(settings.urls[0]),
        quantisation=quantisation,
        settings={
            "temperature": 0,
            "max_tokens": "by the length of the source",
            "window_words": settings.window_words,
            "context_words": settings.context_words,
            "mode": settings.mode,
            "threshold": settings.threshold,
        },
        decoding=settings.decoding,
        prompt_versions=_versions(settings),
        recorded_at=now.isoformat(timespec="seconds"),
        clearcall_version=__version__,
    )


def _versions(settings: Settings) -> tuple[str, str]:
    """The prompts of an initial response and of a correction."""
    prompts = prompts_of(settings.prompt)
    return prompts(0).version, prompts(1).version


def _kept(path: Path, settings: Settings) -> dict[Place, Recorded]:
    """The answers that would be decoded in the same way today."""
    header, answers = read(path)
    if (header.model, header.prompt_versions) != (settings.model, _versions(settings)):
        raise UnreadableRecording(f"{path} was made by {header.model!r} with {', '.join(header.prompt_versions)}")
    return {
        place: answer
        for place, answer in answers.items()
        if (answer.decoding or decoding_at(header.decoding, answer.iteration))
        == decoding_at(settings.decoding, answer.iteration)
    }


async def _call(
    consultant: Consultant, judge: evaluator.Evaluator, window_words: int, call: Sequence[Chunk]
) -> AsyncIterator[Message]:
    """The evaluations and ends of one call's chunks."""
    drafts: list[Outgoing] = []
    for batch in _batches(call, consultant.chunks.weight, window_words):
        drafts += await consultant.chunks([Incoming(chunk) for chunk in batch])
    while drafts:
        incoming = [Incoming(out.message) for out in drafts if isinstance(out.message, Draft)]
        judged = await judge(incoming)
        for out in judged:
            if not isinstance(out.message, Correction):
                yield out.message
        corrections = [
            Incoming(out.message, Headers(iteration=out.iteration))
            for out in judged
            if isinstance(out.message, Correction)
        ]
        drafts = list(await consultant.corrections(corrections)) if corrections else []


def _batches(call: Sequence[Chunk], weight: Callable[[Chunk], int], limit: int) -> list[list[Chunk]]:
    """The chunks as the runtime hands them over when all are queued: up to ``limit`` words at once."""
    total = 0
    numbered: list[tuple[int, Chunk]] = []
    batch = 0
    for chunk in call:
        total += weight(chunk)
        if total > limit and numbered and numbered[-1][0] == batch:
            batch, total = batch + 1, weight(chunk)
        numbered.append((batch, chunk))
    return [[chunk for _, chunk in group] for _, group in groupby(numbered, key=lambda pair: pair[0])]


async def server_version(url: str) -> str:
    """The server's own word for itself: vLLM tells its version beside the API."""
    try:
        async with httpx.AsyncClient(timeout=5) as client:
            response = await client.get(url.removesuffix("/").removesuffix("/v1") + "/version")
            return f"vLLM {response.json()['version']}"
    except (httpx.HTTPError, KeyError, TypeError, ValueError, RecursionError):
        return "unknown"
