"""Dead letters sent again and history scored again, on a real Kafka."""

import asyncio
import base64
from collections.abc import Sequence
from contextlib import closing

import pytest
from aiokafka import AIOKafkaProducer

from clearcall.infra.clickhouse import LetterFilter, connect
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Chunk,
    Cleaned,
    ConsultantInfo,
    DeadLetter,
    Draft,
    Evaluation,
    Message,
    Outcome,
    Topic,
    decode,
    encode,
)
from clearcall.streams.records import Record
from clearcall.streams.replay import rescore
from clearcall.streams.resend import letters_on_topic, resend
from clearcall.streams.topic_reader import read_topic
from clearcall.streams.topics import create_topics
from clearcall.streams.worker import running
from clickhouse_samples import dead_letter

pytestmark = pytest.mark.integration

Headers = Sequence[tuple[str, bytes | None]]


async def put(settings: Settings, topic: Topic, *values: bytes | Message) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka, acks="all")
    await producer.start()
    try:
        for value in values:
            content = value if isinstance(value, bytes) else encode(value)
            await producer.send_and_wait(settings.topic_prefix + topic, content, key=b"a")
    finally:
        await producer.stop()


async def records(settings: Settings, topic: Topic) -> list[Record]:
    return [record async for record in read_topic(settings, topic)]


def letter(settings: Settings, offset: int, value: bytes | None, *, truncated: bool = False) -> DeadLetter:
    changes = {
        "topic": settings.topic_prefix + Topic.CORRECTIONS,
        "partition": 3,
        "record_value": None if value is None else base64.b64encode(value).decode(),
        "truncated": truncated,
    }
    return DeadLetter.model_validate(dead_letter(offset).model_dump() | changes)


def draft(call: str, iteration: int, text: str) -> Draft:
    return Draft(
        chunk=Chunk(call_id=call, chunk_id=0, speaker=1, text="um the brakes squeak when i stop at the lights"),
        iteration=iteration,
        outcome=Outcome.ANSWERED,
        cleaned=text,
        consultant=ConsultantInfo(backend="openai", model="qwen", prompt_version="3"),
        drafted_at=1_700_000_000.0,
    )


async def test_a_dead_letter_goes_back_byte_for_byte_to_its_topic_and_partition(settings: Settings) -> None:
    await create_topics(settings)
    letters = [letter(settings, 1, b"\xff\x00"), letter(settings, 2, None), letter(settings, 3, b"cut", truncated=True)]
    await put(settings, Topic.DEAD_LETTERS, *letters, b"not a dead letter")
    found = await letters_on_topic(settings, LetterFilter(reason="not_json"), 10)
    assert found == letters

    resent = await resend(settings, found)
    assert resent.sent == (letters[0].message_id, letters[1].message_id)
    assert resent.truncated == (letters[2].message_id,)

    back = await records(settings, Topic.CORRECTIONS)
    assert [(record.key, record.value, record.partition.number) for record in back] == [
        (b"c1", b"\xff\x00", 3),
        (b"c1", None, 3),
    ]
    assert list(back[0].headers) == [("iteration", b"1"), ("empty", None)]


async def test_dead_letters_sent_again_twice_end_as_one_row_each(settings: Settings) -> None:
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    await create_topics(settings)
    died = [Chunk(call_id="a", chunk_id=number, speaker=0, text="um the brakes squeak") for number in range(3)]
    place = {"topic": settings.topic_prefix + Topic.CHUNKS, "partition": 1, "record_headers": []}
    letters = [
        DeadLetter.model_validate(letter(settings, number, encode(chunk)).model_dump() | place)
        for number, chunk in enumerate(died)
    ]
    async with running(["all"], settings) as stages:
        for _ in range(2):
            assert len((await resend(settings, letters)).sent) == 3
        async with asyncio.timeout(60):
            wanted = {"consultant": 6, "evaluator": 6, "sink": 12}
            while {stage.name: stage.counters.finished for stage in stages} != wanted:  # noqa: ASYNC110 - counters have no event
                await asyncio.sleep(0.1)
    with closing(connect(settings)) as database:
        [found] = database.rows("SELECT count() AS rows, uniqExact(chunk_id) AS chunks FROM cleaned_current")
    assert found == {"rows": 3, "chunks": 3}


async def test_dead_letters_on_the_topic_are_filtered_and_bounded(settings: Settings) -> None:
    await create_topics(settings)
    await put(settings, Topic.DEAD_LETTERS, *(letter(settings, offset, b"x") for offset in range(5)))
    wanted = LetterFilter(ids=(letter(settings, 2, b"x").message_id,))
    assert [each.offset for each in await letters_on_topic(settings, wanted, 10)] == [2]
    assert len(await letters_on_topic(settings, LetterFilter(), 3)) == 3
    assert await letters_on_topic(settings, LetterFilter(stage="sink"), 3) == []


async def test_history_is_scored_again_without_corrections_and_a_dry_run_sends_nothing(settings: Settings) -> None:
    await create_topics(settings)
    faithful, invented = "The brakes squeak when I stop at the lights.", "We are open from nine to five on Fridays."
    await put(settings, Topic.DRAFTS, draft("a", 0, invented), draft("a", 1, faithful), b"{}", draft("b", 0, invented))

    dry = await rescore(settings, dry_run=True)
    assert (dry.drafts, dry.unreadable, dry.evaluations) == (3, 1, 3)
    assert await records(settings, Topic.CLEANED) == []

    done = await rescore(settings)
    assert done.statuses == {"corrected": 1, "restored": 1}
    ended = [decode(Cleaned, record.value) for record in await records(settings, Topic.CLEANED)]
    assert sorted((each.chunk.call_id, str(each.status)) for each in ended) == [("a", "corrected"), ("b", "restored")]
    scored = [decode(Evaluation, record.value) for record in await records(settings, Topic.EVALUATIONS)]
    assert sorted(each.message_id for each in scored) == ["a/0/0", "a/0/1", "b/0/0"]
    assert await records(settings, Topic.CORRECTIONS) == []

    assert (await rescore(settings, call="b", dry_run=True)).statuses == {"restored": 1}


async def test_a_topic_with_nothing_on_it_is_read_to_its_end(settings: Settings) -> None:
    await create_topics(settings)
    assert await records(settings, Topic.DRAFTS) == []
