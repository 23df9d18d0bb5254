import threading

from clearcall.streams.last_resort import EXIT_STALLED, LoopGuard


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
