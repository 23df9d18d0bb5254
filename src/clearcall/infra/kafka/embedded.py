"""Which broker this machine can start by itself."""

from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol, Self

from clearcall.infra.kafka import maven
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.errors import NoBroker
from clearcall.infra.kafka.tansu import Tansu, binary

Kind = Literal["kafka", "tansu"]


class EmbeddedBroker(Protocol):
    """A broker that its user starts and stops; every call blocks."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def session_timeout(self) -> float:
        """Seconds; the consumers' session timeout that suits it."""
        ...

    @property
    def bootstrap(self) -> str:
        """``host:port``, known once it runs."""
        ...

    def __enter__(self) -> Self:
        """Start it."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Stop it."""
        ...

    def start(self) -> None:
        """Start it and return when it serves; raises ``NoBroker`` or ``StartFailed``."""
        ...

    def stop(self) -> None:
        """Leave neither process nor folder; a second call does nothing."""
        ...


def choose(prefer: Kind = "kafka") -> EmbeddedBroker:
    """A broker, not yet started: the preferred kind if this machine can run it, else the other.

    Raises:
        NoBroker: it can run neither; the text says what to install.
    """
    order: tuple[Kind, Kind] = ("kafka", "tansu") if prefer == "kafka" else ("tansu", "kafka")
    refusals = []
    for kind in order:
        try:
            return _MAKERS[kind]()
        except NoBroker as refusal:
            refusals.append(str(refusal))
    raise NoBroker(
        "No Kafka can be started here. Name one with CLEARCALL_KAFKA=host:port, or make one of these work:"
        + "".join(f"\n- {refusal}" for refusal in refusals),
    )


def _kafka() -> EmbeddedBroker:
    maven.java()
    if not maven.can_resolve():
        raise NoBroker("Apache Kafka is fetched by Maven: there is no mvn on the PATH")
    return ApacheKafka()


def _tansu() -> EmbeddedBroker:
    binary()
    return Tansu()


_MAKERS: dict[Kind, Callable[[], EmbeddedBroker]] = {"kafka": _kafka, "tansu": _tansu}
