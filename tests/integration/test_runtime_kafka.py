"""The runtime on a real Kafka, with an agent that copies."""

import asyncio
import base64
import signal
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.record.util import calc_crc32c
from echo_agent import STAGE
from runtime_kafka import chunks, dead_letters, drafts, in_order, read, worker, write

from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Topic, encode
from clearcall.streams.last_resort import EXIT_STALLED
from clearcall.streams.running_stage import StageFailed, StageStalled
from clearcall.streams.topics import create_topics, delete_topics, list_topics
from clearcall.streams.worker import EXIT_STOPPED, running

pytestmark = pytest.mark.integration


@pytest.fixture
async def quick(settings: Settings) -> AsyncIterator[Settings]:
    """The topics exist; a dead worker is noticed soon."""
    settings = settings.model_copy(update={"session_timeout": 6.0, "drain_timeout": 5.0, "retries": 2})
    await create_topics(settings)
    yield settings
    await delete_topics(settings)


async def committed(settings: Settings, group: str, topic: Topic) -> int:
    """The sum of the group's committed offsets, read as a stranger would."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka, group_id=settings.group_prefix + group)
    await consumer.start()
    try:
        places = [TopicPartition(settings.topic_prefix + topic, number) for number in range(settings.partitions)]
        consumer.assign(places)
        return sum([await consumer.committed(place) or 0 for place in places])
    finally:
        await consumer.stop()


async def test_every_chunk_becomes_one_draft_in_its_calls_order_and_all_is_committed(quick: Settings) -> None:
    given = chunks(calls=7, each=20)
    await write(quick, Topic.CHUNKS, given)
    async with running([STAGE], quick) as (stage,):
        found = await drafts(quick, given)
        assert stage.counters.dead_lettered == 0
    assert Counter(one.chunk.message_id for one in found) == Counter(one.message_id for one in given)
    assert in_order(found)
    assert await committed(quick, "-echo", Topic.CHUNKS) == len(given)


async def test_what_was_fetched_while_a_group_formed_anew_is_fetched_again_though_nothing_was_committed(
    quick: Settings,
) -> None:
    """Faust stops the flow, throws away what still comes, and seeks back."""
    given = chunks(calls=12, each=3)
    async with running([STAGE], quick) as (stage,):
        consumer = stage.app.guarded
        consumer.stop_flow()
        await write(quick, Topic.CHUNKS, given)
        fetch = partial(consumer._thread._ensure_consumer().getmany, timeout_ms=500)
        thrown_away: set[tuple[int, int]] = set()
        async with asyncio.timeout(60):
            while len(thrown_away) < len(given):
                for place, records in (await consumer._thread.call_thread(fetch)).items():
                    thrown_away |= {(place.partition, record.offset) for record in records}
        await consumer.perform_seek()
        consumer.resume_flow()
        await drafts(quick, given)


async def test_headers_travel_with_the_message(quick: Settings) -> None:
    trace = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    one = Chunk(call_id="a", chunk_id=0, speaker=0, text="hello")
    await write(quick, Topic.CHUNKS, [(b"a", encode(one), [("traceparent", trace)])])
    async with running([STAGE], quick):
        [(_, sent)] = await read(quick, Topic.DRAFTS, wait_for=lambda found: len(found) == 1)
    assert sent.key == b"a"
    assert dict(sent.headers) == {"message-id": b"a/0/0", "schema": b"clearcall.draft/2", "traceparent": trace}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_records_that_their_sender_compressed_are_read(quick: Settings, codec: str) -> None:
    given = chunks(calls=2, each=3)
    async with AIOKafkaProducer(bootstrap_servers=quick.kafka, compression_type=codec) as producer:
        for one in given:
            await producer.send_and_wait(quick.topic_prefix + Topic.CHUNKS, encode(one), one.key.encode())
    async with running([STAGE], quick):
        await drafts(quick, given)


async def test_a_header_name_that_is_no_text_does_not_stand_in_the_way(quick: Settings) -> None:
    """No producer in Python writes it; those in other languages do."""
    given = chunks(calls=1, each=3)
    async with AIOKafkaProducer(bootstrap_servers=quick.kafka) as producer:
        batch = producer.create_batch()
        for one in given:
            batch.append(key=b"a", value=encode(one), timestamp=1, headers=[("badname", b"x")])
        content = bytes(batch._build()).replace(b"badname", b"\xff\xfedname")
        batch._buffer = bytearray(content[:17] + calc_crc32c(content[21:]).to_bytes(4, "big") + content[21:])
        await (await producer.send_batch(batch, quick.topic_prefix + Topic.CHUNKS, partition=0))
    async with running([STAGE], quick) as (stage,):
        await drafts(quick, given)
    assert stage.counters.dead_lettered == 0


async def test_bad_records_are_dead_lettered_with_their_bytes_and_the_good_ones_among_them_go_on(
    quick: Settings,
) -> None:
    good = chunks(calls=3, each=2)
    huge = b"x" * 1_048_000
    await write(quick, Topic.CHUNKS, [*good[:3], (b"a", b"not json", []), (b"a", None, []), (None, b"[]", [])])
    await write(quick, Topic.CHUNKS, [(b"b", huge, []), *good[3:]])
    async with running([STAGE], quick):
        letters = await dead_letters(quick, 4)
        await drafts(quick, good)
    assert Counter(letter.reason for letter in letters) == Counter(["not_json", "tombstone", "wrong_shape", "oversize"])
    by_reason = {letter.reason: letter for letter in letters}
    assert base64.b64decode(by_reason["not_json"].record_value or "") == b"not json"
    assert by_reason["tombstone"].record_value is None
    assert by_reason["wrong_shape"].record_key is None
    assert by_reason["oversize"].truncated
    assert await committed(quick, "-echo", Topic.CHUNKS) == len(good) + 4


async def test_the_markers_of_transactions_leave_no_lag(quick: Settings) -> None:
    given = chunks(calls=3, each=4)
    producer = AIOKafkaProducer(bootstrap_servers=quick.kafka, transactional_id=quick.group_prefix)
    await producer.start()
    for one in given:
        async with producer.transaction():
            await producer.send_and_wait(quick.topic_prefix + Topic.CHUNKS, encode(one), one.key.encode())
    await producer.stop()
    async with running([STAGE], quick) as (stage,):
        await drafts(quick, given)
        async with asyncio.timeout(30):
            while stage.counters.in_flight or stage.app.lag():  # noqa: ASYNC110 - counters have no event
                await asyncio.sleep(0.05)
        assert not any(stage.app.guarded._gap.values())


async def test_poison_is_dead_lettered_and_a_failure_that_passes_is_retried(quick: Settings) -> None:
    given = [
        Chunk(call_id="a", chunk_id=0, speaker=0, text="flaky 2"),
        Chunk(call_id="a", chunk_id=1, speaker=0, text="poison"),
        Chunk(call_id="a", chunk_id=2, speaker=0, text="flaky 99"),
        Chunk(call_id="a", chunk_id=3, speaker=0, text="fine"),
    ]
    await write(quick, Topic.CHUNKS, given)
    async with running([STAGE], quick) as (stage,):
        found = await drafts(quick, [given[0], given[3]])
        letters = await dead_letters(quick, 2)
        assert stage.counters.retried >= 2
    assert [one.chunk.chunk_id for one in found] == [0, 3]
    assert [(letter.reason, letter.errors[-1:]) for letter in letters] == [
        ("poison", ()),
        ("failed", ("ValueError: asked for",)),
    ]


async def test_a_second_worker_takes_its_share_and_nothing_is_lost_or_out_of_order(quick: Settings) -> None:
    given = chunks(calls=20, each=40)
    half = len(given) // 2
    async with running([STAGE], quick) as (first,):
        await write(quick, Topic.CHUNKS, given[:half])
        async with running([STAGE], quick) as (second,):
            await write(quick, Topic.CHUNKS, given[half:])
            await drafts(quick, given)
            assert first.counters.finished > 0
            assert second.counters.finished > 0
        late = chunks(calls=20, each=41)[-20:]
        await write(quick, Topic.CHUNKS, late)
        found = await drafts(quick, [*given, *late])
    assert in_order(found)
    assert await committed(quick, "-echo", Topic.CHUNKS) == len(given) + len(late)


async def test_a_handler_that_outlasts_the_drain_is_cancelled_and_its_message_delivered_again(quick: Settings) -> None:
    hasty = quick.model_copy(update={"drain_timeout": 0.5})
    slow = Chunk(call_id="slow", chunk_id=0, speaker=0, text="slow 3")
    await write(hasty, Topic.CHUNKS, [slow])
    async with running([STAGE], hasty) as (first,):
        while not first.counters.in_flight:  # noqa: ASYNC110 - counters have no event
            await asyncio.sleep(0.05)
        async with running([STAGE], hasty):
            found = await drafts(hasty, [slow])
    assert len(found) == 1


async def test_one_hot_call_does_not_keep_the_calls_of_other_partitions_waiting(quick: Settings) -> None:
    hot = [Chunk(call_id="hot", chunk_id=number, speaker=0, text="slow 0.02") for number in range(2000)]
    others = chunks(calls=20, each=1)
    await write(quick, Topic.CHUNKS, hot)
    async with running([STAGE], quick) as (stage,):
        async with asyncio.timeout(30):
            while stage.counters.finished < 50:  # noqa: ASYNC110 - counters have no event
                await asyncio.sleep(0.02)
        await write(quick, Topic.CHUNKS, others)
        found = await read(
            quick, Topic.DRAFTS, wait_for=lambda all_: "hot/300" in {message.chunk.message_id for message, _ in all_}
        )
    ends = {message.chunk.message_id: record for message, record in found}
    elsewhere = [
        ends[chunk.message_id]
        for chunk in others
        if ends.get(chunk.message_id, ends["hot/0"]).partition != ends["hot/0"].partition
    ]
    assert elsewhere
    assert max(record.timestamp for record in elsewhere) < ends["hot/250"].timestamp


async def test_sigterm_finishes_what_runs_commits_it_and_ends_with_zero(quick: Settings) -> None:
    given = chunks(calls=30, each=20)
    await write(quick, Topic.CHUNKS, given)
    async with worker(quick, delay=0.2) as process:
        await read(quick, Topic.DRAFTS, wait_for=lambda found: len(found) >= 30)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), quick.stop_timeout) == EXIT_STOPPED
    done = await committed(quick, "-echo", Topic.CHUNKS)
    assert 0 < done < len(given)
    async with running([STAGE], quick):
        found = await drafts(quick, given)
    assert Counter(one.chunk.message_id for one in found) == Counter(one.message_id for one in given)
    assert in_order(found)


async def test_after_sigkill_in_the_middle_of_the_stream_another_worker_finishes_everything(quick: Settings) -> None:
    given = chunks(calls=30, each=20)
    await write(quick, Topic.CHUNKS, given)
    async with worker(quick, delay=0.1) as process:
        await read(quick, Topic.DRAFTS, wait_for=lambda found: len(found) >= 100)
        process.kill()
        await process.wait()
    async with running([STAGE], quick):
        found = await drafts(quick, given, seconds=90)
    assert in_order(found)
    assert {one.chunk.message_id for one in found} == {one.message_id for one in given}
    assert await committed(quick, "-echo", Topic.CHUNKS) == len(given)


async def test_a_handler_that_hangs_ends_the_stage_with_a_reason(quick: Settings) -> None:
    impatient = quick.model_copy(update={"stall_timeout": 6.0, "stop_timeout": 2.0})
    await write(impatient, Topic.CHUNKS, [Chunk(call_id="a", chunk_id=0, speaker=0, text="slow 3600")])
    with pytest.raises(StageStalled, match="echo: messages wait and nothing has happened"):
        async with running([STAGE], impatient):
            await asyncio.sleep(3600)


async def test_a_worker_whose_loop_is_blocked_exits_so_that_another_gets_its_partitions(quick: Settings) -> None:
    impatient = quick.model_copy(update={"stall_timeout": 8.0, "request_timeout": 5.0})
    await write(impatient, Topic.CHUNKS, [Chunk(call_id="a", chunk_id=0, speaker=0, text="block 3600")])
    async with worker(impatient) as process:
        assert await asyncio.wait_for(process.wait(), 90) == EXIT_STALLED


async def test_a_stage_that_crashes_ends_the_block_with_its_reason(quick: Settings) -> None:
    async def crash() -> None:
        async with running([STAGE], quick) as (stage,):
            await stage.app.crash(RuntimeError("asked for"))
            await asyncio.sleep(3600)

    with pytest.raises(StageFailed, match="echo crashed: RuntimeError"):
        await crash()


async def test_an_error_of_the_block_itself_stops_the_stages_and_goes_on_up(quick: Settings) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with running([STAGE], quick):
            raise KeyError("mine")


async def test_a_worker_without_its_topics_says_so_and_does_not_start(settings: Settings) -> None:
    with pytest.raises(StageFailed, match="topics create"):
        async with running([STAGE], settings):
            raise AssertionError("it must not start")


async def test_topics_are_created_once_and_a_wrong_number_of_partitions_is_reported(settings: Settings) -> None:
    assert all(state.created and state.matches for state in await create_topics(settings))
    again = await create_topics(settings)
    assert not any(state.created for state in again)
    other = settings.model_copy(update={"partitions": settings.partitions + 1})
    assert not any(state.matches for state in await list_topics(other))
    await delete_topics(settings)
    assert all(state.partitions is None for state in await list_topics(settings))
    await delete_topics(settings)
