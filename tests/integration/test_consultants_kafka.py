"""Several consultants and tasks on a real Kafka and the real ClickHouse engine: exact rows for each."""

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from runtime_kafka import chunks, pipeline, read, until, write

from clearcall.infra.clickhouse import connect, migrate
from clearcall.infra.clickhouse.report import summary_and_tables
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Correction, Evaluation, Status, Topic, encode
from clearcall.streams.calls import RawChunk
from clearcall.streams.run import RunResult, run_calls
from clearcall.streams.topics import create_topics
from clearcall.streams.worker import running
from clickhouse_http import PASSWORD, clickhouse_over_http
from model_server import asked_lines, completion, echo, serving

pytestmark = pytest.mark.integration

SAID = "um i would like to to book my car in for the fourteenth please"
CALLS, EACH = 12, 4
ROWS = "SELECT (SELECT count() FROM cleaned FINAL) AS ends, (SELECT count() FROM evaluations FINAL) AS scored"
NOWHERE = "http://127.0.0.1:9/v1"


def raw(text: str = SAID, calls: int = CALLS) -> list[RawChunk]:
    return [RawChunk(chunk.call_id, encode(chunk), chunk.message_id) for chunk in chunks(calls, EACH, text)]


def with_tables(settings: Settings, **tables: Any) -> Settings:
    return Settings(**{**dict(settings), **tables})


async def run(settings: Settings, sent: list[RawChunk]) -> RunResult:
    with closing(connect(settings)) as database:
        return await run_calls(settings, sent, database, lambda _phase, _progress: None)


def stored(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    with closing(connect(settings)) as database:
        return [tuple(row.values()) for row in database.rows(query)]


def invent(body: dict[str, Any]) -> dict[str, Any]:
    """Something that nobody said, in every line."""
    heads = [line.split(": ")[0] for line in asked_lines(body)]
    return completion("\n".join(f"{head}: We are open from nine to five on every Friday." for head in heads))


def digits(body: dict[str, Any]) -> dict[str, Any]:
    return completion("\n".join(line.replace("fourteenth", "14th") for line in asked_lines(body)))


async def test_a_canary_shares_the_calls_and_a_shadow_answers_all_without_being_delivered(settings: Settings) -> None:
    async with serving(echo) as canary, serving(invent) as shadow:
        given = with_tables(
            settings,
            consultants=[
                {"name": "canary", "share": 0.5, "consultant": "openai", "urls": [canary]},
                {"name": "next", "shadow": True, "consultant": "openai", "urls": [shadow], "decoding": "free"},
            ],
        )
        result = await run(given, raw())
    progress = result.progress
    assert (progress.ended, progress.cleaned, progress.dead, progress.shadows.left()) == (CALLS * EACH, 48, 0, {})
    answerer = {f"call{call}": Team.of(given).answerer(f"call{call}", 0) for call in range(CALLS)}
    assert set(answerer.values()) == {"", "canary"}
    assert dict(stored(given, "SELECT call_id, any(agent) FROM cleaned_current GROUP BY call_id")) == answerer
    per_agent = stored(given, "SELECT agent, iteration, count() FROM evaluations_current GROUP BY 1, 2 ORDER BY 1, 2")
    share = Counter(answerer.values())
    assert per_agent == [
        ("", 0, share[""] * EACH),
        ("canary", 0, share["canary"] * EACH),
        ("next", 0, 48),
        ("next", 1, 48),
        ("next", 2, 48),
    ]
    assert stored(given, "SELECT count(), countIf(status = 'clean') FROM cleaned") == [(48, 48)]
    assert stored(given, "SELECT DISTINCT shadow FROM evaluations WHERE agent = 'next'") == [(True,)]
    with closing(connect(given)) as database:
        _, tables = summary_and_tables(database)
    assert {row["agent"] for row in tables["table1"]} == {"", "canary", "next"}


async def test_a_chunk_passes_two_tasks_and_ends_once(settings: Settings) -> None:
    async with serving(digits) as server:
        given = with_tables(
            settings,
            consultants=[{"name": "digits", "share": 0, "consultant": "openai", "urls": [server]}],
            tasks=[
                {"name": "punctuate"},
                {"name": "format-numbers", "consultant": "digits", "prompt": "format-numbers-1"},
            ],
        )
        result = await run(given, raw(calls=3))
    assert (result.progress.cleaned, result.progress.dead) == (12, 0)
    assert result.progress.statuses == {Status.CLEAN: 12}
    assert stored(given, "SELECT text, agent, task, attempts, count() FROM cleaned GROUP BY 1, 2, 3, 4") == [
        ("I would like to book my car in for the 14th please.", "digits", "format-numbers", 2, 12)
    ]
    assert stored(
        given,
        "SELECT agent, task, step, prompt_version, source_text, count(), sum(flagged) FROM evaluations_current"
        " GROUP BY ALL ORDER BY step",
    ) == [
        ("", "punctuate", 0, "none", SAID, 12, 0),
        (
            *("digits", "format-numbers", 1, "format-numbers-1"),
            *("I would like to book my car in for the fourteenth please.", 12, 0),
        ),
    ]


async def test_an_answer_that_changes_a_number_at_the_second_task_is_corrected_there_and_then_restored(
    settings: Settings,
) -> None:
    async with serving(lambda body: completion("\n".join(asked_lines(body)).replace("fourteenth", "40th"))) as server:
        given = with_tables(
            settings,
            tasks=[{"name": "one"}, {"name": "two", "consultant": "digits", "prompt": "format-numbers-1"}],
            consultants=[{"name": "digits", "share": 0, "consultant": "openai", "urls": [server]}],
        )
        result = await run(given, raw(calls=2))
    assert result.progress.statuses == {Status.RESTORED: 8}
    assert stored(given, "SELECT DISTINCT text FROM cleaned") == [
        ("I would like to book my car in for the fourteenth please.",)
    ]
    assert stored(given, "SELECT task, iteration, count() FROM evaluations GROUP BY 1, 2 ORDER BY 1, 2") == [
        ("one", 0, 8),
        ("two", 0, 8),
        ("two", 1, 8),
        ("two", 2, 8),
    ]


async def test_a_shadow_whose_server_is_down_does_not_hold_up_delivery(settings: Settings) -> None:
    given = with_tables(
        settings,
        consultants=[{"name": "dead", "shadow": True, "consultant": "openai", "urls": [NOWHERE]}],
        partitions=4,
    )
    await create_topics(given)
    sent = chunks(CALLS, EACH, SAID)
    async with running(("all",), given) as stages:
        assert [stage.name for stage in stages] == ["consultant", "evaluator", "sink", "shadow-dead"]
        await write(given, Topic.CHUNKS, sent)
        found = await read(given, Topic.CLEANED, wait_for=lambda all_: len(all_) >= len(sent))
        evaluations = await read(given, Topic.EVALUATIONS, wait_for=lambda all_: len(all_) >= len(sent))
        assert {message.chunk.message_id for message, _ in found} == {chunk.message_id for chunk in sent}
        assert {message.track.agent for message, _ in evaluations} == {""}
        assert next(stage for stage in stages if stage.is_shadow).counters.finished == 0


async def test_a_run_gives_up_on_a_shadow_that_does_not_answer_and_says_what_is_left(settings: Settings) -> None:
    given = with_tables(
        settings,
        consultants=[{"name": "dead", "shadow": True, "consultant": "openai", "urls": [NOWHERE]}],
        request_timeout=1.0,
    )
    result = await run(given, raw(calls=2))
    assert (result.progress.cleaned, result.progress.shadows.left()) == (8, {"dead": 8})
    assert stored(given, "SELECT count() FROM cleaned") == [(8,)]


async def test_a_shadow_that_fails_for_good_ends_by_itself(settings: Settings, tmp_path: Path) -> None:
    recording = tmp_path / "of-other-calls.jsonl"
    recording.write_text(
        '{"model": "m", "server": "s", "quantisation": "q", "settings": {}, "decoding": "free", "prompt_versions": [],'
        ' "recorded_at": "2026", "clearcall_version": "0"}\n'
    )
    given = with_tables(
        settings,
        consultants=[{"name": "lost", "shadow": True, "consultant": "recorded", "recording": recording}],
        dead_letter_run=1,
    )
    sent = chunks(3, 100, SAID)
    await create_topics(given)
    async with running(("all",), given) as stages:
        await write(given, Topic.CHUNKS, sent)
        await read(given, Topic.CLEANED, wait_for=lambda all_: len(all_) >= len(sent))
        shadow = next(stage for stage in stages if stage.is_shadow)
        async with asyncio.timeout(30):
            while not shadow.settled:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.1)


async def test_a_correction_goes_to_its_shadow_alone(settings: Settings) -> None:
    async with serving(invent) as server:
        given = with_tables(
            settings,
            consultants=[
                {"name": "next", "shadow": True, "consultant": "openai", "urls": [server], "decoding": "free"}
            ],
        )
        await create_topics(given)
        async with running(("evaluator", "shadow", "consultant"), given):
            await write(given, Topic.CHUNKS, chunks(1, 1, SAID))
            found = await read(given, Topic.EVALUATIONS, wait_for=lambda all_: sum(m.ends for m, _ in all_) == 2)
        corrections = await read(given, Topic.CORRECTIONS, wait_for=bool)
        ended = [message for message, _ in found if isinstance(message, Evaluation) and message.ends]
        assert {(message.track.agent, message.attempt.iteration) for message in ended} == {("", 0), ("next", 2)}
        assert all(isinstance(message, Correction) and message.track.shadow for message, _ in corrections)
        assert len(corrections) == 2


async def test_a_worker_killed_in_the_middle_leaves_every_chunk_one_end_and_every_consultant_and_task_its_rows(
    settings: Settings, tmp_path: Path
) -> None:
    sent = chunks(8, 60, SAID)
    with clickhouse_over_http(tmp_path / "server") as address:
        given = with_tables(
            settings,
            consultants=[{"name": "canary", "share": 0.5}, {"name": "next", "shadow": True}],
            tasks=[{"name": "one"}, {"name": "two"}],
            db=f"http://{address}/clearcall",
            db_password=SecretStr(PASSWORD),
            batch_rows=200,
        )
        with closing(connect(given)) as database:
            migrate(database)
        await create_topics(given)
        await write(given, Topic.CHUNKS, sent[: len(sent) // 2])
        async with pipeline(given) as first:
            await read(given, Topic.CLEANED, wait_for=lambda found: len(found) >= 60)
            first.kill()
            await first.wait()
        async with pipeline(given):
            await write(given, Topic.CHUNKS, sent[len(sent) // 2 :])
            await until(lambda: stored(given, ROWS)[0] == (len(sent), 4 * len(sent)))
        assert stored(given, "SELECT count() FROM cleaned FINAL") == [(len(sent),)]
        per_track = stored(given, "SELECT task, shadow, count() FROM evaluations_current GROUP BY 1, 2 ORDER BY 1, 2")
        assert per_track == [(task, shadow, len(sent)) for task in ("one", "two") for shadow in (False, True)]
