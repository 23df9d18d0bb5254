"""A topic of chunks to write, topics to read whole, and workers as processes."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import SECRETS, Settings
from clearcall.schemas import Chunk, DeadLetter, Draft, Topic, decode, encode

Raw = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]


def chunks(calls: int, each: int, text: str = "hello") -> list[Chunk]:
    return [
        Chunk(call_id=f"call{call}", chunk_id=number, speaker=0, text=text)
        for number in range(each)
        for call in range(calls)
    ]


async def write(settings: Settings, topic: Topic, records: Sequence[Chunk | Raw]) -> None:
    producer = AIOKafkaProducer(**client_arguments(settings), max_request_size=1_048_588)
    await producer.start()
    try:
        sends = []
        for record in records:
            key, value, headers = (record.key.encode(), encode(record), []) if isinstance(record, Chunk) else record
            sends.append(await producer.send(settings.topic_prefix + topic, value, key, headers=headers))
        await asyncio.gather(*sends)
    finally:
        await producer.stop()


async def read(settings: Settings, topic: Topic, *, wait_for: Any, seconds: float = 60) -> list[Any]:
    """All messages of ``topic`` once ``wait_for(messages)`` holds; fails after ``seconds``."""
    consumer = AIOKafkaConsumer(
        settings.topic_prefix + topic, **client_arguments(settings), auto_offset_reset="earliest"
    )
    await consumer.start()
    found: list[Any] = []
    try:
        async with asyncio.timeout(seconds):
            while not wait_for(found):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [(decode(topic.message_type, record.value), record) for record in records]
    except TimeoutError:
        raise AssertionError(f"{len(found)} messages on {topic} after {seconds} s, not what was waited for") from None
    finally:
        await consumer.stop()
    return found


async def written(settings: Settings, topic: Topic) -> int:
    """How many messages were ever written to ``topic``."""
    async with AIOKafkaConsumer(**client_arguments(settings)) as consumer:
        places = [TopicPartition(settings.topic_prefix + topic, number) for number in range(settings.partitions)]
        return sum((await consumer.end_offsets(places)).values())


async def drafts(settings: Settings, wanted: Sequence[Chunk], seconds: float = 60) -> list[Draft]:
    """All drafts once every chunk of ``wanted`` has at least one."""
    ids = {chunk.message_id for chunk in wanted}
    found = await read(
        settings,
        Topic.DRAFTS,
        wait_for=lambda all_: ids <= {message.chunk.message_id for message, _ in all_},
        seconds=seconds,
    )
    return [message for message, _ in found]


async def dead_letters(settings: Settings, number: int) -> list[DeadLetter]:
    found = await read(settings, Topic.DEAD_LETTERS, wait_for=lambda all_: len(all_) >= number)
    return [message for message, _ in found]


def in_order(messages: Sequence[Draft]) -> bool:
    """Within each call, the first draft of each chunk comes after the first one of every earlier chunk."""
    seen: dict[str, list[int]] = {}
    for message in messages:
        numbers = seen.setdefault(message.chunk.call_id, [])
        if message.chunk.chunk_id not in numbers:
            numbers.append(message.chunk.chunk_id)
    return all(numbers == sorted(numbers) for numbers in seen.values())


def environment(settings: Settings) -> dict[str, str]:
    """The settings that are not defaults, as variables; no secrets."""
    given = settings.model_dump(mode="json", exclude_defaults=True, exclude=set(SECRETS))
    return {
        f"CLEARCALL_{name.upper()}": json.dumps(value) if isinstance(value, list) else str(value)
        for name, value in given.items()
    }


@asynccontextmanager
async def worker(settings: Settings, *, delay: float = 0.0) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process of the echo stage; killed at the end if it is still there."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("echo_agent.py")),
        env=os.environ | environment(settings) | {"ECHO_DELAY": str(delay)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def pipeline(settings: Settings) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process of all stages; killed at the end if it is still there."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "clearcall", "worker", "--stage", "all"),
        env=os.environ | environment(settings) | {"CLEARCALL_DB_PASSWORD": settings.db_password.get_secret_value()},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until(found: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for what only asking again and again can tell."""
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(found):  # noqa: ASYNC110 - another process is asked
            await asyncio.sleep(0.2)
