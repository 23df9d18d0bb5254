"""Calls as a recogniser sends them, poison among them; every record's place is known."""

import asyncio
import random
from dataclasses import dataclass, field
from itertools import count

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from chaos_database import now

from clearcall.schemas import Chunk, Topic, encode

Place = tuple[str, int, int]
"""Topic without prefix, partition, offset."""

_SPEECH = """
the brake pads squeak when it rains and um my wife says uh it pulls to the left so could you look at that on tuesday
morning please we are open from eight until five and it will take about two hours to change the oil filter and the
front tyres are fine but the battery is old
"""
_WORDS = _SPEECH.split()
_CALL_CHUNKS = 40
_POISON_EVERY = 100
_AGAIN_SECONDS = 0.5

_BAD_HEADER = [("schema", b"clearcall.chunk/99")]
_POISONS: tuple[tuple[Topic, bytes | None, list[tuple[str, bytes]]], ...] = (
    (Topic.CHUNKS, b"\xff\x00 no json", []),
    (Topic.CHUNKS, None, []),
    (Topic.CHUNKS, b'{"call_id": "p", "speaker": 0}', []),
    (Topic.CHUNKS, b'{"call_id": "p", "chunk_id": 0, "speaker": 0, "text": "of another time"}', _BAD_HEADER),
    (Topic.CHUNKS, b"[" * 5000, []),
    (Topic.CHUNKS, b'{"call_id": "p", "chunk_id": 1e400, "speaker": -1, "text": 7}', []),
    (Topic.DRAFTS, b"{}", []),
    (Topic.CORRECTIONS, b"null", [("iteration", b"1")]),
    (Topic.EVALUATIONS, b'"evaluation"', []),
)


@dataclass
class Sent:
    """What was sent: when each chunk was confirmed, its text, and where the poison lies."""

    at: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    poison: set[Place] = field(default_factory=set)
    again: int = 0
    """Sends that failed and were made again: that chunk may be on its topic twice."""


class Traffic:
    """``calls`` side by side, together ``rate`` chunks a second."""

    def __init__(self, kafka: str, prefix: str, source: random.Random, *, rate: float, calls: int = 32) -> None:
        self._kafka = kafka
        self._prefix = prefix
        self._random = source
        self._rest = calls / rate
        self._calls = calls
        self._numbers = count()
        self._records = count(1)
        self._over = asyncio.Event()
        self.sent = Sent()

    async def run(self) -> None:
        """Send until ``end``, and then what was begun."""
        # No batch may expire while a broker is away: an idempotent producer then keeps order and sends nothing twice.
        async with AIOKafkaProducer(
            bootstrap_servers=self._kafka, enable_idempotence=True, request_timeout_ms=180_000, linger_ms=5
        ) as producer:
            await asyncio.gather(
                *(self._line(producer, random.Random(self._random.random())) for _ in range(self._calls))
            )

    def end(self) -> None:
        """Begin no more chunks."""
        self._over.set()

    async def _line(self, producer: AIOKafkaProducer, source: random.Random) -> None:
        """One call after the other."""
        await asyncio.sleep(source.uniform(0, self._rest))
        while not self._over.is_set():
            call = f"call-{next(self._numbers)}"
            for number in range(source.randint(2, _CALL_CHUNKS)):
                if self._over.is_set():
                    return
                await self._chunk(
                    producer, Chunk(call_id=call, chunk_id=number, speaker=number % 2, text=_said(source))
                )
                if next(self._records) % _POISON_EVERY == 0:
                    await self._poison(producer, call, source)
                await asyncio.sleep(self._rest * source.uniform(0.5, 1.5))

    async def _chunk(self, producer: AIOKafkaProducer, chunk: Chunk) -> None:
        place = await self._send(producer, Topic.CHUNKS, chunk.call_id, encode(chunk), [])
        self.sent.texts[chunk.message_id] = chunk.text
        self.sent.partitions[chunk.message_id] = place[1]
        self.sent.at[chunk.message_id] = now()

    async def _poison(self, producer: AIOKafkaProducer, call: str, source: random.Random) -> None:
        topic, value, headers = source.choice(_POISONS)
        self.sent.poison.add(await self._send(producer, topic, call, value, headers))

    async def _send(
        self, producer: AIOKafkaProducer, topic: Topic, key: str, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> Place:
        while True:
            try:
                done = await producer.send_and_wait(self._prefix + topic, value, key.encode(), headers=headers)
            except KafkaError:
                self.sent.again += 1
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return str(topic), done.partition, done.offset


def _said(source: random.Random) -> str:
    """A stretch of speech; now and then nothing but a filler."""
    if source.random() < 0.05:
        return "um uh"
    start = source.randrange(len(_WORDS))
    return " ".join((_WORDS * 2)[start : start + source.randint(4, 30)])
