"""A circuit breaker: a server that failed several times in a row is left alone, then probed with one request.

::

    CLOSED ──failures in a row──► OPEN ──rest is over, one request──► HALF_OPEN ──success──► CLOSED
                                   ▲                                      │
                                   └──────────failure, a longer rest──────┘

No I/O and no waiting in here: whoever asks says what happened.
"""

import random
from collections.abc import Callable
from enum import StrEnum

FAILURES = 5
"""In a row, until the server is left alone: more than one request tries before it gives up."""

FIRST_REST = 1.0
LONGEST_REST = 10.0
"""Seconds before the first probe and, doubled after each that fails, at most; up to half of it is taken off by chance,
so that many workers do not probe at once."""


class State(StrEnum):
    """Of the circuit: requests pass, none does, or one does."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """The circuit of one server. ``clock`` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float], rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._failures = 0
        self._rest = FIRST_REST
        self._until = 0.0
        self.state = State.CLOSED

    def allows(self) -> bool:
        """Whether a request may go now; while a probe is under way no other may."""
        return self.state is State.CLOSED or (self.state is State.OPEN and self._clock() >= self._until)

    def rests(self) -> float:
        """Seconds until the next probe may go; 0 where one may, or is under way."""
        return max(0.0, self._until - self._clock()) if self.state is State.OPEN else 0.0

    def begin(self) -> bool:
        """A request goes; whether it is the probe, which its end must be told."""
        if self.state is not State.OPEN or not self.allows():
            return False
        self.state = State.HALF_OPEN
        return True

    def succeeded(self) -> None:
        """The server answered, whatever it said: it is there."""
        self.state = State.CLOSED
        self._failures = 0
        self._rest = FIRST_REST

    def failed(self, *, probe: bool) -> None:
        """No answer, or none worth the name; of requests that began before the circuit opened nothing is learnt."""
        if probe and self.state is State.HALF_OPEN:
            self._rest = min(LONGEST_REST, 2 * self._rest)
            self._open()
        elif self.state is State.CLOSED:
            self._failures += 1
            if self._failures >= FAILURES:
                self._open()

    def abandoned(self, *, probe: bool) -> None:
        """The request was given up before its end: the next one may probe."""
        if probe and self.state is State.HALF_OPEN:
            self.state = State.OPEN

    def _open(self) -> None:
        self.state = State.OPEN
        self._until = self._clock() + self._rest * self._rng.uniform(0.5, 1.0)
