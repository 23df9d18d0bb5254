"""SIGTERM and SIGINT, as a worker and a run take them."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does, for the length of the block: everything is cleaned up, the exit code is 130."""

    def interrupt(_number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:  # a shell ignores Ctrl-C in what it runs in the background, but means SIGTERM
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
