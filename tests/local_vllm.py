"""A real vLLM on this machine's CPU, by a tool in an optional folder beside the checkout."""

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

ROOT = Path(__file__).parents[1]
TOOL = ROOT.parent / "shared" / "tools" / "local-vllm"
WHEELS = ROOT.parent / "shared" / "wheels"
HOME = Path(os.environ.get("LOCAL_VLLM_HOME") or Path.home() / ".cache" / "local-vllm")
PYTHON = HOME / "venv" / "bin" / "python"
MODEL = "smollm2"
"""Small and of no use but to see that everything holds whatever a model writes."""

INSTALL_SECONDS = 600.0
"""A slow network is no fault of ours: the tests are skipped, and say so."""
READY_SECONDS = 600.0
"""Four gigabytes may have to be fetched, and a busy machine starts it slowly."""

TEST_SECONDS = 1800
"""For a test that uses it: the first one may have to install and start it all."""

_QUICK = {"VLLM_CPU_CI_ENV": "1"}
"""No warming up: a start is most of what these tests take."""

_LOG_TAIL = 3000  # characters
_GUARD = 'cat >/dev/null; kill -9 "-$0"'
"""Kills a server and all its processes once its input ends, which it does however the tests end."""


class NoVLLM(Exception):
    """There is none here; the text says what is absent."""


def install() -> Path:
    """The folder of the model, installed with vLLM if need be.

    Raises:
        NoVLLM: the tool or its wheels are not there, they find no package registry, or it takes too long.
    """
    absent = [str(path.relative_to(ROOT.parent)) for path in (TOOL, WHEELS) if not path.exists()]
    if absent:
        raise NoVLLM(f"CLEARCALL_TEST_VLLM is not set, and beside the checkout there is no {' and no '.join(absent)}")
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / ".tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of the tests may be at it
        status, said = _within(INSTALL_SECONDS, [str(TOOL), "model", MODEL])
    if status != 0:
        raise NoVLLM(f"local-vllm model {MODEL} failed: {said[-_LOG_TAIL:]}")
    return HOME / MODEL


def _within(seconds: float, command: list[str]) -> tuple[int, str]:
    """Exit status and output of a command; with all that it started it is ended where it takes longer."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -signal.SIGKILL, f"it took more than {seconds:.0f} s: run it once by hand"
        return process.returncode, said


def engine_environment() -> dict[str, str]:
    """For a vLLM in process: no hub, a small cache."""
    return _QUICK | {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}


class Server:
    """``vllm serve`` of the small model on a port, its output appended to ``log``; ends with the block."""

    def __init__(self, port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.log = log
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Return when it answers."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(TOOL), "serve", MODEL, str(self._port)],
                env=os.environ | _QUICK,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, str(self._process.pid)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """SIGKILL to all its processes; nothing happens where it does not run."""
        if self._process is None or self._guard is None:
            return
        self._guard.communicate()
        assert self._process.wait(30) == -signal.SIGKILL, self.log_tail()
        self._process = self._guard = None

    def log_tail(self) -> str:
        """The end of its log, for a failure's text."""
        return f"{self.log}: …{self.log.read_text(errors='replace')[-_LOG_TAIL:]}"

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not answers(self.url):
            assert process.poll() is None, f"vLLM ended: {self.log_tail()}"
            assert time.monotonic() < deadline, f"vLLM does not answer: {self.log_tail()}"
            time.sleep(0.3)


def answers(url: str) -> bool:
    """Whether a server there says that it is well."""
    try:
        return httpx.get(url.removesuffix("/v1") + "/health", timeout=5).is_success
    except httpx.HTTPError:
        return False


def served_model(url: str) -> str:
    """The name of the model that a server serves."""
    return str(httpx.get(f"{url}/models", timeout=30).json()["data"][0]["id"])


def requests_in(url: str) -> int:
    """How many requests a vLLM has, running or waiting, by its own metrics."""
    lines = httpx.get(url.removesuffix("/v1") + "/metrics", timeout=30).text.splitlines()
    counted = ("vllm:num_requests_running{", "vllm:num_requests_waiting{")
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(counted)))
