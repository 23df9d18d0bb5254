"""What is held back while a process has not shown yet that its version works: its dead letters.

The limit of dead letters counts from zero after each start. A bad deploy that an orchestrator starts again and again
would write nearly a whole limit of letters each time, and empty the topic all the same.
"""

import asyncio
from collections.abc import Callable

from clearcall.streams.limit import Tally
from clearcall.streams.retry import Patience

_SECONDS = 60.0
"""For which dead letters are held back, from the first one on. A version that works has read and handled something
within a moment; where the only message that waits is bad, that one waits this long. Held back, no unexpected failure
is written where enough calls fail at once to reach the limit, else at most a run of them a minute."""

_PACE_SECONDS = 1.0
"""Between two unreadable messages that are let go meanwhile. A topic on which only a bad sender's rubbish waits looks
as it does to a version that reads nothing, and must not stand still for good: a start lets a minute's worth go."""


class Unproven:
    """Holds back for one stage; ``alive`` is called meanwhile, since it waits on purpose. ``clock`` only grows."""

    def __init__(self, tally: Tally, patience: Patience, alive: Callable[[], None], clock: Callable[[], float]) -> None:
        self._tally = tally
        self._patience = patience
        self._alive = alive
        self._clock = clock
        self._failing_until: float | None = None
        self._unread_until: float | None = None
        self._next_at = 0.0
        self._one_by_one = asyncio.Lock()

    async def hold_failure(self) -> None:
        """Return when the failure may be the message's own, or the limit is reached.

        Raises:
            Abandoned: the assignment ended before.
        """
        tally = self._tally
        if self._failing_until is None:
            self._failing_until = self._clock() + _SECONDS
        while not tally.proven and tally.reason is None and self._clock() < self._failing_until:
            await self._wait()

    async def hold_unreadable(self) -> None:
        """Return when something was read, when it is this message's turn, or when the limit is reached.

        Raises:
            Abandoned: the assignment ended before.
        """
        if self._unread_until is None:
            self._unread_until = self._clock() + _SECONDS
            self._next_at = self._clock() + _PACE_SECONDS
        async with self._one_by_one:
            while not self._tally.read and self._tally.reason is None and self._clock() < self._next_at:
                await self._wait()
            if self._tally.read:
                return
            if self._clock() < self._unread_until:
                self._next_at = self._clock() + _PACE_SECONDS
            else:
                self._tally.judge_unreadable()

    async def _wait(self) -> None:
        self._alive()
        await self._patience.wait(1)
