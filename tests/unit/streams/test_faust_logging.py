import logging
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from clearcall.infra.logging import LibraryLogs
from clearcall.streams.faust_logging import into_structlog

NAMES = ("faust", "mode", "aiokafka", "kafka")


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Also drops what other tests made the handlers remember."""
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers[:] = []
        logger.setLevel(logging.NOTSET)  # a command tested before may have silenced it
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate


def test_a_librarys_warning_becomes_one_event() -> None:
    into_structlog()
    with capture_logs() as events:
        logging.getLogger("aiokafka.consumer").warning("lost %s", "a broker")
    assert [(event["event"], event["library"], event["message"]) for event in events] == [
        ("library.log", "aiokafka.consumer", "lost a broker")
    ]


def test_a_librarys_chatter_is_left_out() -> None:
    into_structlog()
    with capture_logs() as events:
        logging.getLogger("faust.app").info("hello")
    assert events == []


def test_asking_twice_logs_once() -> None:
    into_structlog()
    into_structlog()
    assert sum(isinstance(handler, LibraryLogs) for handler in logging.getLogger("mode").handlers) == 1


def test_an_exception_is_named() -> None:
    into_structlog()
    with capture_logs() as events:
        try:
            int("broken")
        except ValueError:
            logging.getLogger("faust").exception("it failed")
    [event] = events
    assert event["error"].startswith("ValueError(")
    assert event["log_level"] == "warning"
