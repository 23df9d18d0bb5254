"""The evaluator agent beside the pipeline, on a real Kafka and the real ClickHouse engine."""

import asyncio
from contextlib import closing
from typing import Any

import pytest
from runtime_kafka import chunks, read, write

from clearcall.agents.evaluator_agent.counts import total
from clearcall.infra.clickhouse import connect
from clearcall.infra.settings import Settings
from clearcall.schemas import Evaluation, Topic
from clearcall.streams.topics import create_topics
from clearcall.streams.worker import running
from model_server import serving
from tool_server import truly

pytestmark = pytest.mark.integration

SAID = "um i would like to book my car in please"
CALLS, EACH = 6, 2
NOWHERE = "http://127.0.0.1:9/v1"


def on(settings: Settings, **more: Any) -> Settings:
    return Settings(**{**dict(settings), "evaluator_agent": "tools", "evaluator_agent_share": 1.0, **more})


async def test_what_the_model_calls_the_function_with_is_stored_for_every_answer(settings: Settings) -> None:
    async with serving(truly) as url:
        given = on(settings, evaluator_agent_urls=(url,), evaluator_agent_in_flight=CALLS * EACH)
        await create_topics(given)
        async with running(("all",), given) as stages:
            assert [stage.name for stage in stages] == ["consultant", "evaluator", "sink", "evaluator-agent"]
            await write(given, Topic.CHUNKS, chunks(CALLS, EACH, SAID))
            found = await read(given, Topic.CHECKS, wait_for=lambda all_: len(all_) >= CALLS * EACH)
            scored = await read(given, Topic.EVALUATIONS, wait_for=lambda all_: len(all_) >= CALLS * EACH)
            await asyncio.sleep(2 * given.batch_seconds)  # the sink has taken them, and stores them as it stops
    assert {message.message_id for message, _ in found} == {message.message_id for message, _ in scored}
    with closing(connect(given)) as database:
        (row,) = database.rows("SELECT calls, exact, unscored FROM tool_call_distortions")
    assert row == {"calls": CALLS * EACH, "exact": CALLS * EACH, "unscored": 0}


async def test_a_model_that_is_away_holds_nothing_up_and_costs_no_lag(settings: Settings) -> None:
    given = on(settings, evaluator_agent_urls=(NOWHERE,), evaluator_agent_model="m")
    await create_topics(given)
    before = total().calls
    async with running(("all",), given) as stages:
        await write(given, Topic.CHUNKS, chunks(CALLS, EACH, SAID))
        await read(given, Topic.CLEANED, wait_for=lambda all_: len(all_) >= CALLS * EACH)
        agent = next(stage for stage in stages if stage.name == "evaluator-agent")
        async with asyncio.timeout(30):
            while agent.counters.finished < CALLS * EACH:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.1)
        assert agent.counters.dead_lettered == 0
    counted = total().calls - before
    assert counted.keys() <= {"unanswered", "dropped"}


async def test_an_evaluation_of_the_first_schema_is_shown_too(settings: Settings) -> None:
    async with serving(truly) as url:
        given = on(settings, evaluator_agent_urls=(url,))
        await create_topics(given)
        async with running(("evaluator", "consultant"), given):
            await write(given, Topic.CHUNKS, chunks(1, 1, SAID))
            ((scored, record),) = await read(given, Topic.EVALUATIONS, wait_for=lambda all_: len(all_) >= 1)
        assert isinstance(scored, Evaluation)
        headers = [(name, b"clearcall.evaluation/1" if name == "schema" else value) for name, value in record.headers]
        async with running(("evaluator-agent",), given):
            await write(given, Topic.EVALUATIONS, [(record.key, record.value, headers)])
            await read(given, Topic.CHECKS, wait_for=lambda all_: len(all_) >= 2)
