"""A worker's process as the benchmark sees it: started, watched, stopped; and what its samples say."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("pipeline_worker.py")
WARM_UP = 0.1  # of the messages: imports, joining the group and the first fetch are no part of a rate
IDLE_SECONDS = 120.0  # without a further message the run has failed
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Sample:
    """A moment of a worker."""

    seconds: float
    finished: int
    cpu: float
    foreign: float
    rss: int


class Worker:
    """A worker's process and its samples."""

    def __init__(self, role: str, process: asyncio.subprocess.Process) -> None:
        self.role = role
        self.samples: list[Sample] = []
        self._process = process
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, role: str, settings: dict[str, Any], folder: Path) -> "Worker":
        """Start a process for ``role``."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(WORKER), role, json.dumps(settings), stdout=asyncio.subprocess.PIPE, cwd=folder
        )
        return cls(role, process)

    @property
    def finished(self) -> int:
        """Messages it has finished so far."""
        return self.samples[-1].finished if self.samples else 0

    async def reach(self, target: Callable[[], int]) -> None:
        """Return when it has finished that many; raises when it ends or stands still."""
        seen, since = -1, time.monotonic()
        while self.finished < target():
            if self._process.returncode is not None:
                raise RuntimeError(f"{self.role} ended with {self._process.returncode}")
            if self.finished != seen:
                seen, since = self.finished, time.monotonic()
            if time.monotonic() - since > IDLE_SECONDS:
                raise RuntimeError(f"{self.role} stands still at {seen} of {target()} messages")
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """End it in order."""
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            word, _, rest = line.partition(b" ")
            if word == b"sample":
                self.samples.append(Sample(**json.loads(rest)))


@dataclass(frozen=True)
class Measured:
    """A worker's rate and what a message cost it: ``own`` and ``foreign`` are processor microseconds a message."""

    role: str
    messages: int
    rate: float
    own: float
    foreign: float
    rss: tuple[float, ...]


def measure(role: str, samples: Sequence[Sample], target: int) -> Measured:
    """From the end of the warm-up to the first sample at which the target is reached."""
    first = next(one for one in samples if one.finished >= WARM_UP * target)
    last = next(one for one in samples if one.finished >= target)
    done = last.finished - first.finished
    foreign = last.foreign - first.foreign
    own = last.cpu - first.cpu - foreign
    rss = tuple(
        next(one for one in samples if one.finished >= part * target).rss / MEGABYTE for part in (0.25, 0.5, 0.75, 1.0)
    )
    rate = done / (last.seconds - first.seconds)
    return Measured(role, last.finished, rate, own / done * 1e6, foreign / done * 1e6, rss)
