"""What a stage did, mostly in numbers: for metrics, the benchmark and the watchdog."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Counts since the stage started, but for ``in_flight…`` and ``lag``, which are of now.

    ``active_at`` is when anything last happened that shows life: a message taken, an attempt made, a message
    finished (seconds of the runtime's clock). ``misconfigured`` is what a server refused of the settings; empty once
    something is handled.
    """

    received: int = 0
    sent: int = 0
    finished: int = 0
    dead_lettered: int = 0
    dropped: int = 0  # dead letters that could not be stored: logged, never dead-lettered again
    retried: int = 0
    repeated: int = 0  # delivered twice within one assignment and handled once
    in_flight: int = 0
    in_flight_bytes: int = 0
    lag: int = 0
    rebalances: int = 0
    active_at: float = 0.0
    misconfigured: str = ""
    dead_letters_by_reason: dict[str, int] = field(default_factory=dict)

    def died(self, reason: str) -> None:
        """Count a dead letter."""
        self.dead_lettered += 1
        self.dead_letters_by_reason[reason] = self.dead_letters_by_reason.get(reason, 0) + 1
