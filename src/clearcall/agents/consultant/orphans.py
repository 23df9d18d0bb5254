"""Processes that must not outlive this one, however it ends: an engine without its owner would keep the GPU."""

import multiprocessing
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_GUARD = 'while read -r pid; do pids="$pids $pid"; done; [ -z "$pids" ] || kill -9 $pids'
"""Reads process ids; its input ends when its owner does, and then it kills them. Their own children see that and go."""


class Orphans:
    """A guard over child processes of this one, until they are let go.

    In a session of its own, so that Ctrl-C does not end it before its time.
    """

    def __init__(self) -> None:
        self._others = set(multiprocessing.active_children())
        self._watched: set[BaseProcess] = set()
        self._guard = subprocess.Popen(  # noqa: S603 - a script of our own
            ["/bin/sh", "-c", _GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def watch(self) -> None:
        """Guard the children that ``multiprocessing`` has started since the last time."""
        for child in set(multiprocessing.active_children()) - self._others - self._watched:
            self._watched.add(child)
            with suppress(BrokenPipeError):
                print(child.pid, file=self._guard.stdin, flush=True)

    def kill(self) -> None:
        """End them now."""
        self.watch()
        for child in self._watched:
            child.kill()

    def let_go(self) -> None:
        """They have ended, and their ids may become others'."""
        self._guard.kill()
        self._guard.wait()
        if self._guard.stdin is not None:
            with suppress(BrokenPipeError):
                self._guard.stdin.close()
