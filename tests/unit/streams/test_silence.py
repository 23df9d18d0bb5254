"""How long Kafka has not answered, as the client's connections tell it."""

from types import SimpleNamespace
from typing import Any

from aiokafka import AIOKafkaClient
from aiokafka.client import ConnectionGroup
from runtime_fakes import Time
from structlog.testing import capture_logs

from clearcall.streams.silence import Silence, answered_at


def client(coordinator_at: float | None, fetched_at: float = 0.0) -> Any:
    found = {(0, ConnectionGroup.DEFAULT): SimpleNamespace(_last_action=fetched_at)}
    if coordinator_at is not None:
        found[1, ConnectionGroup.COORDINATION] = SimpleNamespace(_last_action=coordinator_at)
    return SimpleNamespace(_conns=found)


async def test_a_client_that_never_connected_has_heard_nothing() -> None:
    assert answered_at(AIOKafkaClient()) is None


def test_only_what_the_coordinator_says_counts() -> None:
    assert answered_at(client(None, fetched_at=7.0)) is None
    assert answered_at(client(5.0, fetched_at=7.0)) == 5.0


def test_silence_counts_from_the_start_and_then_from_the_last_answer() -> None:
    time = Time()
    silence = Silence("sink", 6.0, time.clock)
    time.now += 3
    assert silence.seconds(None) == 3
    assert silence.seconds(client(time.now - 1)) == 1


def test_an_answer_is_remembered_when_its_connection_is_gone() -> None:
    time = Time()
    silence = Silence("sink", 6.0, time.clock)
    time.now += 50
    assert silence.seconds(client(time.now)) == 0
    time.now += 20
    assert silence.seconds(client(None)) == 20
    assert silence.seconds(client(time.now - 100)) == 20


def test_a_heartbeat_that_is_late_means_nothing_yet() -> None:
    silence = Silence("sink", 6.0)
    assert silence.why(6.0) == ""
    assert silence.why(7.2) == "Kafka has not answered for 7 s"


def test_going_away_and_coming_back_are_logged_once_each() -> None:
    time = Time()
    silence = Silence("sink", 6.0, time.clock)
    with capture_logs() as logs:
        for seconds in (0.0, 5.0, 7.0, 8.0, 60.0):
            time.now = 2000 + seconds
            silence.tell(seconds)
        time.now += 1
        for _ in range(3):
            silence.tell(0.5)
    assert [(log["event"], log["stage"]) for log in logs] == [("kafka.silent", "sink"), ("kafka.back", "sink")]
    assert (logs[0]["seconds"], logs[1]["after_seconds"]) == (7.0, 60.5)
