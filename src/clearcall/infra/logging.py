"""Logs: one event a line on stderr, for a person or as JSON; what libraries log goes the same way.

Events carry ids and scores. A field that can hold what somebody said is replaced by its length unless
``log_text`` allows it, and tracebacks never show the values of variables.
"""

import logging
import math
import os
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import orjson
import structlog
from structlog.typing import Processor
from typing_extensions import override

from clearcall.infra.settings import Settings
from clearcall.infra.settings_sources import masked

TEXT_FIELDS = frozenset(
    {
        "text",
        "said",
        "wrote",
        "cleaned",
        "source_text",
        "fragment",
        "answer",
        "prompt",
        "content",
        "transcript",
        "value",
    }
)
"""Fields of an event that hold transcript text."""

_CHATTY = ("faust", "mode", "aiokafka", "kafka", "httpx", "httpcore", "clickhouse_connect", "asyncio")
_NOISE = "Missing sensor state"
"""Faust warns so at each rebalance of an app that has no sensor, which is every one of ours."""
_MOST_CHARS = 500
"""Of a library's message: some quote whole requests."""


_QUIET_SECONDS = 10.0
"""The same complaint is repeated this often at most: with a broker away the client makes hundreds a second."""

_MOST_KINDS = 200


class LibraryLogs(logging.Handler):
    """Passes the records of the standard library's logging on as events, and tells how many of a kind were left out.

    Never above a warning: what a library calls an error may pass, and what ends a stage is reported by the worker.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how many were left out since

    @override
    def emit(self, record: logging.LogRecord) -> None:
        said = str(record.msg)[:_MOST_CHARS]
        left_out = None if _NOISE in said else self._left_out((record.name, said))
        if left_out is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger().log(
            min(record.levelno, logging.WARNING),
            "library.log",
            library=record.name,
            message=record.getMessage()[:_MOST_CHARS],
            **({"left_out": left_out} if left_out else {}),
            **({"error": repr(error)[:_MOST_CHARS]} if error else {}),
        )

    def _left_out(self, kind: tuple[str, str]) -> int | None:
        """How many of a kind were left out since the last one; ``None`` where it is too early for another."""
        now = self._clock()
        said_at, left_out = self._said.get(kind, (-math.inf, 0))
        if now - said_at < _QUIET_SECONDS:
            self._said[kind] = said_at, left_out + 1
            return None
        if len(self._said) >= _MOST_KINDS:
            self._said.clear()
        self._said[kind] = now, 0
        return left_out


def configure(settings: Settings) -> None:
    """Set up logging for this process; the last call counts.

    Libraries are heard from warnings on, whatever ``log_level``: their chatter is not about this deployment's calls.
    """
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if settings.log_text else [without_text]),
            without_credentials,
            *_rendering(settings),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_to_stderr,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [LibraryLogs()]
    root.setLevel(max(level, logging.WARNING))
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    logging.captureWarnings(capture=True)


def without_text(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace what somebody said by how long it was."""
    for name in TEXT_FIELDS & event.keys():
        if isinstance(event[name], str | bytes | list | tuple | dict):
            event[name] = f"<{len(event[name])} not shown>"
    return event


def without_credentials(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask user and password in the URLs of an event."""
    for name, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[name] = masked(value)
    return event


def _rendering(settings: Settings) -> list[Processor]:
    if settings.log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_as_json)]
    colors = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _as_json(event: Any, **_: Any) -> str:
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # a lone surrogate, or a number beyond 64 bits
        return orjson.dumps({name: ascii(value) for name, value in event.items()}).decode()


def _to_stderr(*_: Any) -> structlog.WriteLogger:
    """Standard error as it is when the event comes: it may have been redirected since."""
    return structlog.WriteLogger(sys.stderr)
