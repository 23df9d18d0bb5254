"""Clean the calls of a file through a pipeline of its own, and wait until every row is stored.

A run has its own topics and consumer groups (a prefix made for it), so it never mixes with a deployment on the
same cluster; both are deleted at its end. What stays is the database.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError
from aiokafka.structs import RecordMetadata

from clearcall.infra.clickhouse import Database, stored_since
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Chunk, DecodeError, Topic, decode
from clearcall.streams.calls import RawChunk
from clearcall.streams.groups import delete_groups, group_of
from clearcall.streams.progress import Progress
from clearcall.streams.running_stage import RunningStage, StageFailed
from clearcall.streams.shadow_progress import ShadowProgress
from clearcall.streams.stages import ALL, stages_of
from clearcall.streams.topics import create_topics, delete_topics
from clearcall.streams.worker import running

_POLL_SECONDS = 0.2
_FEED_GROUP = 500  # chunks sent before their confirmations are awaited
_REQUEST_BYTES = 1_048_588  # what a broker takes unless it is told otherwise
_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)


class Phase(StrEnum):
    """What a run is doing, as a person reads it."""

    STARTING = "starting the stages"
    CLEANING = "cleaning"
    SHADOWS = "waiting for the shadows"
    STORING = "waiting for the database"


Observer = Callable[[Phase, Progress], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did; ``cleaning_seconds`` from the first chunk sent to the last one's end."""

    progress: Progress
    cleaning_seconds: float


async def run_calls(settings: Settings, chunks: Sequence[RawChunk], database: Database, observe: Observer) -> RunResult:
    """Send ``chunks``, run all stages in this process until each has ended and is stored.

    A chunk that is too large for Kafka is left out, and told in the result's ``progress.refused``.

    ``database`` is that of the settings; ``observe`` is called a few times a second; it must not block.

    Raises:
        StageFailed: a stage could not start, or crashed; a server refuses the settings before anything was cleaned.
        KafkaError: the cluster cannot be reached.
    """
    progress = Progress(settings.topic_prefix, shadows=ShadowProgress(Team.of(settings).shadows))
    observe(Phase.STARTING, progress)
    since = time.time()
    async with _own_place(settings), running((ALL,), settings) as stages, _ends(settings) as ends:
        started = time.monotonic()
        feeding = asyncio.create_task(_feed(settings, chunks, progress))
        try:
            await _follow(ends, feeding, progress, observe, stages)
            await _follow_shadows(ends, settings.request_timeout, progress, observe)
        finally:
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await feeding
        cleaning_seconds = time.monotonic() - started
        await _stored(database, progress, since, observe)
    return RunResult(progress, cleaning_seconds)


@asynccontextmanager
async def _own_place(settings: Settings) -> AsyncIterator[None]:
    """The run's topics, deleted with its groups at the end."""
    try:
        await create_topics(settings)
        yield
    finally:
        await delete_topics(settings)
        with suppress(KafkaError):  # a broker that cannot: they expire by themselves
            await delete_groups(settings, [group_of(settings, stage) for stage in stages_of(settings)])


@asynccontextmanager
async def _ends(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """A reader of the topics on which a chunk can end, from their beginning, in no group."""
    topics = (Topic.CLEANED, Topic.DEAD_LETTERS, *((Topic.EVALUATIONS,) if Team.of(settings).shadows else ()))
    consumer = AIOKafkaConsumer(**client_arguments(settings), auto_offset_reset="earliest")
    try:
        await consumer.start()
        consumer.assign(
            [
                TopicPartition(settings.topic_prefix + topic, partition)
                for topic in topics
                for partition in range(settings.partitions)
            ]
        )
        yield consumer
    finally:
        await consumer.stop()


async def _feed(settings: Settings, chunks: Sequence[RawChunk], progress: Progress) -> None:
    """Send all chunks in order, a group at a time, noting the place of each."""
    topic = settings.topic_prefix + Topic.CHUNKS
    producer = AIOKafkaProducer(**client_arguments(settings), acks="all", max_request_size=_REQUEST_BYTES)
    try:
        await producer.start()
        for first in range(0, len(chunks), _FEED_GROUP):
            group = chunks[first : first + _FEED_GROUP]
            sends = [await _send(producer, topic, chunk) for chunk in group]
            for chunk, sent in zip(group, await asyncio.gather(*sends, return_exceptions=True), strict=True):
                if isinstance(sent, _TOO_LARGE):
                    progress.refused.append((chunk.name, str(sent)))
                elif isinstance(sent, BaseException):
                    raise sent
                else:
                    progress.add((sent.partition, sent.offset), _message_id(chunk.value))
    finally:
        await producer.stop()


async def _send(producer: AIOKafkaProducer, topic: str, chunk: RawChunk) -> asyncio.Future[RecordMetadata]:
    """What will be known of the record; the client's own refusal of its size is told there too."""
    key = None if chunk.call_id is None else chunk.call_id.encode("utf-8", "replace")
    try:
        sent: asyncio.Future[RecordMetadata] = await producer.send(topic, chunk.value, key)
    except _TOO_LARGE as error:
        sent = asyncio.get_running_loop().create_future()
        sent.set_exception(error)
    return sent


def _message_id(value: bytes) -> str | None:
    try:
        return decode(Chunk, value).message_id
    except DecodeError:
        return None


async def _follow(
    ends: AIOKafkaConsumer,
    feeding: asyncio.Task[None],
    progress: Progress,
    observe: Observer,
    stages: Sequence[RunningStage],
) -> None:
    while not (feeding.done() and progress.ended == progress.sent):
        if feeding.done():
            feeding.result()
        await _read(ends, progress)
        observe(Phase.CLEANING, progress)
        if (refused := _refused(stages)) and not progress.cleaned:
            raise StageFailed(refused)


def _refused(stages: Sequence[RunningStage]) -> str:
    """What a server that is needed says to the settings; empty where none refuses them."""
    refusals = (stage.counters.misconfigured for stage in stages if not stage.aside)
    return next(filter(None, refusals), "")


async def _follow_shadows(ends: AIOKafkaConsumer, patience: float, progress: Progress, observe: Observer) -> None:
    """Wait until the shadows are done as well; given up once nothing came of them for ``patience`` seconds."""
    ended, since = progress.shadows.ended, time.monotonic()
    while progress.shadows.left() and time.monotonic() - since < patience:
        await _read(ends, progress)
        observe(Phase.SHADOWS, progress)
        if progress.shadows.ended > ended:
            ended, since = progress.shadows.ended, time.monotonic()


async def _read(ends: AIOKafkaConsumer, progress: Progress) -> None:
    """What has ended meanwhile."""
    kinds = {
        Topic.CLEANED: progress.on_cleaned,
        Topic.DEAD_LETTERS: progress.on_dead_letter,
        Topic.EVALUATIONS: progress.on_evaluation,
    }
    batches = await ends.getmany(timeout_ms=int(_POLL_SECONDS * 1000))
    for partition, records in batches.items():
        end = kinds[Topic(partition.topic.removeprefix(progress.prefix))]
        for record in records:
            end(record.value)


async def _stored(database: Database, progress: Progress, since: float, observe: Observer) -> None:
    """Wait until the database has every row of this run."""
    wanted = (progress.cleaned, progress.evaluations + progress.shadows.evaluations, progress.dead)
    while any(have < want for have, want in zip(await stored_since(database, since), wanted, strict=True)):
        observe(Phase.STORING, progress)
        await asyncio.sleep(_POLL_SECONDS)
