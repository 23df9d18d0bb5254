"""The model server is stopped in the middle of real chunks: what the policies ``wait`` and ``degrade`` deliver.

The script starts the model server itself, so that it can end it and start it again. Chunks of real calls, several calls
side by side, are sent to a Kafka of its own (or ``CLEARCALL_KAFKA``) at a steady rate, one worker runs every stage, and
after half of the chunks the server is killed, or frozen with ``--how freeze``, for ``--down`` seconds.

    python tests/benchmarks/bench_outage.py --start "vllm serve MODEL --port 8001" --url http://127.0.0.1:8001/v1

It fails where a chunk is lost or is more than one row, where with ``wait`` a chunk was not delivered by the model, and
where with ``degrade`` one took longer than ``--bound`` seconds.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, nullcontext
from itertools import chain, islice, zip_longest
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from bench_backpressure import send, worker
from model_process import ModelServer
from outage_page import Ended, Outcomes, page, verdicts

from clearcall.agents.consultant.record import server_version
from clearcall.infra.clickhouse import connect
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Cleaned, Outcome, Topic, decode
from clearcall.scoring import is_nothing_to_clean
from clearcall.streams.topics import create_topics

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "calls"
CALLS = 16
DONE_SECONDS = 1200.0
PARTITIONS = 8


def real_chunks(data: Path, count: int, most_words: int) -> list[Chunk]:
    """The first chunks of at most so many words, with something to clean, of the longest calls, side by side."""
    calls = [json.loads(line) for line in (data / "calls_dev.jsonl").read_text("utf-8").splitlines()]
    calls.sort(key=lambda call: -len(call["chunks"]))
    live: list[Iterator[Chunk]] = [_chunks(call, most_words) for call in calls[:CALLS]]
    mixed = (chunk for chunk in chain.from_iterable(zip_longest(*live)) if chunk is not None)
    return list(islice(mixed, count))


def _chunks(call: dict[str, object], most_words: int) -> Iterator[Chunk]:
    chunks = call["chunks"]
    assert isinstance(chunks, list)
    for chunk in chunks:
        if len(chunk["text"].split()) <= most_words and not is_nothing_to_clean(chunk["text"]):
            yield Chunk(
                call_id=str(call["call_id"]), chunk_id=chunk["chunk_id"], speaker=chunk["speaker"], text=chunk["text"]
            )


async def outage(server: ModelServer, how: str, down: float) -> tuple[float, float]:
    """Stop the server for ``down`` seconds and start it again; when it was stopped, and seconds until it answered."""
    stopped_at, began = time.time(), time.monotonic()
    if how == "freeze":
        server.signal(signal.SIGSTOP)
    else:
        await server.kill()
    await asyncio.sleep(down)
    if how == "freeze":
        server.signal(signal.SIGCONT)
    else:
        await server.start()
    return stopped_at, time.monotonic() - began


async def run(arguments: argparse.Namespace, policy: str, server: ModelServer, kafka: str, folder: Path) -> Outcomes:
    """All chunks through one worker, the outage after half of them."""
    name = f"outage-{policy}-{os.getpid()}"
    settings = Settings(
        kafka=kafka,
        topic_prefix=f"{name}.",
        group_prefix=name,
        partitions=PARTITIONS,
        db=f"chdb://{folder}/{policy}",
        urls=(arguments.url,),
        model=arguments.model,
        outage=policy,
        context_words=arguments.context_words,
        request_timeout=arguments.request_timeout,
        stall_timeout=max(300.0, 2 * arguments.request_timeout),
        log_level="error",
    )
    chunks = real_chunks(arguments.data, arguments.chunks, arguments.most_words)
    middle = len(chunks) // 2
    began = time.monotonic()
    await create_topics(settings)
    async with worker(settings, "all") as watched:
        await send(settings, Topic.CHUNKS, iter(chunks[:middle]), arguments.rate, pack=1)
        stopping = asyncio.create_task(outage(server, arguments.how, arguments.down))
        await send(settings, Topic.CHUNKS, iter(chunks[middle:]), arguments.rate, pack=1)
        stopped_at, away = await stopping
        async with reader(settings) as ends:
            async with asyncio.timeout(DONE_SECONDS):
                while await ends.count(Topic.CLEANED) < len(chunks):  # noqa: ASYNC110 - another process has no event
                    await asyncio.sleep(0.5)
            seconds = time.monotonic() - began
            await asyncio.sleep(3)  # what would be delivered twice has come by then
            await watched.until(_stored)
            arrived = {key: at for key, at, _ in await ends.all(Topic.CHUNKS)}
            delivered = [(key, at, decode(Cleaned, value)) for key, at, value in await ends.all(Topic.CLEANED)]
            letters = await ends.count(Topic.DEAD_LETTERS)
    with closing(connect(settings)) as database:
        (found,) = database.rows("SELECT count() AS stored FROM cleaned FINAL")
    ended = {key: Ended(at - arrived[key], arrived[key], _by_model(cleaned)) for key, at, cleaned in delivered}
    return Outcomes(
        policy=policy,
        chunks=len(chunks),
        ended=list(ended.values()),
        twice=len(delivered) - len(ended),
        rows=int(found["stored"]),
        dead_letters=letters,
        stopped_at=stopped_at,
        away=away,
        seconds=seconds,
    )


def _stored(now: dict[str, float]) -> bool:
    """Whether the sink, the last stage of the worker's, has stored all that there is."""
    return not now["clearcall_lag_messages"] and not now["clearcall_in_flight_messages"]


def _by_model(cleaned: Cleaned) -> bool:
    return any(attempt.outcome is Outcome.ANSWERED for attempt in cleaned.attempts)


class Reader:
    """Reads the run's topics from their beginning."""

    def __init__(self, consumer: AIOKafkaConsumer, settings: Settings) -> None:
        self._consumer = consumer
        self._settings = settings

    def _places(self, topic: Topic) -> list[TopicPartition]:
        name = self._settings.topic_prefix + topic
        return [TopicPartition(name, number) for number in range(self._settings.partitions)]

    async def count(self, topic: Topic) -> int:
        """Messages on the topic."""
        return sum((await self._consumer.end_offsets(self._places(topic))).values())

    async def all(self, topic: Topic) -> list[tuple[str, float, bytes]]:
        """Each message's id, its time on Kafka in epoch seconds, its value."""
        places = self._places(topic)
        self._consumer.assign(places)
        await self._consumer.seek_to_beginning(*places)
        wanted = await self.count(topic)
        found: list[tuple[str, float, bytes]] = []
        while len(found) < wanted:
            for records in (await self._consumer.getmany(timeout_ms=500)).values():
                for record in records:
                    chunk = json.loads(record.value)
                    chunk = chunk.get("chunk", chunk)
                    found.append((f"{chunk['call_id']}/{chunk['chunk_id']}", record.timestamp / 1000, record.value))
        return found


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[Reader]:
    """A reader of the run's topics."""
    async with AIOKafkaConsumer(bootstrap_servers=settings.kafka) as consumer:
        yield Reader(consumer, settings)


async def main(arguments: argparse.Namespace) -> int:
    """Run the policies one after the other and write the page."""
    given = os.environ.get("CLEARCALL_KAFKA")
    with tempfile.TemporaryDirectory(prefix="clearcall-outage-") as name:
        server = ModelServer(arguments.start, arguments.url, Path(name) / "server.log")
        with nullcontext() if given else ApacheKafka() as broker:
            await server.start()
            try:
                version = await server_version(arguments.url)
                kafka = given or (broker.bootstrap if broker else "")
                results = [await run(arguments, policy, server, kafka, Path(name)) for policy in arguments.policies]
            finally:
                await server.kill()
    text = page(arguments, CALLS, version, results)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    checked = [(result.policy, *verdict) for result in results for verdict in verdicts(result, arguments.bound)]
    for policy, what, holds in checked:
        sys.stdout.write(f"{'holds ' if holds else 'BROKEN'}  {policy}: {what}\n")
    return 0 if all(holds for *_, holds in checked) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", required=True, help="command that serves the model in the foreground")
    parser.add_argument("--url", required=True, help="its base URL, as http://127.0.0.1:8001/v1")
    parser.add_argument("--model", required=True, help="as the server names it")
    parser.add_argument("--policies", nargs="+", choices=("wait", "degrade"), default=("wait", "degrade"))
    parser.add_argument("--chunks", type=int, default=500)
    parser.add_argument("--most-words", type=int, default=150, help="of a chunk; fewer for a slow model")
    parser.add_argument("--rate", type=float, default=2.0, help="chunks a second")
    parser.add_argument("--context-words", type=int, default=120, help="earlier speech shown with a request")
    parser.add_argument("--how", choices=("kill", "freeze"), default="kill")
    parser.add_argument("--down", type=float, default=60.0, help="seconds")
    parser.add_argument("--bound", type=float, default=30.0, help="seconds for a chunk with policy degrade")
    parser.add_argument("--request-timeout", type=float, default=120.0)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with calls_dev.jsonl")
    parser.add_argument("--out", type=Path, help="write the page there too")
    sys.exit(asyncio.run(main(parser.parse_args())))
