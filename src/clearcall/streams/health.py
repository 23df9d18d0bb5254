"""What a worker says of itself: alive while its event loop answers, ready while all stages are in their groups."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from clearcall.streams.limit import Tally
from clearcall.streams.metrics import Measured
from clearcall.streams.stages import stands_aside


class Watched(Measured, Protocol):
    """A stage as its health is judged."""

    @property
    def tally(self) -> Tally:
        """Its dead letters against their limit."""


@dataclass(frozen=True, slots=True)
class StageHealth:
    """One stage; ``why`` is empty where it is ready, ``idle_seconds`` since anything was taken, tried or finished."""

    ready: bool
    why: str
    in_flight: int
    lag: int
    idle_seconds: float


class Health:
    """The stages of this worker, from the first moment on.

    Args:
        clock: the runtime's, seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.stages: Sequence[Watched] = ()

    def watch(self, stages: Sequence[Watched]) -> None:
        """The stages are built; they may not have started."""
        self.stages = stages

    def ready(self) -> tuple[bool, dict[str, Any]]:
        """Whether messages can be handled now, and the state of every stage; one aside counts only alone."""
        found = {stage.name: self._of(stage) for stage in self.stages}
        delivering = {name: one for name, one in found.items() if not stands_aside(name)} or found
        ready = bool(found) and all(one.ready for one in delivering.values())
        return ready, {"ready": ready, "stages": {name: asdict(one) for name, one in found.items()}}

    def _of(self, stage: Watched) -> StageHealth:
        counters = stage.counters
        why = stage.tally.reason or stage.absence()
        return StageHealth(
            ready=not why,
            why=why,
            in_flight=counters.in_flight,
            lag=counters.lag,
            idle_seconds=round(max(0.0, self._clock() - counters.active_at), 1),
        )
