"""How many requests a server has at once, by how it bears them: one more for each round that goes well, half where not.

``Limit`` is the number, without I/O; ``Places`` makes requests wait for it.
"""

import asyncio
from collections import deque
from types import TracebackType

CUT = 0.5
"""What is left of the number where the server is overloaded."""

LEAST_SHARE = 8
"""It never goes below an eighth of the most: a server that is slow by nature still batches."""


class Limit:
    """The number in flight for one server, between an eighth of ``most`` and ``most``, where it begins.

    Additive increase: a round of answers, as many as the number, adds one, if the number was reached at all.
    Multiplicative decrease: a refusal (429, 503), a timeout, or an answer later than ``slow`` seconds halves it, once
    for all requests that were under way together.
    """

    def __init__(self, most: int, slow: float) -> None:
        self._most = most
        self._least = max(1, most // LEAST_SHARE)
        self._slow = slow
        self._exact = float(most)
        self._cut_at = float("-inf")

    @property
    def size(self) -> int:
        """Requests that may be under way."""
        return int(self._exact)

    def answered(self, began: float, now: float, held: int) -> None:
        """A request that began then has its answer; ``held`` were under way, itself included."""
        if now - began > self._slow:
            self.overloaded(began, now)
        elif held >= self.size:
            self._exact = min(self._most, self._exact + 1 / self._exact)

    def overloaded(self, began: float, now: float) -> None:
        """The server refused a request that began then, or was too slow for it."""
        if began > self._cut_at:
            self._exact = max(self._least, self._exact * CUT)
            self._cut_at = now


class Places:
    """Places for as many requests as a limit says, first come, first served: ``async with`` holds one."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Requests without a place."""
        return len(self._waiting)

    async def __aenter__(self) -> None:
        """Wait for a place."""
        if self.held < self.limit.size and not self._waiting:
            self.held += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # given and cancelled at once: to the next one
                self._leave()
            else:
                self._waiting.remove(place)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the place back."""
        self._leave()

    def _leave(self) -> None:
        self.held -= 1
        while self._waiting and self.held < self.limit.size:
            self._waiting.popleft().set_result(None)
            self.held += 1
