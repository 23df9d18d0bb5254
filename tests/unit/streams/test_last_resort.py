import subprocess
import sys
import threading

import pytest

from clearcall.streams.last_resort import EXIT_STALLED, LoopGuard

_TOO_LATE = "import time; from clearcall.streams.last_resort import exit_after; exit_after({}); time.sleep(600)"


def test_a_loop_that_does_not_beat_ends_the_process() -> None:
    ended = threading.Event()
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        ended.set()

    guard = LoopGuard(0.02, leave)
    guard.start()
    assert ended.wait(30)
    assert codes == [EXIT_STALLED]


def test_a_guard_that_was_stopped_ends_nothing() -> None:
    codes: list[int] = []
    guard = LoopGuard(0.02, codes.append)
    guard.stop()
    guard.start()
    guard._thread.join(30)
    assert codes == []


@pytest.mark.parametrize(("given", "code"), [("0.01", 4), ("0.01, lambda: 0", 0)])
def test_a_process_that_does_not_end_in_time_ends_with_the_code_for_what_it_has_reached(given: str, code: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _TOO_LATE.format(given)], capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == code
    assert b"stopping took more than" in ended.stdout
