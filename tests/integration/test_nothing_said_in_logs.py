"""The pipeline on marked text, with a model that misbehaves in every way: nothing of a call is in what is logged."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from runtime_kafka import environment, read, write

from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Topic
from clearcall.streams.topics import create_topics, delete_topics
from model_server import asked_lines, completion, serving

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration

MARK = "xylophonist"  # in everything that anybody said, and nowhere else
KEY = "bearer-of-the-test"
DB_PASSWORD = "password-of-the-database"


@pytest.fixture
async def quick(settings: Settings) -> AsyncIterator[Settings]:
    settings = settings.model_copy(update={"session_timeout": 6.0, "drain_timeout": 3.0, "stop_timeout": 10.0})
    await create_topics(settings)
    yield settings
    await delete_topics(settings)


def misbehaving() -> Any:
    """Answers in turn: right, invented, cut, empty, no completion, errors that quote the request, not JSON."""
    turns = cycle(range(8))

    def answer(body: dict[str, Any]) -> Any:
        said = "\n".join(asked_lines(body))
        quoted = orjson.dumps({"error": {"message": f"cannot serve {body['messages']}"}}).decode()
        kind = next(turns)
        if kind == 4:
            return {"choices": MARK}
        if kind > 4:
            texts = [(400, quoted), (500, quoted), (200, f"{MARK} is not JSON")]
            status, text = texts[kind - 5]
            return web.Response(status=status, text=text, content_type="application/json")
        invented = f"1 agent: the {MARK} invented this\n2 agent: {MARK}"
        text, finish = [(said, "stop"), (invented, "stop"), (said[: len(said) // 2], "length"), ("", "stop")][kind]
        return completion(text, finish)

    return answer


def records() -> list[Any]:
    """Good chunks, and bad ones that quote what was said wherever a record can hold it."""
    good = [
        Chunk(
            call_id=f"call{number % 5}", chunk_id=number // 5, speaker=number % 2, text=f"um the {MARK} said {number}"
        )
        for number in range(40)
    ]
    whole = {"call_id": "bad", "chunk_id": 0, "speaker": 0, "text": f"the {MARK}"}
    bad: list[Any] = [
        (b"bad", f"the {MARK} is not JSON".encode(), []),
        (b"bad", orjson.dumps(whole | {MARK: 1}), []),
        (b"bad", orjson.dumps(whole | {"chunk_id": MARK}), []),
        (b"bad", orjson.dumps(whole | {"speaker": [MARK]}), []),
        (b"bad", orjson.dumps([MARK]), []),
        (b"bad", orjson.dumps({"text": MARK * 91_000}), []),
        (b"bad", orjson.dumps(whole), [("schema", b"clearcall.other/1")]),
        (MARK.encode(), None, [("iteration", MARK.encode())]),
    ]
    return [*good[:20], *bad, *good[20:]]


@asynccontextmanager
async def worker(settings: Settings, **variables: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command as an operator starts it; its output is read whole at its end."""
    secrets = {"CLEARCALL_API_KEY": KEY, "CLEARCALL_DB_PASSWORD": DB_PASSWORD}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "clearcall", "worker", "--stage", "all"),
        env=os.environ | environment(settings) | secrets | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def command_line(process: asyncio.subprocess.Process) -> str:
    """What the process list shows of it."""
    return Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()


async def stopped(process: asyncio.subprocess.Process) -> str:
    process.send_signal(signal.SIGTERM)
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return output.decode()


@pytest.mark.parametrize("log_format", ["console", "json"])
async def test_no_text_of_a_call_is_logged_at_the_default_level_whatever_goes_wrong(
    quick: Settings, log_format: str
) -> None:
    sent = records()
    chunks = {record.message_id for record in sent if isinstance(record, Chunk)}
    async with serving(misbehaving()) as url:
        given = quick.model_copy(update={"consultant": "openai"})
        await write(given, Topic.CHUNKS, sent)
        async with worker(given, CLEARCALL_URLS=url, CLEARCALL_LOG_FORMAT=log_format) as process:
            await read(
                given, Topic.CLEANED, wait_for=lambda all_: chunks <= {one.message_id for one, _ in all_}, seconds=120
            )
            await read(given, Topic.DEAD_LETTERS, wait_for=lambda all_: len(all_) >= 7)
            output = await stopped(process)
    assert process.returncode == 0
    assert len(re.findall("dead_letter.written", output)) >= 7
    assert MARK not in output.lower()
    assert KEY not in output
    assert DB_PASSWORD not in output


async def test_no_secret_is_in_a_log_of_any_level_nor_in_the_process_list(quick: Settings) -> None:
    async def refuse(_body: dict[str, Any]) -> web.Response:
        return web.Response(status=401, text=f"the key {KEY} is not known")

    async with serving(refuse) as url:
        given = quick.model_copy(update={"consultant": "openai", "db": "http://127.0.0.1:9/calls"})
        await write(given, Topic.CHUNKS, records()[:2])
        async with worker(given, CLEARCALL_URLS=url, CLEARCALL_LOG_LEVEL="debug") as process:
            lines: list[str] = []
            assert process.stdout is not None
            while not any("agent.unavailable" in line for line in lines):
                lines.append((await asyncio.wait_for(process.stdout.readline(), 60)).decode())
            shown = command_line(process)
            output = "".join(lines) + await stopped(process)
    assert re.search(r"agent\.unavailable.*answers HTTP 401: check the URL, the model's name, the key", output)
    for secret in (KEY, DB_PASSWORD):
        assert secret not in output
        assert secret not in shown


async def test_a_kafka_password_is_neither_logged_nor_in_the_process_list(quick: Settings) -> None:
    """A broker that asks for no user: the worker cannot start, and must say so without the password."""
    word = "password-of-kafka"
    security = {
        "CLEARCALL_KAFKA_SECURITY": "sasl_plaintext",
        "CLEARCALL_KAFKA_USER": "me",
        "CLEARCALL_KAFKA_PASSWORD": word,
        "CLEARCALL_LOG_LEVEL": "debug",
    }
    async with worker(quick, **security) as process:
        shown = command_line(process)
        output, _ = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 1
    assert "worker.failed" in output.decode()
    assert word not in output.decode() + shown
