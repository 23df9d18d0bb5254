"""Reads all that a run left: every topic from its beginning, every table, every group's offsets."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from chaos_database import Rows
from chaos_traffic import Place
from chaos_verify import End, Evidence, Letter, Step
from chaos_workers import STAGES

from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Cleaned,
    Correction,
    DeadLetter,
    Draft,
    Evaluation,
    Message,
    Topic,
    decode,
    parse_iteration,
)
from clearcall.streams.stages import STAGES as KNOWN

M = TypeVar("M", bound=Message)

_ENDS = """
SELECT concat(call_id, '/', toString(chunk_id)) AS chunk, text, status, toUnixTimestamp64Milli(cleaned_at) AS at
FROM cleaned
"""


@dataclass(frozen=True)
class Reader:
    """The topics of one deployment, past all poison."""

    settings: Settings
    poison: frozenset[Place]

    async def read(self, topic: Topic, kind: type[M]) -> Sequence[tuple[M, int | None]]:
        """Every message with its iteration header, each partition in order."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self.settings.kafka, auto_offset_reset="earliest")
        await consumer.start()
        try:
            places = [
                TopicPartition(self.settings.topic_prefix + topic, number) for number in range(self.settings.partitions)
            ]
            consumer.assign(places)
            ends = await consumer.end_offsets(places)
            found: list[tuple[M, int | None]] = []
            while any([await consumer.position(place) < end for place, end in ends.items()]):
                for place, records in (await consumer.getmany(timeout_ms=500)).items():
                    found += [
                        (decode(kind, record.value), parse_iteration(record.headers))
                        for record in records
                        if (topic, place.partition, record.offset) not in self.poison
                    ]
            return found
        finally:
            await consumer.stop()

    async def gather(self, rows: Rows) -> Evidence:
        """Everything but the workers' last hour."""
        prefix = self.settings.topic_prefix
        letters = [_letter(letter, prefix) for letter, _ in await self.read(Topic.DEAD_LETTERS, DeadLetter)]
        evaluations = await self.read(Topic.EVALUATIONS, Evaluation)
        corrections = await self.read(Topic.CORRECTIONS, Correction)
        cleaned = await self.read(Topic.CLEANED, Cleaned)
        stored = await asyncio.to_thread(_stored, rows, prefix)
        return Evidence(
            drafts=[_step(draft, draft.iteration) for draft, _ in await self.read(Topic.DRAFTS, Draft)],
            evaluations=[(_step(one, one.attempt.iteration), one.attempt.flagged) for one, _ in evaluations],
            # a correction without a readable header ends the loop, so that it must count as one too many
            corrections=[_step(one, 99 if iteration is None else iteration) for one, iteration in corrections],
            cleaned=[(one.chunk.call_id, one.chunk.chunk_id, len(one.attempts)) for one, _ in cleaned],
            ends=[_end(one) for one, _ in cleaned],
            letters=letters,
            cleaned_rows=stored.cleaned,
            unmerged=stored.unmerged,
            current=stored.current,
            evaluation_rows=stored.evaluations,
            fragment_rows=stored.fragments,
            letter_rows=stored.letters,
            behind=await behind(self.settings),
        )


async def behind(settings: Settings) -> dict[str, int]:
    """Per group, how many messages of its topics it has not committed."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka)
    try:
        await admin.start()
        await consumer.start()
        lags = {}
        for stage in STAGES:
            group = f"{settings.group_prefix}-{stage}"
            committed = await admin.list_consumer_group_offsets(group)
            places = [
                TopicPartition(settings.topic_prefix + topic, number)
                for topic in KNOWN[stage].topics
                for number in range(settings.partitions)
            ]
            ends = await consumer.end_offsets(places)
            lags[group] = sum(
                max(0, end - (committed[place].offset if place in committed else 0)) for place, end in ends.items()
            )
        return lags
    finally:
        await consumer.stop()
        await admin.close()


@dataclass(frozen=True)
class _Stored:
    cleaned: Sequence[tuple[str, int, str]]
    unmerged: Sequence[End]
    current: Sequence[End]
    evaluations: Sequence[Step]
    fragments: Sequence[tuple[str, int, int, int]]
    letters: Sequence[Letter]


def _stored(rows: Rows, prefix: str) -> _Stored:
    return _Stored(
        cleaned=[tuple(row.values()) for row in rows.read("SELECT call_id, chunk_id, source_text FROM cleaned FINAL")],
        unmerged=[tuple(row.values()) for row in rows.read(_ENDS)],
        current=[tuple(row.values()) for row in rows.read(f"{_ENDS} FINAL")],
        evaluations=[
            tuple(row.values()) for row in rows.read("SELECT call_id, chunk_id, iteration FROM evaluations FINAL")
        ],
        fragments=[
            tuple(row.values())
            for row in rows.read("SELECT call_id, chunk_id, iteration, fragment_id FROM fragments FINAL")
        ],
        letters=[
            (row["topic"].removeprefix(prefix), row["partition"], row["offset"], row["stage"])
            for row in rows.read("SELECT topic, partition, offset, stage FROM dead_letters FINAL")
        ],
    )


def _end(cleaned: Cleaned) -> End:
    return cleaned.message_id, cleaned.text, str(cleaned.status), round(cleaned.cleaned_at * 1000)


def _step(message: Draft | Evaluation | Correction, iteration: int) -> Step:
    return message.chunk.call_id, message.chunk.chunk_id, iteration


def _letter(letter: DeadLetter, prefix: str) -> Letter:
    return letter.topic.removeprefix(prefix), letter.partition, letter.offset, letter.stage
