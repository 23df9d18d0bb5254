"""A stage without Kafka: records in, what was sent out, time that passes only when told."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clearcall.agents.protocol import Agent
from clearcall.schemas import Chunk, Cleaned, ConsultantInfo, Incoming, Outgoing, Status, Topic, encode
from clearcall.streams.counters import Counters
from clearcall.streams.in_batches import InBatches
from clearcall.streams.limit import DeadLetterLimit, Tally
from clearcall.streams.ordered import Ordered
from clearcall.streams.per_key import Lane, PerKey
from clearcall.streams.records import Partition, Record
from clearcall.streams.retry import Backoff, Patience
from clearcall.streams.room import Room
from clearcall.streams.sending import Produce, Sender
from clearcall.streams.settling import Settling

NO_LIMIT = DeadLetterLimit(run=1_000_000_000, window=1_000_000_000, unreadable_window=1_000_000_000)
CHUNKS = Partition("transcripts.chunks", 0)
INFO = ConsultantInfo(backend="echo", model="none", prompt_version="1")


def chunk(call_id: str = "call", chunk_id: int = 0, text: str = "hello") -> Chunk:
    return Chunk(call_id=call_id, chunk_id=chunk_id, speaker=0, text=text)


def record(
    offset: int,
    message: Chunk | None = None,
    *,
    partition: Partition = CHUNKS,
    topic: Topic = Topic.CHUNKS,
    **given: Any,
) -> Record:
    """A chunk's record; ``given`` replaces its key, value, headers or timestamp."""
    message = message or chunk(chunk_id=offset)
    return Record(topic, partition, offset, **{"key": message.key.encode(), "value": encode(message), **given})


def cleaned(message: Chunk) -> Outgoing:
    return Outgoing(
        Topic.CLEANED,
        Cleaned(
            chunk=message,
            text=message.text,
            status=Status.CLEAN,
            iteration=0,
            consultant=INFO,
            mode="strict",
            threshold=80,
            clearcall_version="0",
            cleaned_at=0,
        ),
    )


async def echo(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
    return [cleaned(incoming.message) for incoming in batch]


@dataclass
class FakeKafka:
    """Keeps what was produced; ``failures`` are raised first, one a message."""

    sent: list[tuple[str, bytes, bytes, list[tuple[str, bytes]]]] = field(default_factory=list)
    failures: list[Exception | None] = field(default_factory=list)
    held: asyncio.Event | None = None

    async def produce(self, topic: str, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> Awaitable[None]:
        failure = self.failures.pop(0) if self.failures else None
        return asyncio.ensure_future(self._arrive((topic, key, value, headers), failure))

    async def _arrive(
        self, message: tuple[str, bytes, bytes, list[tuple[str, bytes]]], failure: Exception | None
    ) -> None:
        if failure is not None:
            raise failure
        if self.held is not None:
            await self.held.wait()
        self.sent.append(message)

    def topics(self) -> list[str]:
        return [topic for topic, *_ in self.sent]


@dataclass
class Time:
    """Seconds that pass when something sleeps; every sleep ends at the next turn of the loop."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Bench:
    """The runtime of one stage over fakes."""

    kafka: FakeKafka
    time: Time
    counters: Counters
    patience: Patience
    settling: Settling
    ordered: Ordered


def bench(
    handler: Agent[Any] = echo,
    *,
    retries: int = 2,
    in_flight: int = 100,
    in_flight_bytes: int = 1_000_000_000,
    limit_of_letters: DeadLetterLimit | None = None,
    weight: Callable[[Any], int] = lambda _message: 1,
    limit: int = 1,
    rows: int | None = None,
    size: int = 1_000_000_000,
    seconds: float = 1.0,
    batch_sleep: Callable[[float], Awaitable[None]] | None = None,
    produce: Produce | None = None,
) -> Bench:
    kafka, time, counters = FakeKafka(), Time(), Counters()
    source = random.Random(7)
    patience = Patience(Backoff(), source, time.sleep)
    sender = Sender(produce or kafka.produce, "", patience, source, counters)
    settling = Settling(
        "consultant",
        sender,
        patience,
        counters,
        Tally(limit_of_letters or NO_LIMIT),
        retries=retries,
        clock=time.clock,
        now=lambda: 1_700_000_000.0,
    )

    def shape(finish: Any) -> Any:
        if rows is not None:
            return InBatches(
                handler, settling, finish, rows=rows, size=size, seconds=seconds, sleep=batch_sleep or time.sleep
            )
        lane = Lane(handler, weight, limit)
        return PerKey(dict.fromkeys(Topic, lane), settling, finish)

    ordered = Ordered(shape, settling, patience, counters, room=Room(in_flight, in_flight_bytes), clock=time.clock)
    return Bench(kafka, time, counters, patience, settling, ordered)


async def until(condition: Callable[[], bool], turns: int = 10_000) -> None:
    """Let the loop turn until ``condition`` holds; fails after ``turns``, so no test hangs or depends on time."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")
