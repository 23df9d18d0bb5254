"""What Faust and the Kafka client log becomes our events; their chatter below a warning is left out."""

import logging
import time
from collections.abc import Callable

import structlog

_NAMES = ("faust", "mode", "aiokafka", "kafka")
_MOST_CHARS = 500

_QUIET_SECONDS = 10.0
"""The same complaint is repeated this often at most: with a broker away the client makes hundreds a second."""


_MOST_KINDS = 200


class IntoStructlog(logging.Handler):
    """Passes a library's record on as one event, and tells with the next how many like it were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how many were left out since

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record as our own event, never above a warning: what ends a stage is reported by the worker."""
        kind = record.name, str(record.msg)[:_MOST_CHARS]
        now = self._clock()
        said_at, left_out = self._said.get(kind, (now - _QUIET_SECONDS, 0))
        if now - said_at < _QUIET_SECONDS:
            self._said[kind] = said_at, left_out + 1
            return
        if len(self._said) >= _MOST_KINDS:
            self._said.clear()
        self._said[kind] = now, 0
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger().log(
            min(record.levelno, logging.WARNING),
            "library.log",
            library=record.name,
            message=record.getMessage()[:_MOST_CHARS],
            left_out=left_out,
            **({"error": repr(error)[:_MOST_CHARS]} if error else {}),
        )


def into_structlog() -> None:
    """Send the libraries' warnings and errors to structlog; calling it again changes nothing."""
    for name in _NAMES:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, IntoStructlog) for handler in logger.handlers):
            logger.handlers[:] = [IntoStructlog()]
        logger.setLevel(logging.WARNING)
        logger.propagate = False
