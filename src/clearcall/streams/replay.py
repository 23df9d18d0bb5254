"""Score history again: kept drafts under today's threshold, guards and policy, without asking the model.

The corrections that today's rules would ask for are not asked for: a chunk's last kept draft is its last. Each task is
scored against what it was given then, and nothing is handed over again.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog
from aiokafka import AIOKafkaProducer

from clearcall.agents.panel import build
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Attempt,
    Cleaned,
    Correction,
    DecodeError,
    Draft,
    Evaluation,
    Handover,
    Headers,
    Message,
    Outcome,
    Outgoing,
    Topic,
    decode,
)
from clearcall.streams.counters import Counters
from clearcall.streams.records import Record
from clearcall.streams.retry import Backoff, Patience
from clearcall.streams.sending import Sender
from clearcall.streams.topic_reader import read_topic

log = structlog.get_logger()

_BATCH = 500

_Place = tuple[str, int, str, str]  # call_id, chunk_id, agent, task


class Judge(Protocol):
    """An evaluator."""

    def judge(self, draft: Draft, traceparent: str | None = None) -> list[Outgoing]:
        """The messages that one draft leads to."""


@dataclass(slots=True)
class Replayed:
    """What a replay did; ``statuses`` counts chunks as they end under today's rules, those of shadows left out."""

    drafts: int = 0
    unreadable: int = 0
    superseded: int = 0
    evaluations: int = 0
    statuses: dict[str, int] = field(default_factory=dict)


class Rescoring:
    """Which drafts of each chunk stand, and their scores under today's rules.

    Two passes: ``learn`` every draft in the order of its partition, then ``judge`` every draft in the same order.
    """

    def __init__(self, evaluator: Judge) -> None:
        self._evaluator = evaluator
        self._standing: dict[_Place, dict[int, int]] = {}
        self._attempts: dict[_Place, tuple[Attempt, ...]] = {}
        self._last_step: dict[tuple[str, int], int] = {}

    def learn(self, draft: Draft, offset: int) -> None:
        """A later initial response puts the chunk's earlier drafts aside: its worker died and began anew."""
        place = _place(draft)
        if draft.iteration == 0:
            self._standing[place] = {}
        self._standing.setdefault(place, {})[draft.iteration] = offset
        if not draft.track.shadow:
            self._last_step[place[:2]] = max(draft.track.step, self._last_step.get(place[:2], 0))

    def judge(self, draft: Draft, offset: int, traceparent: str | None = None) -> list[Outgoing]:
        """The evaluation, and the chunk's end where this draft is its end; nothing for a draft that does not stand."""
        place = _place(draft)
        standing = self._standing.get(place, {})
        if standing.get(draft.iteration) != offset:
            return []
        draft = draft.model_copy(update={"attempts": self._attempts.pop(place, draft.attempts)})
        outgoing = self._evaluator.judge(draft, traceparent)
        kept = self._told(draft, outgoing)
        asked = next((each.message for each in outgoing if isinstance(each.message, Correction)), None)
        if asked is None:
            del self._standing[place]  # what was drafted after this is not needed under today's rules
            return kept
        if draft.iteration < max(standing):
            self._attempts[place] = asked.attempts
            return kept
        last = draft.model_copy(update={"outcome": Outcome.BOUND_REACHED, "attempts": asked.attempts})
        return kept + self._told(draft, self._evaluator.judge(last, traceparent))

    def _told(self, draft: Draft, outgoing: Sequence[Outgoing]) -> list[Outgoing]:
        """Without what would ask a model again, and without an end where a later task's is kept."""
        left_out: tuple[type[Message], ...] = (Correction, Handover)
        if draft.track.step < self._last_step.get(_place(draft)[:2], 0):
            left_out = (*left_out, Cleaned)
        return [each for each in outgoing if not isinstance(each.message, left_out)]


async def rescore(
    settings: Settings, *, call: str | None = None, dry_run: bool = False, evaluator: Judge | None = None
) -> Replayed:
    """Read the drafts up to where their topic ends now; send evaluations and cleaned chunks, never corrections.

    Args:
        settings: where Kafka is, and today's rules.
        call: only this call.
        dry_run: score, and send nothing.
        evaluator: in place of the one that the settings describe.

    Raises:
        KafkaError: the cluster cannot be reached.
    """
    rescoring, done = Rescoring(evaluator or build(settings)), Replayed()
    async for record, draft in _drafts(settings, call, done):
        rescoring.learn(draft, record.offset)
    done.drafts = done.unreadable = 0  # the second pass counts
    async with _sending(settings, dry_run=dry_run) as send:
        waiting: list[Outgoing] = []
        async for record, draft in _drafts(settings, call, done):
            outgoing = rescoring.judge(draft, record.offset, Headers.parse(record.headers).traceparent)
            _count(done, outgoing)
            waiting += outgoing
            if len(waiting) >= _BATCH:
                await send(waiting)
                waiting = []
        await send(waiting)
    return done


async def _drafts(settings: Settings, call: str | None, done: Replayed) -> AsyncIterator[tuple[Record, Draft]]:
    async for record in read_topic(settings, Topic.DRAFTS):
        headers = Headers.parse(record.headers)
        try:
            draft = decode(Draft, record.value, headers.schema)
        except DecodeError as error:
            done.unreadable += 1
            log.warning(
                "replay.unreadable", partition=record.partition.number, offset=record.offset, reason=error.reason
            )
            continue
        if call in (None, draft.chunk.call_id):
            done.drafts += 1
            yield record, draft


@asynccontextmanager
async def _sending(
    settings: Settings, *, dry_run: bool
) -> AsyncIterator[Callable[[Sequence[Outgoing]], Awaitable[None]]]:
    async def nothing(_: Sequence[Outgoing]) -> None:
        return

    if dry_run:
        yield nothing
        return
    producer = AIOKafkaProducer(**client_arguments(settings), acks="all")
    source = random.Random()  # noqa: S311 - jitter and trace ids, no secrets

    async def produce(topic: str, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> Awaitable[Any]:
        ack: Awaitable[Any] = await producer.send(topic, value, key=key, headers=headers)
        return ack

    sender = Sender(produce, settings.topic_prefix, Patience(Backoff(), source), source, Counters())

    async def send(outgoing: Sequence[Outgoing]) -> None:
        await sender.send([sender.encode(each) for each in outgoing])

    try:
        await producer.start()
        yield send
    finally:
        await producer.stop()


def _place(draft: Draft) -> _Place:
    return draft.chunk.call_id, draft.chunk.chunk_id, draft.track.agent, draft.track.task


def _count(done: Replayed, outgoing: Sequence[Outgoing]) -> None:
    if not outgoing:
        done.superseded += 1
    for each in outgoing:
        if isinstance(each.message, Evaluation):
            done.evaluations += 1
        if isinstance(each.message, Cleaned):
            done.statuses[each.message.status] = done.statuses.get(each.message.status, 0) + 1
