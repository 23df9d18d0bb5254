"""What nobody caught becomes one event, instead of a traceback among the lines of a log that machines read.

An event names the errors' types and the place, never their words, which may quote a transcript.
"""

import asyncio
import sys
import threading
from types import TracebackType
from typing import Any

import structlog

log = structlog.get_logger()

_MOST_LINKS = 5


def into_events() -> None:
    """Set the hooks of the interpreter and of threads for this process."""
    sys.excepthook = _of_process
    sys.unraisablehook = _of_object
    threading.excepthook = _of_thread


def of_loop(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An event loop's exception handler: what it says is the loop's own, without what an error or a task holds."""
    told = str(context.get("message", "")).partition("\n")[0]
    log.warning("uncaught.loop", message=told, **_found(context.get("exception")))


def types_of(error: BaseException | None) -> str:
    """The types of an error and of what caused it: ``NodeNotReadyError <- CancelledError``."""
    found: list[BaseException] = []
    while error is not None and error not in found and len(found) < _MOST_LINKS:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " <- ".join(type(one).__name__ for one in found)


def place_of(error: BaseException | None) -> str | None:
    """File and line of the innermost frame."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else None


def _found(error: BaseException | None) -> dict[str, str | None]:
    return {"error": types_of(error) or None, "where": place_of(error)}


def _of_process(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("uncaught.process", **_found(error))


def _of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    thread = args.thread.name if args.thread is not None else None
    log.warning("uncaught.thread", thread=thread, **_found(args.exc_value))


def _of_object(unraisable: Any) -> None:
    log.warning("uncaught.object", **_found(unraisable.exc_value))
