"""The command line as a process of its own: exit codes, Ctrl-C, and an install without extras."""

import os
import signal
import subprocess
import sys

import pytest

EXTRAS = ("faust", "mode", "aiokafka", "httpx", "clickhouse_connect", "chdb")

MAIN = "from clearcall.streams.cli import main; main()"
WITHOUT_EXTRAS = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r})); {MAIN}"

WAITING = """
import time
from clearcall.streams.cli import main, explain
def wait(*_):
    print("waiting", flush=True)
    time.sleep(60)
explain.read_transcripts = wait
main()
"""

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("CLEARCALL_")}


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT | environment,
        timeout=60,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("config", "show"),
        ("score", "um hello there", "Hello there."),
        ("explain", "um hello there", "Hello there.", "--format", "html"),
        ("worker", "--help"),
    ],
    ids=" ".join,
)
def test_the_base_install_is_enough(arguments: tuple[str, ...]) -> None:
    done = run(WITHOUT_EXTRAS, *arguments)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("worker", "--stage", "evaluator"), "worker"),
        (("topics", "list"), "worker"),
        (("db", "status"), "clickhouse"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(arguments: tuple[str, ...], extra: str) -> None:
    done = run(WITHOUT_EXTRAS, *arguments)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"do: pip install 'clearcall[{extra}]'"
    assert "Traceback" not in done.stderr


def test_the_help_loads_no_heavy_library() -> None:
    heavy = f"import sys; import clearcall.streams.cli; print([m for m in {EXTRAS!r} if m in sys.modules])"
    assert run(heavy).stdout.strip() == "[]"


def test_ctrl_c_ends_a_command_with_130_and_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, "score", "a", "b"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_the_installed_command_reports_its_exit_code() -> None:
    flagged = run(MAIN, "score", "hello", "goodbye", "--check")
    assert flagged.returncode == 1
    assert "FLAGGED" in flagged.stdout


def test_a_character_that_the_terminal_lacks_is_no_error() -> None:
    done = run(MAIN, "score", "caf\u00e9 \u2615", "Caf\u00e9 \u2615.", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Caf? ?." in done.stdout


@pytest.mark.parametrize("arguments", [("explain", "a\udce9 b", "A \udce9 B."), ("score", "", ""), ("score", "x", "")])
def test_texts_that_are_hardly_texts_are_shown(arguments: tuple[str, ...]) -> None:
    done = run(MAIN, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
