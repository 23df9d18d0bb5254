"""All stages together on a real Kafka and the real ClickHouse engine."""

import base64
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from runtime_kafka import chunks, pipeline, read, until, write

from clearcall.agents.evaluator import Evaluator
from clearcall.infra.clickhouse import NotMigrated, connect, migrate
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Chunk,
    Cleaned,
    ConsultantInfo,
    Correction,
    DeadLetter,
    Draft,
    Outcome,
    Status,
    Topic,
    encode,
)
from clearcall.scoring import Rules
from clearcall.streams.calls import RawChunk
from clearcall.streams.run import Observer, RunResult, run_calls
from clearcall.streams.topics import create_topics
from clearcall.streams.worker import running
from clickhouse_http import PASSWORD, clickhouse_over_http

SAID = "um i would like to to book my car in for the fourteenth please"

ROWS = "SELECT call_id, chunk_id, count() AS rows FROM cleaned FINAL GROUP BY call_id, chunk_id"


def rows(settings: Settings) -> dict[tuple[str, int], int]:
    """How many rows each chunk has in ``cleaned``; none where the sink has made no table yet."""
    with suppress(NotMigrated), closing(connect(settings)) as database:
        return {(row["call_id"], row["chunk_id"]): row["rows"] for row in database.rows(ROWS)}
    return {}


async def run_here(
    settings: Settings, sent: list[RawChunk], observe: Observer = lambda _phase, _progress: None
) -> RunResult:
    with closing(connect(settings)) as database:
        return await run_calls(settings, sent, database, observe)


async def test_a_worker_killed_in_the_middle_of_the_stream_leaves_every_chunk_exactly_one_row(
    settings: Settings, tmp_path: Path
) -> None:
    sent = chunks(calls=12, each=120, text=SAID)
    wanted = {(chunk.call_id, chunk.chunk_id): 1 for chunk in sent}
    with clickhouse_over_http(tmp_path / "server") as address:
        given = settings.model_copy(
            update={
                "consultant": "rules",
                "db": f"http://{address}/clearcall",
                "db_password": type(settings.db_password)(PASSWORD),
                "batch_rows": 200,
                "session_timeout": 6.0,
            }
        )
        with closing(connect(given)) as database:
            migrate(database)
        await create_topics(given)
        await write(given, Topic.CHUNKS, sent[: len(sent) // 2])
        async with pipeline(given) as first:
            await read(given, Topic.CLEANED, wait_for=lambda found: len(found) >= 100)
            first.kill()
            await first.wait()
        assert len(rows(given)) < len(wanted)
        async with pipeline(given):
            await write(given, Topic.CHUNKS, sent[len(sent) // 2 :])
            await until(lambda: len(rows(given)) == len(wanted))
        assert rows(given) == wanted


async def test_the_same_file_twice_is_the_same_rows(settings: Settings) -> None:
    sent = [RawChunk(chunk.call_id, encode(chunk), chunk.message_id) for chunk in chunks(calls=5, each=8, text=SAID)]
    seen: list[int] = []
    for attempt in ("first.", "second."):
        own = settings.model_copy(
            update={"consultant": "rules", "topic_prefix": settings.topic_prefix + attempt, "group_prefix": attempt}
        )
        result = await run_here(own, sent, lambda _phase, progress: seen.append(progress.ended))
        assert (result.progress.ended, result.progress.cleaned, result.progress.dead) == (40, 40, 0)
        assert set(rows(own).values()) == {1}
        assert len(rows(own)) == 40
    assert seen.count(0) >= len(("first.", "second."))
    assert max(seen) == len(sent)


async def test_what_is_too_large_for_kafka_is_told_and_what_is_not_json_is_a_dead_letter_of_a_run(
    settings: Settings,
) -> None:
    large = record(chunk_id=1, text="a" * 1_200_000)
    sent = [
        RawChunk(None, b"{", "line 1"),
        RawChunk("odd", large, "odd/1"),
        RawChunk("odd", record(), "odd/0"),
    ]
    result = await run_here(settings, sent)
    progress = result.progress
    assert (progress.sent, progress.ended, progress.cleaned, progress.dead) == (2, 2, 1, 1)
    assert [name for name, _ in progress.refused] == ["odd/1"]
    assert rows(settings) == {("odd", 0): 1}


async def test_a_run_leaves_no_topic_and_no_group(settings: Settings) -> None:
    await run_here(settings, [RawChunk("odd", record(), "odd/0")])
    assert await left(settings) == []


async def left(settings: Settings) -> list[str]:
    """The topics and groups of these settings that the cluster has."""
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    await admin.start()
    try:
        names = [*await admin.list_topics(), *(group for group, *_ in await admin.list_consumer_groups())]
    finally:
        await admin.close()
    return [name for name in names if name.startswith((settings.topic_prefix, settings.group_prefix))]


def record(**fields: Any) -> bytes:
    return orjson.dumps({"call_id": "odd", "chunk_id": 0, "speaker": 0, "text": SAID} | fields)


BAD: dict[str, list[tuple[bytes | None, list[tuple[str, bytes]]]]] = {
    "not_json": [
        (b"{", []),
        (b"\xff\xfe", []),
        (rb'{"call_id": "c", "chunk_id": 0, "speaker": 0, "text": "\ud800"}', []),
    ],
    "wrong_shape": [
        (b"[]", []),
        (record(call_id=""), []),
        (record(chunk_id=-1), []),
        (record(speaker=-1), []),
        (record(text=7), []),
    ],
    "unknown_schema": [(record(), [("schema", b"clearcall.chunk/99")])],
    "tombstone": [(None, [])],
    "oversize": [(record(text="a" * 1_010_000), [])],
}

WORDS = list(product("bdfgklmnpr", "aeiou", "bdfgklmnpr", "aeiou", "lnrs"))  # 10,000, none twice

GOOD: dict[str, dict[str, Any]] = {
    "another speaker": {"speaker": 7, "text": SAID},
    "empty": {"text": ""},
    "fillers alone": {"text": "um uh"},
    "ten thousand words": {"text": " ".join(map("".join, WORDS))},
    "emoji": {"text": "that is great \U0001f600\U0001f697 thanks"},
    "right to left": {"text": "\u0634\u0643\u0631\u0627 \u062c\u0632\u064a\u0644\u0627 \u0644\u0643"},
    "nul": {"text": "yes\u0000 the fourteenth"},
    "unknown fields": {"text": SAID, "mood": "fine"},
}


async def test_bad_input_ends_in_the_dead_letters_and_odd_input_in_cleaned(settings: Settings) -> None:
    given = settings.model_copy(update={"consultant": "rules"})
    good = [record(chunk_id=number, **fields) for number, fields in enumerate(GOOD.values())]
    late = [good[3], *reversed(good)]  # out of order, and one of them twice
    await create_topics(given)
    await write(given, Topic.CHUNKS, [(b"odd", value, headers) for bad in BAD.values() for value, headers in bad])
    await write(given, Topic.CHUNKS, [(b"odd", value, []) for value in late])
    expected = Counter({reason: len(bad) for reason, bad in BAD.items()})
    async with running(("all",), given):
        letters = await read(given, Topic.DEAD_LETTERS, wait_for=lambda found: len(found) >= expected.total())
        ended = await read(
            given, Topic.CLEANED, wait_for=lambda found: len({m.message_id for m, _ in found}) >= len(good)
        )
        await until(lambda: len(rows(given)) == len(good))
    assert Counter(letter.reason for letter, _ in letters) == expected
    kept = {
        base64.b64decode(letter.record_value) for letter, _ in letters if not letter.truncated and letter.record_value
    }
    assert kept == {value for reason, bad in BAD.items() for value, _ in bad if value and reason != "oversize"}
    assert rows(given) == {("odd", number): 1 for number in range(len(good))}
    texts = dict(zip(GOOD, by_chunk(message for message, _ in ended), strict=True))
    assert texts["another speaker"].chunk.speaker == 7
    assert {texts[name].status for name in ("empty", "fillers alone")} == {Status.PASSTHROUGH}
    assert len(texts["ten thousand words"].text.split()) == 10_000
    assert "\U0001f697" in texts["emoji"].text
    assert texts["nul"].chunk.text == GOOD["nul"]["text"]


def by_chunk(ended: Iterable[Cleaned]) -> list[Cleaned]:
    return [message for _, message in sorted({message.chunk.chunk_id: message for message in ended}.items())]


def correction(call_id: str) -> bytes:
    """Of a call that nobody knows: all that is needed travels in it."""
    draft = Draft(
        chunk=Chunk(call_id=call_id, chunk_id=0, speaker=1, text=SAID),
        iteration=0,
        outcome=Outcome.ANSWERED,
        cleaned="Certainly, we have several cars in stock, which one would you like to buy?",
        consultant=ConsultantInfo(backend="openai", model="m", prompt_version="p"),
        drafted_at=1.0,
    )
    sent = [out.message for out in Evaluator(Rules(), "restore").judge(draft) if isinstance(out.message, Correction)]
    return encode(sent[0])


HEADERS: dict[str, list[tuple[str, bytes]]] = {
    "absent": [],
    "no number": [("iteration", b"x")],
    "negative": [("iteration", b"-1")],
    "zero": [("iteration", b"0")],
    "too large": [("iteration", b"99")],
    "twice": [("iteration", b"1"), ("iteration", b"1")],
    "right": [("iteration", b"1")],
}


async def test_a_correction_with_a_bad_iteration_header_is_finalised_and_never_loops(settings: Settings) -> None:
    given = settings.model_copy(update={"consultant": "rules"})
    await create_topics(given)
    sent: list[Any] = [(name.encode(), correction(name), headers) for name, headers in HEADERS.items()]
    await write(given, Topic.CORRECTIONS, sent)
    async with running(("all",), given):
        ended = await read(given, Topic.CLEANED, wait_for=lambda found: len(found) >= len(HEADERS))
        await until(lambda: len(rows(given)) == len(HEADERS))
    statuses = {message.chunk.call_id: message.status for message, _ in ended}
    assert statuses == dict.fromkeys(HEADERS, Status.RESTORED) | {"right": Status.CORRECTED}
    assert all("fourteenth" in message.text and "stock" not in message.text for message, _ in ended)
    assert set(rows(given).values()) == {1}


@pytest.mark.parametrize("value", [b"{", b"{}", None])
async def test_a_draft_that_cannot_be_read_is_a_dead_letter_of_the_evaluator(
    settings: Settings, value: bytes | None
) -> None:
    given = settings.model_copy(update={"consultant": "rules"})
    await create_topics(given)
    await write(given, Topic.DRAFTS, [(b"c", value, [])])
    async with running(("evaluator",), given):
        (letter, _), *rest = await read(given, Topic.DEAD_LETTERS, wait_for=bool)
    assert not rest
    assert isinstance(letter, DeadLetter)
    assert (letter.stage, letter.topic) == ("evaluator", given.topic_prefix + Topic.DRAFTS)
