"""When a worker is alive but useless: out of its group, without Kafka, or behind and not moving. It exits then."""

import time
from collections.abc import Callable


class Watchdog:
    """Judges what it is told; ``stall_timeout`` in seconds of ``clock``.

    A worker can leave its group and stay alive and silent: Kafka's clients do so after too long between polls.
    Attempts that fail count as activity, since a stage whose database is away must wait, not exit. One that Kafka
    does not answer exits: its client knows the brokers by the addresses that they had, and asks for them nowhere else,
    so a cluster that comes back under others is found by a new process alone.
    """

    def __init__(self, stall_timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout = stall_timeout
        self._clock = clock
        self._member_at = clock()
        self._idle_at = clock()

    def verdict(self, *, member: bool, behind: bool, active_at: float, silent: float = 0.0) -> str | None:
        """Why the worker must exit, or ``None`` while all is well.

        Args:
            member: it belongs to its consumer group and no rebalance is under way; a spare worker that was
                given no partition is a member too.
            behind: messages wait in Kafka or are under way.
            active_at: when anything last happened, by the same clock.
            silent: seconds since Kafka last answered.
        """
        now = self._clock()
        if member:
            self._member_at = now
        if not behind:
            self._idle_at = now
        if silent > self._timeout:
            return f"Kafka has not answered for {silent:.0f} s"
        if now - self._member_at > self._timeout:
            return f"no assignment for {now - self._member_at:.0f} s"
        still = now - max(active_at, self._idle_at)
        if still > self._timeout:
            return f"messages wait and nothing has happened for {still:.0f} s"
        return None
