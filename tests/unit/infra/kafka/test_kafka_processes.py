"""Processes and a folder that end with their owner."""

import signal
import sys

import psutil
import pytest

from clearcall.infra.kafka.errors import StartFailed
from clearcall.infra.kafka.processes import Processes, log_tail

SLEEPER = [sys.executable, "-S", "-c", "import sys, time; print('up', flush=True); time.sleep(1000)"]


def test_a_process_runs_until_it_is_closed_and_its_folder_goes_with_it() -> None:
    with Processes("clearcall-test-") as processes:
        pid = processes.start(SLEEPER, processes.folder / "log")
        assert processes.exit_code(pid) is None
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    assert not processes.folder.exists()
    processes.close()


def test_a_process_that_ends_by_itself_tells_its_code_and_its_log() -> None:
    with Processes("clearcall-test-") as processes:
        log = processes.folder / "log"
        pid = processes.start([sys.executable, "-c", "print('words'); raise SystemExit(3)"], log)
        assert processes.wait(pid, 60) == 3
        assert log_tail(log) == "words"
        processes.signal(pid, signal.SIGTERM)


def test_a_process_that_is_killed_tells_the_signal() -> None:
    with Processes("clearcall-test-") as processes:
        pid = processes.start(SLEEPER, processes.folder / "log")
        processes.signal(pid, signal.SIGKILL)
        assert processes.wait(pid, 60) == -signal.SIGKILL


def test_waiting_for_a_process_has_an_end() -> None:
    with Processes("clearcall-test-") as processes:
        pid = processes.start(SLEEPER, processes.folder / "log")
        with pytest.raises(TimeoutError, match="still runs after 0 s"):
            processes.wait(pid, 0)


def test_a_program_that_does_not_exist_is_a_clear_error() -> None:
    with Processes("clearcall-test-") as processes, pytest.raises(StartFailed, match="/no/such/program"):
        processes.start(["/no/such/program"], processes.folder / "log")


def test_nothing_starts_after_the_close() -> None:
    processes = Processes("clearcall-test-")
    processes.close()
    with pytest.raises(StartFailed, match="closed"):
        processes.start(SLEEPER, processes.folder / "log")


def test_a_terminated_guardian_takes_its_processes_along_and_the_owner_is_told() -> None:
    processes = Processes("clearcall-test-")
    pid = processes.start(SLEEPER, processes.folder / "log")
    processes._guardian.terminate()
    processes._guardian.wait()
    assert not psutil.pid_exists(pid)
    assert not processes.folder.exists()
    with pytest.raises(StartFailed, match="gone"):
        processes.exit_code(pid)
    processes.close()


def test_the_tail_of_a_missing_or_empty_log_says_so() -> None:
    with Processes("clearcall-test-") as processes:
        assert log_tail(processes.folder / "none") == "(no log)"
        (processes.folder / "empty").touch()
        assert log_tail(processes.folder / "empty") == "(the log is empty)"
