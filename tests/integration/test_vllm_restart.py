"""A real vLLM is killed and started again in mid-stream, through a real Kafka: the model cleans every chunk."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import pytest
from runtime_kafka import chunks, read, write

import local_vllm
from clearcall.infra.clickhouse import connect, migrate
from clearcall.infra.settings import Settings
from clearcall.schemas import Cleaned, Status, Topic
from clearcall.streams.retry import Backoff
from clearcall.streams.topics import create_topics
from clearcall.streams.worker import running
from consultant_cases import CALM

pytestmark = [pytest.mark.integration, pytest.mark.timeout(local_vllm.TEST_SECONDS)]

CALLS, EACH = 6, 5
ROWS = "SELECT call_id, chunk_id, count() AS rows FROM cleaned FINAL GROUP BY call_id, chunk_id"


async def test_a_server_that_dies_and_comes_back_in_mid_stream_cleans_every_chunk_once(
    settings: Settings, own_vllm: local_vllm.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearcall.agents.consultant.breaker.LONGEST_REST", 1.0)  # the test need not wait as long
    monkeypatch.setattr("clearcall.streams.running_stage.Backoff", partial(Backoff, most=1.0))
    given = settings.model_copy(
        update={"consultant": "openai", "urls": (own_vllm.url,), "request_shape": "chunk", "outage": "wait"}
    )
    with closing(connect(given)) as database:
        migrate(database)
    await create_topics(given)
    sent = chunks(CALLS, EACH, CALM[1])
    async with running(["all"], given):
        await write(given, Topic.CHUNKS, sent[: len(sent) // 2])
        await cleaned(given, 1)
        await asyncio.to_thread(own_vllm.kill)
        try:
            await write(given, Topic.CHUNKS, sent[len(sent) // 2 :])
        finally:
            await asyncio.to_thread(own_vllm.start)
        delivered = await cleaned(given, len(sent))
        await stored(given, len(sent))
    assert {message.status for message in delivered} <= {Status.CLEAN, Status.CORRECTED, Status.RESTORED}
    assert {(one.consultant.backend, one.consultant.model) for one in delivered} == {("openai", local_vllm.MODEL)}
    assert rows(given) == {(chunk.call_id, chunk.chunk_id): 1 for chunk in sent}


async def cleaned(settings: Settings, number: int) -> Sequence[Cleaned]:
    found = await read(settings, Topic.CLEANED, wait_for=lambda all_: len(all_) >= number, seconds=900)
    return [message for message, _ in found]


async def stored(settings: Settings, number: int) -> None:
    async with asyncio.timeout(300):
        while len(rows(settings)) < number:  # noqa: ASYNC110 - the database is asked
            await asyncio.sleep(0.2)


def rows(settings: Settings) -> dict[tuple[str, int], int]:
    with closing(connect(settings)) as database:
        return {(row["call_id"], row["chunk_id"]): row["rows"] for row in database.rows(ROWS)}
