"""Dead letters back to the topics they came from, byte for byte."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from aiokafka import AIOKafkaProducer

from clearcall.infra.clickhouse import LetterFilter
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.schemas import DeadLetter, DecodeError, Topic, decode
from clearcall.streams.topic_reader import read_topic

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Resent:
    """Ids of what was sent again, and of what cannot be, since the letter holds only a part of the message."""

    sent: tuple[str, ...]
    truncated: tuple[str, ...]


async def letters_on_topic(settings: Settings, wanted: LetterFilter, most: int) -> list[DeadLetter]:
    """As ``stored_letters``, from the dead-letter topic: where there is no database, or not yet all in it.

    Raises:
        KafkaError: the cluster cannot be reached.
    """
    found: dict[tuple[str, str], DeadLetter] = {}
    async for record in read_topic(settings, Topic.DEAD_LETTERS):
        try:
            letter = decode(DeadLetter, record.value)
        except DecodeError as error:
            log.warning("dead_letter.unreadable", offset=record.offset, reason=error.reason)
            continue
        if wanted.takes(letter):
            found[letter.message_id, letter.stage] = letter
    return sorted(found.values(), key=lambda letter: (letter.died_at, letter.message_id, letter.stage))[:most]


async def resend(settings: Settings, letters: Sequence[DeadLetter]) -> Resent:
    """Send the original key, value and headers to the original topic and partition.

    A message that two stages refused is sent once. Sent twice it does no harm: its rows' ids are a function of its
    content's place.

    Raises:
        KafkaError: the cluster is away or refuses; what was sent before stays sent.
    """
    whole = {letter.message_id: letter for letter in letters if not letter.truncated}
    truncated = tuple(dict.fromkeys(letter.message_id for letter in letters if letter.truncated))
    if not whole:
        return Resent((), truncated)
    producer = AIOKafkaProducer(**client_arguments(settings), acks="all")
    try:
        await producer.start()
        acks = [await _send(producer, letter) for letter in whole.values()]
        await asyncio.gather(*acks)
    finally:
        await producer.stop()
    return Resent(tuple(whole), truncated)


async def _send(producer: AIOKafkaProducer, letter: DeadLetter) -> "asyncio.Future[object]":
    partitions = await producer.partitions_for(letter.topic)
    ack: asyncio.Future[object] = await producer.send(
        letter.topic,
        key=original(letter.record_key),
        value=original(letter.record_value),
        headers=[(name, original(value)) for name, value in letter.record_headers],
        partition=letter.partition if letter.partition in partitions else None,
    )
    return ack


def original(content: str | None) -> bytes | None:
    """The bytes that a letter holds in base64; ``None`` is Kafka's null."""
    return None if content is None else base64.b64decode(content)
