"""One request for a call's queued chunks against one for each chunk: the same stretches of calls, asked both ways."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import structlog

from clearcall.agents.consultant.bench.load import Overheard
from clearcall.agents.consultant.bench.quality import Quality
from clearcall.agents.consultant.bench.speed import bare_transport
from clearcall.agents.consultant.bench.turns import GoldTurn, Stretch
from clearcall.agents.consultant.build import backend_of, build
from clearcall.infra.settings import Settings
from clearcall.schemas import Draft, Incoming

log = structlog.get_logger()


@dataclass(slots=True)
class Shape:
    """What came of one way of asking. ``seconds`` are those while all stretches of a round were under way together."""

    name: str
    chunks: int = 0
    words: int = 0
    requests: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    quality: Quality = field(default_factory=Quality)
    latencies_ms: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    @property
    def typical_latency(self) -> float:
        """The median of a chunk's wait for its answer, in seconds."""
        return median(self.latencies_ms) / 1000 if self.latencies_ms else 0.0


async def compare(
    settings: Settings, names: Sequence[str], stretches: Sequence[Stretch], *, rounds: int = 2
) -> tuple[Shape, ...]:
    """Ask for every stretch in each shape, in ``rounds`` of different stretches; each shape is first in turn.

    A stretch is a call whose chunks all wait in the queue. Nothing is corrected: corrections have one shape.

    Raises:
        Unavailable: the model does not answer.
    """
    found = {name: Shape(name) for name in names}
    rounds = min(rounds, len(stretches))
    for number in range(rounds):
        turned = [names[(number + place) % len(names)] for place in range(len(names))]
        for name in turned:
            await _round(settings.model_copy(update={"request_shape": name}), found[name], stretches[number::rounds])
            log.info("bench.shape", shape=name, round=number, chunks=found[name].chunks)
    return tuple(found.values())


async def _round(settings: Settings, shape: Shape, stretches: Sequence[Stretch]) -> None:
    overheard = Overheard(bare_transport())
    consultant = build(settings, backend_of(settings, overheard))
    began = time.perf_counter()
    try:
        outs = await asyncio.gather(
            *(consultant.chunks([Incoming(chunk) for chunk in stretch.chunks]) for stretch in stretches)
        )
    finally:
        await consultant.close()
    seconds = time.perf_counter() - began
    words = 0
    for stretch, out in zip(stretches, outs, strict=True):
        drafts = [each.message for each in out if isinstance(each.message, Draft)]
        words += sum(len(draft.chunk.text.split()) for draft in drafts)
        _count(shape, drafts, stretch.gold)
    shape.seconds += seconds
    shape.words += words
    shape.rates.append(words / seconds)
    shape.requests += len(overheard.bodies)


def _count(shape: Shape, drafts: Sequence[Draft], gold: dict[int, GoldTurn]) -> None:
    for draft in drafts:
        shape.chunks += 1
        shape.prompt_tokens += draft.prompt_tokens
        shape.completion_tokens += draft.completion_tokens
        if draft.completion_tokens:
            shape.latencies_ms.append(draft.latency_ms)
        turn = gold.get(draft.chunk.chunk_id)
        if turn:
            cleaned = None if draft.failure else draft.cleaned
            shape.quality.add(draft.chunk.text, cleaned, turn.gold, turn.punctuated)
