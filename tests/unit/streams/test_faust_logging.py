import logging

from structlog.testing import capture_logs

from clearcall.streams.faust_logging import IntoStructlog, into_structlog


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
    assert sum(isinstance(handler, IntoStructlog) for handler in logging.getLogger("mode").handlers) == 1
