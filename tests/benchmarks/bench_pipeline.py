"""Chunks per second of the whole pipeline and of each stage, beside bare Faust and bare aiokafka, in one run.

Real Apache Kafka (``CLEARCALL_KAFKA``, or one of our own), the ``rules`` consultant, the embedded ClickHouse engine.
First every stage alone on the same messages, then the whole pipeline with one worker for each stage.

    python tests/benchmarks/bench_pipeline.py --chunks 100000
"""

import argparse
import asyncio
import json
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from pipeline_process import IDLE_SECONDS, WARM_UP, Measured, Worker, measure
from rich.console import Console
from rich.table import Table

from clearcall.infra.clickhouse import connect
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.settings import Settings
from clearcall.samples import load_calls
from clearcall.schemas import Chunk, Headers, Topic, encode
from clearcall.schemas.codec import schema_of
from clearcall.streams.topics import create_topics

STAGES = ("consultant", "evaluator", "sink")
CALLS_AT_ONCE = 64
PARTITIONS = 8
BASELINE = "faust"
BOUND_OWN = 2.0  # times the bare Faust agent's time a message
BOUND_RSS = 250  # MB, of consultant and evaluator


def chunks(count: int) -> Iterator[Chunk]:
    """The sample calls over and over under new ids, many calls at once, as from a live recogniser."""
    calls = cycle(load_calls())
    numbered = (
        [item.chunk.model_copy(update={"call_id": f"{call.call_id}-{number}"}) for item in call.chunks]
        for number, call in enumerate(calls)
    )
    return islice(_side_by_side(numbered), count)


def _side_by_side(calls: Iterator[list[Chunk]]) -> Iterator[Chunk]:
    live = [iter(next(calls)) for _ in range(CALLS_AT_ONCE)]
    while True:
        for place, call in enumerate(live):
            chunk = next(call, None)
            if chunk is None:
                live[place] = iter(next(calls))
                chunk = next(live[place])
            yield chunk


async def fill(settings: Settings, count: int) -> None:
    """Create the topics and send the chunks."""
    await create_topics(settings)
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka, acks="all", linger_ms=5) as producer:
        sends = []
        for chunk in chunks(count):
            headers = Headers(message_id=chunk.message_id, schema=schema_of(Chunk), traceparent=None, iteration=None)
            topic = settings.topic_prefix + Topic.CHUNKS
            sends.append(await producer.send(topic, encode(chunk), chunk.key.encode(), headers=headers.raw()))
            if len(sends) == 2000:
                await asyncio.gather(*sends)
                sends.clear()
        await asyncio.gather(*sends)


async def add_bare_topics(settings: Settings) -> None:
    """Where the bare loops send to."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka)
    await admin.start()
    try:
        names = (f"{settings.topic_prefix}bare-{kind}" for kind in ("faust", "aiokafka"))
        await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
    finally:
        await admin.close()


class Ends:
    """How many messages topics hold."""

    def __init__(self, consumer: AIOKafkaConsumer, prefix: str) -> None:
        self._consumer = consumer
        self._prefix = prefix
        self.counts: dict[Topic, int] = {}

    async def look(self, *topics: Topic) -> int:
        """The sum over ``topics``, kept in ``counts`` by topic."""
        for topic in topics:
            places = [TopicPartition(self._prefix + topic, number) for number in range(PARTITIONS)]
            self.counts[topic] = sum((await self._consumer.end_offsets(places)).values())
        return sum(self.counts[topic] for topic in topics)


@asynccontextmanager
async def ends(settings: Settings) -> AsyncIterator[Ends]:
    """Looks at the ends of the deployment's topics."""
    async with AIOKafkaConsumer(bootstrap_servers=settings.kafka) as consumer:
        yield Ends(consumer, settings.topic_prefix)


async def alone(role: str, settings: dict[str, Any], folder: Path, target: int) -> Measured:
    """One worker by itself, to the target."""
    worker = await Worker.start(role, settings, folder)
    try:
        await worker.reach(lambda: target)
    finally:
        await worker.stop()
    return measure(role, worker.samples, target)


async def each_alone(settings: Settings, folder: Path, count: int) -> list[Measured]:
    """Every stage and both bare loops, one after the other, each on what the one before left on Kafka."""
    await fill(settings, count)
    await add_bare_topics(settings)
    given = flags(settings)
    results = [await alone(role, given, folder, count) for role in ("aiokafka", "faust", "consultant", "evaluator")]
    async with ends(settings) as looking:
        stored = await looking.look(Topic.CLEANED, Topic.EVALUATIONS)
    results.append(await alone("sink", given, folder, stored))
    results.append(await alone("sink-dry", given | {"group_prefix": "dry"}, folder, stored))
    return results


@dataclass(frozen=True)
class Whole:
    """The whole pipeline at once."""

    chunks: int
    rate: float
    stored: int
    workers: list[Measured]


async def whole(settings: Settings, folder: Path, count: int) -> Whole:
    """One worker a stage on ``count`` chunks, until every row is stored."""
    await fill(settings, count)
    async with AsyncExitStack() as stack:
        workers = {}
        for stage in STAGES:
            workers[stage] = await Worker.start(stage, flags(settings), folder)
            stack.push_async_callback(workers[stage].stop)
        looking = await stack.enter_async_context(ends(settings))
        rate = await _follow(looking, count)
        targets = {
            "consultant": count + looking.counts[Topic.CORRECTIONS],
            "evaluator": count + looking.counts[Topic.CORRECTIONS],
            "sink": looking.counts[Topic.CLEANED] + looking.counts[Topic.EVALUATIONS],
        }
        for stage, worker in workers.items():
            await worker.reach(lambda stage=stage: targets[stage])  # type: ignore[misc]
    measured = [measure(stage, workers[stage].samples, targets[stage]) for stage in STAGES]
    with closing(connect(settings)) as database:
        (row,) = database.rows("SELECT count() AS stored FROM cleaned FINAL")
    return Whole(count, rate, int(row["stored"]), measured)


async def _follow(looking: Ends, count: int) -> float:
    """Chunks that ended per second, after the warm-up; returns at the last, raises when nothing moves any more."""
    warm: tuple[int, float] | None = None
    last, since = 0, time.monotonic()
    while (done := await looking.look(Topic.CLEANED)) < count:
        now = time.monotonic()
        if warm is None and done >= WARM_UP * count:
            warm = done, now
        if done != last:
            last, since = done, now
        if now - since > IDLE_SECONDS:
            raise RuntimeError(f"the pipeline stands still at {done} of {count} chunks")
        await asyncio.sleep(0.1)
    if warm is None:
        raise RuntimeError(f"{count} chunks are too few for a rate")
    await looking.look(Topic.CORRECTIONS, Topic.EVALUATIONS)
    return (count - warm[0]) / (time.monotonic() - warm[1])


def flags(settings: Settings) -> dict[str, Any]:
    """The settings as a worker is given them."""
    return settings.model_dump(mode="json", exclude_defaults=True)


def show(console: Console, results: Sequence[Measured], everything: Whole) -> None:
    """Tables, ratios, and whether the bounds hold."""
    bare = next(one for one in results if one.role == BASELINE)
    table = Table(
        title="each alone",
        caption="own: processor time a message; the sink's has its database in it, sink-dry has none. Bare: Faust",
    )
    for heading in ("", "messages", "messages/s", "of bare", "own us", "of bare", "model, scoring us"):
        table.add_column(heading, justify="left" if not heading else "right")
    for one in results:
        table.add_row(
            one.role,
            f"{one.messages:,}",
            f"{one.rate:,.0f}",
            f"{one.rate / bare.rate:.2f}",
            f"{one.own:.0f}",
            f"{one.own / bare.own:.2f}",
            f"{one.foreign:.0f}",
        )
    console.print(table)
    memory = Table(title=f"whole pipeline, {everything.chunks:,} chunks: memory of each worker, MB")
    for heading in ("", "at 25%", "at 50%", "at 75%", "at the end"):
        memory.add_column(heading, justify="left" if not heading else "right")
    for one in everything.workers:
        memory.add_row(one.role, *(f"{rss:.0f}" for rss in one.rss))
    console.print(memory)
    console.print(
        f"whole pipeline: {everything.rate:,.0f} chunks/s; "
        f"{everything.stored:,} rows in cleaned for {everything.chunks:,} chunks"
    )
    for text, holds in verdicts(results, everything):
        console.print(f"{'holds ' if holds else 'BROKEN'}  {text}")


def verdicts(results: Sequence[Measured], everything: Whole) -> list[tuple[str, bool]]:
    """What the benchmark is held to."""
    bare = next(one for one in results if one.role == BASELINE)
    found = [(f"every chunk is one row ({everything.stored:,})", everything.stored == everything.chunks)]
    for one in results:
        if one.role in {"consultant", "evaluator", "sink-dry"}:
            ratio = one.own / bare.own
            found.append((f"{one.role}: own time a message {ratio:.2f} of bare Faust, under 2", ratio < BOUND_OWN))
    small = [one for one in everything.workers if one.role != "sink"]
    found += [(f"{one.role}: {one.rss[-1]:.0f} MB, under {BOUND_RSS}", one.rss[-1] < BOUND_RSS) for one in small]
    return found


async def run(args: argparse.Namespace, kafka: str, folder: Path) -> None:
    """Both parts, shown and, where asked, written as JSON."""
    common: dict[str, Any] = {"kafka": kafka, "partitions": PARTITIONS, "consultant": "rules", "log_level": "warning"}
    run_id = f"bench-{os.getpid()}"
    apart = Settings(**common, topic_prefix=f"{run_id}-a.", group_prefix=f"{run_id}-a", db=f"chdb://{folder}/a")
    together = Settings(**common, topic_prefix=f"{run_id}-b.", group_prefix=f"{run_id}-b", db=f"chdb://{folder}/b")
    results = await each_alone(apart, folder, min(args.stage_chunks, args.chunks))
    everything = await whole(together, folder, args.chunks)
    show(Console(), results, everything)
    if args.json:
        found = {"alone": [asdict(one) for one in results], "whole": asdict(everything)}
        args.json.write_text(json.dumps(found, indent=2) + "\n")


def main() -> None:
    """Read the arguments, find a Kafka, run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chunks", type=int, default=100_000, help="through the whole pipeline")
    parser.add_argument("--stage-chunks", type=int, default=20_000, help="through each stage alone")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # new topics get their leaders while the first are sent
    given = os.environ.get("CLEARCALL_KAFKA")
    with tempfile.TemporaryDirectory(prefix="clearcall-bench-") as name, given_or_own(given) as kafka:
        asyncio.run(run(args, kafka, Path(name)))


@contextmanager
def given_or_own(given: str | None) -> Iterator[str]:
    """The named Kafka, or one of our own for the run."""
    if given:
        yield given
        return
    with ApacheKafka() as broker:
        yield broker.bootstrap


if __name__ == "__main__":
    main()
