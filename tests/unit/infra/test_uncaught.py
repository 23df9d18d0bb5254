"""What nobody caught: one event each, without a word of what was said."""

import asyncio
import gc
import sys
import threading

import pytest
from structlog.testing import capture_logs

from clearcall.infra.uncaught import into_events, of_loop, place_of, types_of

SAID = "my card is four two four two"


@pytest.fixture(autouse=True)
def hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(place, name, getattr(place, name))
    into_events()


def fail() -> None:
    try:
        dict[str, int]()[SAID]
    except KeyError as cause:
        raise ValueError(SAID) from cause


def test_an_error_in_a_thread_is_one_event_with_its_chain_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    with capture_logs() as logs:
        thread = threading.Thread(target=fail, name="kafka")
        thread.start()
        thread.join()
    (event,) = logs
    assert (event["event"], event["thread"], event["error"]) == ("uncaught.thread", "kafka", "ValueError <- KeyError")
    assert event["where"].startswith(f"{__file__}:")
    assert SAID not in str(logs)
    assert capsys.readouterr().err == ""


def test_a_thread_that_exits_says_nothing() -> None:
    with capture_logs() as logs:
        thread = threading.Thread(target=sys.exit)
        thread.start()
        thread.join()
    assert logs == []


def test_an_error_of_the_process_is_a_critical_event() -> None:
    try:
        fail()
    except ValueError as error:
        with capture_logs() as logs:
            sys.excepthook(type(error), error, error.__traceback__)
    assert [(log["event"], log["log_level"]) for log in logs] == [("uncaught.process", "critical")]
    assert SAID not in str(logs)


def test_an_error_as_an_object_is_collected_is_an_event() -> None:
    class Bad:
        def __del__(self) -> None:
            fail()

    with capture_logs() as logs:
        Bad()
        gc.collect()
    assert [(log["event"], log["error"]) for log in logs] == [("uncaught.object", "ValueError <- KeyError")]


async def test_a_task_that_nobody_awaited_is_an_event_without_its_words() -> None:
    async def failing() -> None:
        fail()

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(of_loop)
    with capture_logs() as logs:
        task = asyncio.create_task(failing())
        await asyncio.wait((task,))
        del task
        gc.collect()
    loop.set_exception_handler(None)
    assert [log["message"] for log in logs] == ["Task exception was never retrieved"]
    assert SAID not in str(logs)


async def test_a_loop_that_names_no_error_is_told_all_the_same() -> None:
    with capture_logs() as logs:
        of_loop(asyncio.get_running_loop(), {"message": "Task was destroyed but it is pending!"})
    assert logs[0]["error"] is None


def test_nothing_has_no_types_and_no_place() -> None:
    assert (types_of(None), place_of(None), place_of(ValueError())) == ("", None, None)
