"""Memory and waiting when more comes than can be handled: the figures of real workers, read from their ``/metrics``.

- slow: the model serves a tenth of what arrives; memory, lag, and the time to catch up when it is fast again;
- letters: dead letters of 600 kB into the sink;
- malformed: messages that nobody can read, one good one among a hundred;
- hot: a call of 20,000 chunks beside many small ones; how long those wait, with and without it, in its partition, where
  what was sent after it stands behind it, and in the others.

    python tests/benchmarks/bench_backpressure.py slow letters hot
    python tests/benchmarks/bench_backpressure.py malformed --messages 1000000
"""

import argparse
import asyncio
import base64
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from malformed import Raw, malformed
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.settings import SECRETS, Settings
from clearcall.schemas import Chunk, DeadLetter, Draft, Topic, decode, encode
from clearcall.streams.topics import create_topics

sys.path.append(str(Path(__file__).parents[1]))
from model_server import asked_lines, echo, serving  # the fake model server of the tests

PARTITIONS = 4
MEGABYTE = 1 << 20
WORDS = "well the inspection of the front brake costs one hundred and four dollars um and it takes about two hours"


@dataclass
class Watched:
    """A worker and what its metrics said, twice a second."""

    url: str
    seen: list[dict[str, float]] = field(default_factory=list)

    async def look(self) -> dict[str, float]:
        """Its metrics now, by name."""
        async with ClientSession() as session, session.get(self.url) as answer:
            text = await answer.text()
        now = {sample.name: sample.value for kind in text_string_to_metric_families(text) for sample in kind.samples}
        self.seen.append(now)
        return now

    async def until(self, holds: Callable[[dict[str, float]], bool], seconds: float = 300) -> float:
        """Look until it holds; gives the seconds that took."""
        start = time.monotonic()
        async with asyncio.timeout(seconds):
            while not holds(await self.look()):  # noqa: ASYNC110 - another process has no event
                await asyncio.sleep(0.5)
        return time.monotonic() - start

    def megabytes(self, what: Callable[[Sequence[float]], float]) -> float:
        """Of all resident sizes seen."""
        return what([one["process_resident_memory_bytes"] / MEGABYTE for one in self.seen])

    def most(self, name: str) -> float:
        """The largest value seen."""
        return max(one.get(f"clearcall_{name}", 0) for one in self.seen)


@asynccontextmanager
async def worker(settings: Settings, stage: str) -> AsyncIterator[Watched]:
    """A worker process, once it is ready; ended with the block."""
    own = settings.model_copy(update={"web_port": free_ports(1)[0]})
    given = own.model_dump(mode="json", exclude_defaults=True, exclude=set(SECRETS))
    variables = {f"CLEARCALL_{name.upper()}": _plain(value) for name, value in given.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "clearcall", "worker", "--stage", stage), env=os.environ | variables
    )
    watched = Watched(f"http://127.0.0.1:{own.web_port}/metrics")
    try:
        async with asyncio.timeout(60):
            while True:
                try:
                    if (await watched.look()).get("clearcall_group_member") == 1:
                        break
                except ClientError:
                    pass
                await asyncio.sleep(0.2)
        yield watched
    finally:
        process.terminate()
        await process.wait()


def _plain(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


async def send(
    settings: Settings, topic: Topic, messages: Iterator[Any], rate: float | None = None, pack: int = 100
) -> int:
    """Send all, ``pack`` at once, at most ``rate`` a second; gives how many."""
    sent, start = 0, time.monotonic()
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka, max_request_size=1_048_588, linger_ms=5) as producer:
        waiting = []
        for message in messages:
            key, value, headers = message if isinstance(message, tuple) else (message.key.encode(), encode(message), [])
            waiting.append(await producer.send(settings.topic_prefix + topic, value, key, headers=headers))
            sent += 1
            if len(waiting) == pack:
                await asyncio.gather(*waiting)
                waiting.clear()
                if rate:
                    await asyncio.sleep(max(0.0, start + sent / rate - time.monotonic()))
        await asyncio.gather(*waiting)
    return sent


def calls(name: str, number: int, each: int) -> Iterator[Chunk]:
    """Chunks of many calls, side by side."""
    for place in range(each):
        for call in range(number):
            yield Chunk(call_id=f"{name}{call}", chunk_id=place, speaker=place % 2, text=WORDS)


class Paced:
    """A model that answers at most ``rate`` chunks a second, one request after the other; 0 is as fast as it can."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._free_at = 0.0

    async def __call__(self, body: dict[str, Any]) -> Any:
        if self.rate:
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + len(asked_lines(body)) / self.rate
            await asyncio.sleep(self._free_at - now)
        return echo(body)


async def slow(settings: Settings, console: Console, *, arrival: int = 300, seconds: int = 60) -> None:
    """A model at a tenth of the arrival, which then becomes fast."""
    model = Paced(arrival / 10)
    async with serving(model) as url:
        own = {"consultant": "openai", "urls": (url,)}
        async with worker(settings.model_copy(update=own), "consultant") as watched:
            before = watched.megabytes(max)
            sending = asyncio.create_task(
                send(settings, Topic.CHUNKS, calls("slow", 60, arrival * seconds // 60), arrival)
            )
            await watched.until(lambda _: sending.done())
            sent, done = await sending, watched.seen[-1]["clearcall_messages_finished_total"]
            during = watched.megabytes(max)
            model.rate = 0
            caught_up = await watched.until(lambda now: now["clearcall_messages_finished_total"] >= sent, 600)
    console.print(
        f"slow: {sent} chunks arrived in {seconds} s, {done:.0f} handled meanwhile, "
        f"{done / sent:.1%}; "
        f"memory {before:.0f} MB at the start, {during:.0f} MB at most; "
        f"lag at most {watched.most('lag_messages'):.0f}, "
        f"in flight at most {watched.most('in_flight_messages'):.0f} messages; all handled {caught_up:.0f} s after "
        f"the model was fast again, {watched.most('dead_letters_dropped_total'):.0f} dropped"
    )


def letters(number: int) -> Iterator[DeadLetter]:
    """Dead letters with 600 kB of bytes that no compression makes smaller."""
    source = random.Random(7)
    for offset in range(number):
        yield DeadLetter(
            stage="consultant",
            reason="oversize",
            detail="too large",
            errors=(),
            topic="transcripts.chunks",
            partition=0,
            offset=offset,
            record_key=None,
            record_value=base64.b64encode(source.randbytes(600_000)).decode(),
            record_headers=(),
            record_timestamp=None,
            truncated=False,
            clearcall_version="0",
            died_at=0.0,
        )


async def large(settings: Settings, console: Console, *, number: int = 1000) -> None:
    """Dead letters of 600 kB each."""
    with tempfile.TemporaryDirectory() as folder:
        own = settings.model_copy(update={"db": f"chdb://{folder}/db"})
        sent = await send(settings, Topic.DEAD_LETTERS, letters(number))
        async with worker(own, "sink") as watched:
            before = watched.seen[0].get("process_resident_memory_bytes", 0) / MEGABYTE
            took = await watched.until(lambda now: now["clearcall_messages_finished_total"] >= sent)
    console.print(
        f"letters: {sent} of 600 kB ({sent * 0.8:.0f} MB on the topic) stored in {took:.0f} s; memory {before:.0f} MB "
        f"at the start, {watched.megabytes(max):.0f} MB at most; in flight at most "
        f"{watched.most('in_flight_bytes') / MEGABYTE:.0f} MB"
    )


def mixed(number: int) -> Iterator[Chunk | Raw]:
    """Malformed messages, and after every hundredth a good one."""
    source = random.Random(11)
    for place in range(number):
        yield malformed(source, place)
        if place % 100 == 99:
            yield Chunk(call_id=f"good{place % 700}", chunk_id=place // 100, speaker=0, text=WORDS)


async def rubbish(settings: Settings, console: Console, *, number: int = 100_000) -> None:
    """Malformed messages with good ones among them: all accounted for."""
    good = number // 100
    async with worker(settings.model_copy(update={"consultant": "rules"}), "consultant") as watched:
        before = watched.megabytes(max)
        sending = asyncio.create_task(send(settings, Topic.CHUNKS, mixed(number)))
        fifths = [await _most_memory_until(watched, (number + good) * part // 5) for part in range(1, 6)]
        await sending
    letters_there, drafts = [await _length(settings, topic) for topic in (Topic.DEAD_LETTERS, Topic.DRAFTS)]
    console.print(
        f"malformed: {number} and {good} good ones; {letters_there} dead letters, {drafts} drafts; memory {before:.0f} "
        f"MB at the start, at most in each fifth {', '.join(f'{most:.1f}' for most in fifths)} MB"
    )
    if (letters_there, drafts) != (number, good):
        raise SystemExit("some are lost or doubled")


async def _most_memory_until(watched: Watched, finished: int) -> float:
    """Megabytes at most, from now until so many messages are finished."""
    watched.seen.clear()
    await watched.until(lambda now: now["clearcall_messages_finished_total"] >= finished, 3600)
    return watched.megabytes(max)


async def _length(settings: Settings, topic: Topic) -> int:
    """Messages of a topic."""
    async with AIOKafkaConsumer(bootstrap_servers=settings.kafka) as consumer:
        places = [TopicPartition(settings.topic_prefix + topic, number) for number in range(PARTITIONS)]
        return sum((await consumer.end_offsets(places)).values())


async def hot(settings: Settings, console: Console, *, length: int = 20_000) -> None:
    """Small calls beside a hot one, and by themselves."""

    async def answer(body: dict[str, Any]) -> Any:
        await asyncio.sleep(0.1)
        return echo(body)

    async with serving(answer) as url:
        # free: whole windows, so that one call of this length ends in minutes at a tenth of a second a request
        given = settings.model_copy(update={"consultant": "openai", "urls": (url,), "decoding": "free"})
        async with worker(given, "consultant") as watched:
            for name, chunks in (("alone", 0), ("beside", length)):
                if chunks:
                    await send(settings, Topic.CHUNKS, calls(f"hot-{name}-", 1, chunks))
                sent = await send(settings, Topic.CHUNKS, calls(f"{name}-", 100, 10), rate=100)
                waits = await _waits(settings, f"{name}-", sent)
                await watched.look()
                console.print(f"hot: 100 small calls {name}{f' a call of {chunks:,} chunks' if chunks else ''}")
                for where, found in waits.items():
                    found.sort()
                    middle, late = found[len(found) // 2], found[int(len(found) * 0.99)]
                    console.print(f"  {where}: median {middle:.2f} s, p99 {late:.2f} s, of {len(found)} chunks")


async def _waits(settings: Settings, name: str, number: int) -> dict[str, list[float]]:
    """Seconds from each small chunk to its draft, by whether a hot call shares its partition."""
    topics = [settings.topic_prefix + topic for topic in (Topic.CHUNKS, Topic.DRAFTS)]
    consumer = AIOKafkaConsumer(*topics, bootstrap_servers=settings.kafka, auto_offset_reset="earliest")
    asked: dict[str, tuple[int, int]] = {}
    answered: dict[str, int] = {}
    hot_partitions: set[int] = set()
    async with consumer, asyncio.timeout(600):
        while len(answered) < number:
            for place, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    call = record.key.decode()
                    if call.startswith("hot-") and call.startswith(f"hot-{name}"):
                        hot_partitions.add(record.partition)
                    if not call.startswith(name):
                        continue
                    if place.topic == topics[0]:
                        asked[decode(Chunk, record.value).message_id] = record.timestamp, record.partition
                    else:
                        answered[decode(Draft, record.value).chunk.message_id] = record.timestamp
    waits: dict[str, list[float]] = {}
    for message_id, (start, partition) in asked.items():
        where = "in its partition" if partition in hot_partitions else "in other partitions"
        waits.setdefault(where, []).append((answered[message_id] - start) / 1000)
    return waits


PARTS: dict[str, Callable[[Settings, Console], Awaitable[None]]] = {
    "slow": slow,
    "malformed": rubbish,
    "letters": large,
    "hot": hot,
}


async def main(parts: Sequence[str], messages: int) -> None:
    """Every part on a Kafka of its own."""
    console = Console(highlight=False, width=160)
    for part in parts:
        with ApacheKafka() as broker:
            settings = Settings(kafka=broker.bootstrap, partitions=PARTITIONS, log_level="error", session_timeout=6.0)
            await create_topics(settings)
            if part == "malformed":
                await rubbish(settings, console, number=messages)
            else:
                await PARTS[part](settings, console)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=sorted(PARTS), default=sorted(PARTS))
    parser.add_argument("--messages", type=int, default=100_000, help="of malformed")
    given = parser.parse_args()
    asyncio.run(main(given.parts, given.messages))
