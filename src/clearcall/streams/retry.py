"""Waiting between attempts: exponential with jitter, cut short when the work is no longer ours."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn

Sleep = Callable[[float], Awaitable[None]]


class Abandoned(Exception):
    """The assignment ends while a message waits for its next attempt: it is given up, and delivered again."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait, in seconds: ``first`` doubles up to ``most``.

    The half of each wait is random, so that workers that failed together do not come back together. ``most``
    stays well under the stall timeout: attempts are the sign of life of a stage whose database is away.
    """

    first: float = 0.2
    most: float = 20.0

    def delay(self, failures: int, source: random.Random) -> float:
        """The wait after that many failures (at least 1)."""
        ceiling = min(self.most, self.first * 2.0 ** min(failures - 1, 30))
        return ceiling * (0.5 + 0.5 * source.random())


class Patience:
    """Waits between attempts, and knows when to stop waiting."""

    def __init__(self, backoff: Backoff, source: random.Random, sleep: Sleep = asyncio.sleep) -> None:
        self._backoff = backoff
        self._random = source
        self._sleep = sleep
        self._over = asyncio.Event()

    async def wait(self, failures: int) -> None:
        """Wait after that many failures.

        Raises:
            Abandoned: the assignment ended before or meanwhile.
        """
        if not self._over.is_set():
            sleeping = asyncio.ensure_future(self._sleep(self._backoff.delay(failures, self._random)))
            over = asyncio.ensure_future(self._over.wait())
            try:
                await asyncio.wait((sleeping, over), return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
                over.cancel()
        if self._over.is_set():
            raise Abandoned

    async def hold(self) -> NoReturn:
        """Wait for the end of the assignment: for what must neither go on nor be acked.

        Raises:
            Abandoned: it has come.
        """
        await self._over.wait()
        raise Abandoned

    def end(self) -> None:
        """Wake everything that waits: it gets ``Abandoned``."""
        self._over.set()

    def renew(self) -> None:
        """A new assignment: waiting is worth while again."""
        self._over.clear()
