"""SIGTERM and SIGINT, as a worker and a run take them."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clearcall.streams.last_resort import exit_after

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def on_signal(act: Callable[[str], None]) -> Iterator[None]:
    """Call ``act`` in the event loop with a signal's name, for the length of the block.

    Afterwards what was there before counts again: a second signal must not end the process as a failure while it is
    on its way out.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        loop.add_signal_handler(number, act, number.name)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


@contextmanager
def cancelled_by_sigterm(seconds: float) -> Iterator[None]:
    """SIGTERM cancels the present task, as Ctrl-C does, so that it cleans up; for the length of the block.

    A task that was cancelled has cleaned up when it leaves the block; what libraries leave running then gets
    ``seconds`` until the process ends anyway.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        exit_after(seconds)
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
