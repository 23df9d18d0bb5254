"""A worker that is stopped while it starts."""

import os
import signal
import subprocess
import sys

import pytest

from clearcall.__main__ import _command

_SLOW_IMPORTS = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "clearcall.streams.cli":
            print("importing", flush=True)
            time.sleep(600)
sys.meta_path.insert(0, Slow())
sys.argv = ["clearcall", *sys.argv[1:]]
from clearcall.__main__ import main
main()
"""


_SILENT = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
kept = server.accept()
print("asked", flush=True)
sys.stdin.read()
"""


def start(*argv: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CLEARCALL_")}
    return subprocess.Popen(
        [sys.executable, *argv],
        env=clean,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_is_loaded_ends_it_as_a_worker_that_stopped(number: signal.Signals) -> None:
    with start("-c", _SLOW_IMPORTS, "worker", "--stage", "sink") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_a_signal_while_kafka_does_not_answer_ends_it_with_zero() -> None:
    with start("-c", _SILENT) as server:
        assert server.stdout is not None
        kafka = f"127.0.0.1:{int(server.stdout.readline())}"
        with start("-m", "clearcall", "worker", "--stage", "evaluator", "--kafka", kafka) as process:
            assert server.stdout.readline() == "asked\n"
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        server.communicate(timeout=60)
    assert process.returncode == 0
    assert "worker.signal" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["worker", "--stage", "all"], "worker"),
        (["--config", "score", "worker"], "worker"),
        (["--debug", "--config=x", "score", "worker"], "score"),
        (["--help"], None),
        ([], None),
        (["--config"], None),
    ],
)
def test_the_command_is_found_among_the_options(arguments: list[str], command: str | None) -> None:
    assert _command(arguments) == command
