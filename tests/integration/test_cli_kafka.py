"""The command line against a real Kafka and the embedded ClickHouse engine."""

import json
import os
import signal
import subprocess
import sys

import pytest

from clearcall.infra.settings import Settings

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
