"""The command line against a real Kafka and the embedded ClickHouse engine."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiokafka.admin import AIOKafkaAdminClient

from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from model_server import serving

pytestmark = pytest.mark.integration

CLEARCALL = [sys.executable, "-c", "from clearcall.streams.cli import main; main()"]


def environment(settings: Settings, **changes: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLEARCALL_")}
    names = ("kafka", "topic_prefix", "group_prefix", "partitions", "db", "consultant")
    return own | {f"CLEARCALL_{name.upper()}": str(getattr(settings, name)) for name in names} | changes


def run(settings: Settings, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLEARCALL, *arguments],
        env=environment(settings, **changes),
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )


def findings(settings: Settings, **changes: str) -> tuple[int, dict[str, str]]:
    done = run(settings, "doctor", "--json", **changes)
    return done.returncode, {finding["part"]: finding["state"] for finding in json.loads(done.stdout)}


def test_the_doctor_follows_a_deployment_as_it_is_set_up(settings: Settings) -> None:
    assert findings(settings) == (1, {"Kafka": "ok", "topics": "fail", "ClickHouse": "warn", "consultant": "ok"})
    assert run(settings, "topics", "list").returncode == 1

    created = run(settings, "topics", "create", "--json")
    assert created.returncode == 0
    assert {topic["partitions"] for topic in json.loads(created.stdout).values()} == {settings.partitions}
    again = run(settings, "topics", "create", "--json")
    assert not any(topic["created"] for topic in json.loads(again.stdout).values())
    assert run(settings, "topics", "list").returncode == 0

    assert run(settings, "db", "migrate").returncode == 0
    all_well = {"Kafka": "ok", "topics": "ok", "ClickHouse": "ok", "migrations": "ok", "consultant": "ok"}
    assert findings(settings) == (0, all_well)
    assert findings(settings, CLEARCALL_PARTITIONS="9") == (0, all_well | {"topics": "warn"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_stops_cleanly_on_a_signal(settings: Settings, number: signal.Signals) -> None:
    assert run(settings, "topics", "create").returncode == 0
    with subprocess.Popen(
        [*CLEARCALL, "worker", "--stage", "all"],
        env=environment(settings, CLEARCALL_LOG_FORMAT="json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        started = set()
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "stage.started":
                started.add(event["stage"])
            if len(started) == 3:
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert started == {"consultant", "evaluator", "sink"}
    assert (process.returncode, out) == (0, "")
    assert "worker.signal" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("background", [False, True])
def test_a_run_that_is_terminated_deletes_its_topics(settings: Settings, tmp_path: Path, *, background: bool) -> None:
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if background else []  # as shells do in the background
    calls = tmp_path / "calls.jsonl"
    chunk = {"speaker": 0, "text": "um hello"}
    calls.write_text(json.dumps({"call_id": "c", "chunks": [chunk | {"chunk_id": n} for n in range(50_000)]}))
    with subprocess.Popen(
        [*ignoring, *CLEARCALL, "run", str(calls)],
        env=environment(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert any("cleaning" in line for line in process.stdout)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert asyncio.run(topics_of(settings)) == []


def test_a_run_names_what_is_too_large_for_kafka_and_fails(settings: Settings, tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_text(json.dumps({"call_id": "c", "chunk_id": 7, "speaker": 0, "text": "a" * 1_200_000}))
    done = run(settings, "run", str(calls))
    assert (done.returncode, "1 chunk is too large for Kafka: c/7" in done.stdout) == (1, True)
    assert "error" not in done.stderr


async def test_a_run_whose_model_server_refuses_the_settings_ends_and_says_what_to_check(
    settings: Settings, tmp_path: Path
) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_text(json.dumps({"call_id": "c", "chunk_id": 0, "speaker": 0, "text": "um hello"}))
    async with serving(lambda _body: web.Response(status=404)) as url:
        arguments = ("run", str(calls), "--consultant", "openai", "--url", url, "--model", "nosuch")
        done = await asyncio.to_thread(run, settings, *arguments)
    assert done.returncode == 1
    assert f"error: {url} answers HTTP 404: check the URL, the model's name, the key" in done.stderr
    assert await topics_of(settings) == []


async def topics_of(settings: Settings) -> list[str]:
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    await admin.start()
    try:
        return [name for name in await admin.list_topics() if name.startswith(settings.topic_prefix)]
    finally:
        await admin.close()
