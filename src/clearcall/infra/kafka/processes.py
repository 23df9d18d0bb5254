"""Processes and a folder that end with their owner, however the owner ends."""

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clearcall.infra.kafka.errors import StartFailed

_GUARDIAN = Path(__file__).with_name("guardian.py")
_LOG_TAIL = 2000  # characters: enough for a Java stack trace's head and cause


class Processes:
    """Starts processes under a guardian, with a temporary folder of their own.

    They run in a session of their own, so that Ctrl-C reaches only the owner, which then closes them in order.
    Safe for use from several threads. A process forked from the owner without exec keeps them alive until it ends too.
    """

    def __init__(self, prefix: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = threading.Lock()
        self._guardian = subprocess.Popen(  # noqa: S603 - our own script, by our own interpreter
            [sys.executable, "-I", "-S", str(_GUARDIAN), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def start(self, argv: Sequence[str], log: Path) -> int:
        """The process id of ``argv``, its output appended to ``log``.

        Raises:
            StartFailed: the program cannot be executed.
        """
        answer = self._ask(do="start", argv=list(argv), log=str(log))
        if "error" in answer:
            raise StartFailed(answer["error"])
        return int(answer["pid"])

    def exit_code(self, pid: int) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        code = self._ask(do="poll", pid=pid)["code"]
        return None if code is None else int(code)

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a signal; nothing happens when the process has ended."""
        self._ask(do="signal", pid=pid, signal=int(number))

    def wait(self, pid: int, timeout: float) -> int:
        """The exit code, waited for.

        Raises:
            TimeoutError: it still runs after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        while (code := self.exit_code(pid)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {pid} still runs after {timeout:g} s")
            time.sleep(0.02)
        return code

    def close(self) -> None:
        """Kill what runs and remove the folder; a second call does nothing."""
        if self._guardian.stdin is None or self._guardian.stdin.closed:
            return
        with self._lock, suppress(BrokenPipeError):  # a guardian that is gone has taken all along
            self._guardian.stdin.close()
        self._guardian.wait()
        if self._guardian.stdout is not None:
            self._guardian.stdout.close()

    def _ask(self, **order: Any) -> dict[str, Any]:
        with self._lock:
            if self._guardian.stdin is None or self._guardian.stdout is None or self._guardian.stdin.closed:
                raise StartFailed("the broker is closed")
            line = ""
            with suppress(BrokenPipeError):
                print(json.dumps(order), file=self._guardian.stdin, flush=True)
                line = self._guardian.stdout.readline()
        if not line:
            raise StartFailed("the guardian of the broker's processes is gone")
        answer: dict[str, Any] = json.loads(line)
        return answer


def log_tail(log: Path) -> str:
    """The end of a log, to go into an error's text."""
    if not log.exists():
        return "(no log)"
    return log.read_text(errors="replace")[-_LOG_TAIL:].strip() or "(the log is empty)"
