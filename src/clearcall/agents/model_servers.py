"""The model servers that this process asks, as its metrics show them; without the code that asks them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol
from weakref import WeakSet


class Circuit(IntEnum):
    """Of a server's circuit breaker: requests pass, one probes, or none goes."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server now: how many requests it may have at once, has, and has waiting for a place."""

    limit: int
    in_flight: int
    waiting: int
    circuit: Circuit

    def beside(self, other: "ServerState") -> "ServerState":
        """The same server asked by two clients of this process: the requests of both, the worse circuit."""
        return ServerState(
            self.limit + other.limit,
            self.in_flight + other.in_flight,
            self.waiting + other.waiting,
            max(self.circuit, other.circuit),
        )


class Observed(Protocol):
    """What asks model servers."""

    def states(self) -> Mapping[str, ServerState]:
        """Each server's state, by URL."""


_OBSERVED: WeakSet[Observed] = WeakSet()


def observe(servers: Observed) -> None:
    """Show these from now on, as long as somebody uses them."""
    _OBSERVED.add(servers)


def states() -> dict[str, ServerState]:
    """Every model server's state, by URL."""
    found: dict[str, ServerState] = {}
    for servers in list(_OBSERVED):
        for url, state in servers.states().items():
            known = found.get(url)
            found[url] = known.beside(state) if known else state
    return found
