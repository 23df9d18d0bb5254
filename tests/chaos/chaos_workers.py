"""Workers as an orchestrator runs them: each started again when it ends, until it is taken away."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STAGES = ("consultant", "evaluator", "sink")

_CLOCKED = Path(__file__).with_name("chaos_clock.py")
_AGAIN_SECONDS = 0.5
_READY_SECONDS = 120.0
"""For a worker to start and join, on a machine that is busy."""
_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 40.0
"""From SIGTERM until a worker counts as stuck: above its stop timeout, for a machine that is busy."""


@dataclass
class Worker:
    """One worker's place: the process that is there now, and how those before it ended."""

    stage: str
    name: str
    environment: Mapping[str, str]
    folder: Path
    ends: Counter[int] = field(default_factory=Counter)
    starts: int = 0
    process: asyncio.subprocess.Process | None = None
    stopped: bool = False
    _keeper: asyncio.Task[None] | None = None
    _wanted: bool = True

    def start(self) -> None:
        """Run it from now on."""
        self.skew(0)
        self._keeper = asyncio.create_task(self._keep())

    def skew(self, seconds: float) -> None:
        """Let its clock be wrong by so much."""
        file = self._clock.with_suffix(".new")
        file.write_text(str(seconds))
        file.replace(self._clock)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if one is there."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)

    async def take_away(self) -> int | None:
        """End it in order; its exit code, or ``None`` where it was stuck and had to be killed."""
        self._wanted = False
        process = self.process
        if process is not None:
            self.signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS)
            except TimeoutError:
                self.signal(signal.SIGKILL)
                await process.wait()
                return None
        if self._keeper is not None:
            await self._keeper
        return process.returncode if process is not None else 0

    async def restart(self) -> tuple[int, float]:
        """End it in order and wait until its successor works; the exit code, and the seconds that the end took."""
        assert self.process is not None
        ended, before, began = self.process, self._times_ready(), time.monotonic()
        self.signal(signal.SIGTERM)
        code = await ended.wait()
        seconds = time.monotonic() - began
        async with asyncio.timeout(_READY_SECONDS):
            while self._times_ready() == before:  # noqa: ASYNC110 - another process says it, in a file
                await asyncio.sleep(_LOOK_SECONDS)
        return code, seconds

    def _times_ready(self) -> int:
        """How often a process here joined its group: it says so."""
        return self._log.read_bytes().count(b'"stage.started"')

    async def abandon(self) -> None:
        """End it at once."""
        self._wanted = False
        self.signal(signal.SIGKILL)
        if self._keeper is not None:
            await self._keeper

    @property
    def _clock(self) -> Path:
        return self.folder / f"{self.name}.clock"

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"

    async def _keep(self) -> None:
        with self._log.open("ab") as log:
            while self._wanted:
                self.process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    str(_CLOCKED),
                    str(self._clock),
                    "worker",
                    "--stage",
                    self.stage,
                    env=os.environ | self.environment,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C reaches the harness alone
                )
                self.starts += 1
                log.write(f"--- started {self.process.pid} at {time.time():.1f}\n".encode())
                log.flush()
                self.ends[await self.process.wait()] += 1
                await asyncio.sleep(_AGAIN_SECONDS)


class Fleet:
    """All workers; ``environments`` holds the settings of each side of the network."""

    def __init__(self, environments: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        self._environments = environments
        self._folder = folder
        self._added = 0
        self._gone: list[Worker] = []
        self.workers: list[Worker] = []

    def start(self) -> None:
        """Two workers of every stage, one on each side."""
        for stage in STAGES:
            for side in self._environments:
                self.add(stage, side)

    def add(self, stage: str, side: str) -> Worker:
        self._added += 1
        worker = Worker(stage, f"{stage}-{side}-{self._added}", self._environments[side], self._folder)
        self.workers.append(worker)
        worker.start()
        return worker

    async def remove(self, worker: Worker) -> None:
        """Take a worker away in order."""
        self.workers.remove(worker)
        self._gone.append(worker)
        worker.stopped = await worker.take_away() is not None

    async def stop(self) -> list[str]:
        """Take all away in order; the names of those that were stuck."""
        await asyncio.gather(*(self.remove(worker) for worker in tuple(self.workers)))
        return [worker.name for worker in self._gone if not worker.stopped]

    async def abandon(self) -> None:
        """End all at once: what the end of a run that failed needs."""
        await asyncio.gather(*(worker.abandon() for worker in self.workers))

    @property
    def ends(self) -> Counter[int]:
        """How often a worker's process ended, by exit code; negative for a signal."""
        return sum((worker.ends for worker in (*self.workers, *self._gone)), Counter())
