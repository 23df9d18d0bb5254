"""How long Kafka has not answered a stage: what the client believes of its group is stale while Kafka is away."""

import time
from collections.abc import Callable
from typing import Any

import structlog
from aiokafka.client import ConnectionGroup

log = structlog.get_logger()


class Silence:
    """Seconds since the group's coordinator last answered; a member asks it about every second, by its heartbeat.

    The client goes on believing that it belongs to its group for as long as it cannot ask.

    Args:
        limit: seconds after which Kafka is called away: the session timeout, when the group gives the worker up, too.
        clock: that of the client's connections.
    """

    def __init__(self, stage: str, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stage = stage
        self._limit = limit
        self._clock = clock
        self._heard_at = clock()
        self._away_since: float | None = None

    def seconds(self, client: Any) -> float:
        """Since the last answer to ``client``, aiokafka's; ``None`` before there is one."""
        answers = answered_at(client) if client is not None else None
        self._heard_at = max(self._heard_at, answers or 0.0)
        return max(0.0, self._clock() - self._heard_at)

    def why(self, seconds: float) -> str:
        """What is wrong after ``seconds`` of silence; empty where it is not long enough to mean anything."""
        return f"Kafka has not answered for {seconds:.0f} s" if seconds > self._limit else ""

    def tell(self, seconds: float) -> None:
        """Log once that Kafka went away, and once that it is back."""
        if seconds > self._limit and self._away_since is None:
            self._away_since = self._clock() - seconds
            log.warning("kafka.silent", stage=self._stage, seconds=round(seconds, 1))
        elif seconds <= self._limit and self._away_since is not None:
            silent = self._clock() - seconds - self._away_since
            self._away_since = None
            log.info("kafka.back", stage=self._stage, after_seconds=round(silent, 1))


def answered_at(client: Any) -> float | None:
    """When the coordinator last answered on a connection that ``client`` still knows; ``None`` where it knows none.

    Read from another thread than the client's; a connection is known from its first answer on.
    """
    connections = client._conns.copy()  # noqa: SLF001 - aiokafka shows it nowhere else; pinned by a test
    found = [
        connection._last_action  # noqa: SLF001 - the same
        for (_, group), connection in connections.items()
        if group == ConnectionGroup.COORDINATION
    ]
    return max(found, default=None)
