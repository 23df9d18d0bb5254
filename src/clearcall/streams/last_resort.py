"""Ends the process from a thread, for when the event loop cannot: it hangs, or stopping takes too long."""

import os
import threading
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()

EXIT_STALLED = 3
EXIT_TOO_SLOW = 4

_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 2.0
"""From the end of all stages to that of the process, which takes a fraction of a second."""


class LoopGuard:
    """Ends the process when ``beat`` was not called for ``timeout`` seconds.

    A loop that is blocked by one handler keeps its place in the group, since heartbeats come from another thread:
    nobody else would ever get its partitions.
    """

    def __init__(self, timeout: float, leave: Callable[[int], object] = os._exit) -> None:
        self._timeout = timeout
        self._leave = leave
        self._beat_at = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="loop-guard", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self.beat()
        self._thread.start()

    def beat(self) -> None:
        """The loop runs."""
        self._beat_at = time.monotonic()

    def stop(self) -> None:
        """Watch no longer."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(min(_LOOK_SECONDS, self._timeout / 4)):
            silent = time.monotonic() - self._beat_at
            if silent > self._timeout:
                log.critical("worker.blocked", reason=f"the event loop has not run for {silent:.0f} s")
                self._leave(EXIT_STALLED)
                return


def exit_after(seconds: float, code: Callable[[], int] = lambda: EXIT_TOO_SLOW) -> None:
    """End the process with ``code()`` if it is still there after ``seconds``: what is not acked is delivered again."""

    def leave() -> None:
        found = code()
        tell = log.critical if found else log.warning
        tell("worker.too_slow", reason=f"stopping took more than {seconds:.0f} s", exit_code=found)
        os._exit(found)

    _later(seconds, leave)


def exit_with(code: int) -> None:
    """End the process with ``code`` if a thread keeps it alive after all is done: a client that waits for Kafka."""
    _later(_GRACE_SECONDS, lambda: os._exit(code))


def _later(seconds: float, act: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
