"""What gets into the logs, and how."""

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from clearcall.infra.logging import LibraryLogs, configure
from clearcall.infra.settings import Settings

SECRET = "my card is four two four two"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def events(capsys: pytest.CaptureFixture[str]) -> Any:
    def read() -> list[dict[str, Any]]:
        captured = capsys.readouterr()
        assert captured.out == ""
        return [json.loads(line) for line in captured.err.splitlines()]

    return read


def test_an_event_is_one_json_line_on_stderr(events: Any) -> None:
    configure(Settings(log_format="json"))
    structlog.get_logger().info("chunk.cleaned", call_id="c", score=98.5, status="clean")
    (event,) = events()
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "chunk.cleaned", "level": "info", "call_id": "c", "score": 98.5, "status": "clean"}


def test_an_event_on_a_console_is_one_readable_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure(Settings())
    structlog.get_logger().warning("consultant.slow", call_id="c")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "consultant.slow" in captured.err
    assert "\x1b" not in captured.err


def test_events_below_the_level_are_left_out(events: Any) -> None:
    configure(Settings(log_format="json", log_level="warning"))
    structlog.get_logger().info("quiet")
    structlog.get_logger().warning("loud")
    assert [event["event"] for event in events()] == ["loud"]


@pytest.mark.parametrize("field", ["text", "said", "cleaned", "prompt", "answer", "value"])
def test_transcript_text_is_replaced_by_its_length(events: Any, field: str) -> None:
    configure(Settings(log_format="json"))
    structlog.get_logger().info("event", **{field: SECRET})
    assert events()[0][field] == f"<{len(SECRET)} not shown>"


def test_credentials_in_urls_are_masked(events: Any) -> None:
    configure(Settings(log_format="json", log_text=True))
    structlog.get_logger().info("event", url="http://me:hunter2@gpu/v1", text="see https://x?password=hunter2 now")
    (event,) = events()
    assert event["url"] == "http://********@gpu/v1"
    assert "hunter2" not in event["text"]


def test_transcript_text_is_shown_where_the_settings_allow_it(events: Any) -> None:
    configure(Settings(log_format="json", log_text=True))
    structlog.get_logger().info("event", text=SECRET)
    assert events()[0]["text"] == SECRET


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_shows_no_values_of_variables(capsys: pytest.CaptureFixture[str], log_format: str) -> None:
    configure(Settings.model_validate({"log_format": log_format}))

    def fail(spoken: str) -> None:
        raise RuntimeError(f"{len(spoken)} characters")

    try:
        fail(SECRET)
    except RuntimeError:
        structlog.get_logger().exception("failed")
    err = capsys.readouterr().err
    assert "28 characters" in err
    assert "four two" not in err


@pytest.mark.parametrize("library", ["faust", "mode", "aiokafka", "httpx", "some.other"])
def test_a_library_is_heard_from_warnings_on(events: Any, library: str) -> None:
    configure(Settings(log_format="json", log_level="debug"))
    logging.getLogger(library).info("chatter")
    logging.getLogger(library).warning("trouble with %s", "it")
    (event,) = events()
    assert (event["library"], event["message"], event["level"]) == (library, "trouble with it", "warning")


def test_a_librarys_error_is_named_in_one_line(events: Any) -> None:
    configure(Settings(log_format="json"))
    logging.getLogger("aiokafka").error("connection lost", exc_info=OSError("no route"))
    assert events()[0]["error"] == "OSError('no route')"


def test_fausts_warning_about_sensors_that_nobody_has_is_left_out(events: Any) -> None:
    configure(Settings(log_format="json"))
    logging.getLogger("clearcall.streams.faust_app").warning("%s: Missing sensor state for rebalance #%s", "app", 1)
    assert events() == []


def test_a_repeated_complaint_is_passed_on_once_in_a_while_with_the_number_left_out() -> None:
    now = 1000.0
    handler = LibraryLogs(lambda: now)
    with capture_logs() as events:
        for number in range(200):
            for message in ("no node %s", "another complaint after %s"):
                handler.handle(logging.LogRecord("aiokafka", logging.ERROR, "", 0, message, (number,), None))
            now += 0.125
    mine = [event for event in events if event["message"].startswith("no node")]
    assert [event["message"] for event in mine] == ["no node 0", "no node 80", "no node 160"]
    assert [event.get("left_out") for event in mine] == [None, 79, 79]


def test_a_library_s_error_is_no_more_than_a_warning_of_ours(events: Any) -> None:
    configure(Settings(log_format="json"))
    logging.getLogger("aiokafka").error("marking coordinator dead")
    assert events()[0]["level"] == "warning"


def test_a_long_library_message_is_cut(events: Any) -> None:
    configure(Settings(log_format="json"))
    logging.getLogger("httpx").warning("x" * 10_000)
    assert len(events()[0]["message"]) == 500


def test_configuring_twice_does_not_double_the_lines(events: Any) -> None:
    configure(Settings(log_format="json"))
    configure(Settings(log_format="json"))
    logging.getLogger("faust").warning("once")
    assert len(events()) == 1


def test_values_that_json_cannot_hold_do_not_break_the_line(events: Any) -> None:
    configure(Settings(log_format="json"))
    structlog.get_logger().info("odd", lone="\ud800", big=2**70)
    structlog.get_logger().info("object", what=sys)
    odd, thing = events()
    assert "ud800" in odd["lone"]
    assert "module" in thing["what"]
