"""A model server that a benchmark starts, ends and starts again."""

import asyncio
import os
import shlex
import signal
from pathlib import Path

import httpx

START_SECONDS = 600.0


class ModelServer:
    """A model server as a process group of its own."""

    def __init__(self, command: str, url: str, log: Path) -> None:
        self._command = shlex.split(command)
        self._models = f"{url}/models"
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Return when it answers."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdout=log, stderr=log, start_new_session=True
            )
        async with httpx.AsyncClient(timeout=5) as client, asyncio.timeout(START_SECONDS):
            while not await _answers(client, self._models):
                if self._process.returncode is not None:
                    raise SystemExit(f"the model server ended with {self._process.returncode}: see {self._log}")
                await asyncio.sleep(0.5)

    def signal(self, number: signal.Signals) -> None:
        """To all its processes."""
        if self._process and self._process.returncode is None:
            os.killpg(self._process.pid, number)

    async def kill(self) -> None:
        """End it at once."""
        self.signal(signal.SIGKILL)
        if self._process:
            await self._process.wait()


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url)).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
