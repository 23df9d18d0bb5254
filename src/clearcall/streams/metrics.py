"""Every metric of a worker, in one list: name, kind, meaning, and where its value is read."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from clearcall import __version__
from clearcall.agents import model_servers
from clearcall.agents.evaluator_agent.counts import Counts, total
from clearcall.agents.model_servers import ServerState
from clearcall.streams.counters import Counters


class Measured(Protocol):
    """A stage as the metrics see it."""

    @property
    def name(self) -> str:
        """The stage's name."""

    @property
    def counters(self) -> Counters:
        """What it did so far."""

    def absence(self) -> str:
        """Why it is not in its consumer group; empty where it is, Kafka answers, and no rebalance is under way."""

    def silent_seconds(self) -> float:
        """Since Kafka last answered."""


class Kind(StrEnum):
    """A counter only grows while the worker lives; a gauge is of now."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Defined:
    """A metric. Where ``by`` names a second label beside ``stage``, ``read`` gives a value for each of the label's."""

    name: str
    kind: Kind
    meaning: str
    read: Callable[[Measured, float], float | Mapping[str, float]]
    by: str | None = None


METRICS: tuple[Defined, ...] = (
    Defined("messages_received", Kind.COUNTER, "messages taken from Kafka", lambda s, _: s.counters.received),
    Defined("messages_finished", Kind.COUNTER, "messages handled to their end", lambda s, _: s.counters.finished),
    Defined("messages_sent", Kind.COUNTER, "messages that Kafka has confirmed", lambda s, _: s.counters.sent),
    Defined(
        "dead_letters",
        Kind.COUNTER,
        "messages that went to the dead letters",
        lambda s, _: s.counters.dead_letters_by_reason,
        by="reason",
    ),
    Defined(
        "dead_letters_dropped",
        Kind.COUNTER,
        "dead letters that could not be stored: logged and counted only",
        lambda s, _: s.counters.dropped,
    ),
    Defined("retries", Kind.COUNTER, "attempts after a failure", lambda s, _: s.counters.retried),
    Defined(
        "messages_repeated",
        Kind.COUNTER,
        "messages delivered twice within one assignment and handled once",
        lambda s, _: s.counters.repeated,
    ),
    Defined("rebalances", Kind.COUNTER, "assignments of partitions that ended", lambda s, _: s.counters.rebalances),
    Defined("in_flight_messages", Kind.GAUGE, "messages under way", lambda s, _: s.counters.in_flight),
    Defined("in_flight_bytes", Kind.GAUGE, "their bytes as they came", lambda s, _: s.counters.in_flight_bytes),
    Defined(
        "lag_messages", Kind.GAUGE, "messages of the assigned partitions not yet finished", lambda s, _: s.counters.lag
    ),
    Defined("group_member", Kind.GAUGE, "1 in its consumer group, else 0", lambda s, _: float(not s.absence())),
    Defined(
        "kafka_silent_seconds",
        Kind.GAUGE,
        "since the group's coordinator last answered, which it does each second but for rebalances",
        lambda s, _: s.silent_seconds(),
    ),
    Defined(
        "idle_seconds",
        Kind.GAUGE,
        "since anything was taken, tried or finished; with lag it is a stall",
        lambda s, now: max(0.0, now - s.counters.active_at),
    ),
)
"""Each is shown as ``clearcall_<name>`` (counters with ``_total`` behind) with the label ``stage``."""


@dataclass(frozen=True, slots=True)
class OfServer:
    """A gauge of each model server."""

    name: str
    meaning: str
    read: Callable[[ServerState], float]


OF_SERVERS: tuple[OfServer, ...] = (
    OfServer("model_requests_limit", "requests that the server may have at once, as it bears them", lambda s: s.limit),
    OfServer("model_requests_in_flight", "requests that it has", lambda s: s.in_flight),
    OfServer("model_requests_waiting", "requests that wait for a place", lambda s: s.waiting),
    OfServer("model_circuit", "0 it is asked, 1 it is probed, 2 it is left alone", lambda s: s.circuit),
)
"""Each is shown as ``clearcall_<name>`` with the label ``server``: its URL, or the model of an engine in process."""


@dataclass(frozen=True, slots=True)
class OfCalls:
    """A counter of the evaluator agent's calls, by a label."""

    name: str
    meaning: str
    by: str
    read: Callable[[Counts], Mapping[str, int]]


OF_CALLS: tuple[OfCalls, ...] = (
    OfCalls(
        "evaluator_agent_calls",
        "calls by their distortion, and those that never were by why",
        "result",
        lambda c: c.calls,
    ),
    OfCalls("evaluator_agent_flags", "calls by what they would have done to the flag", "change", lambda c: c.flags),
)
"""Each is shown as ``clearcall_<name>_total`` where the evaluator agent is on."""


class Metrics:
    """What ``/metrics`` shows.

    Args:
        stages: gives the stages as they are now.
        clock: the runtime's, seconds that only grow.
    """

    def __init__(self, stages: Callable[[], Sequence[Measured]], clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Stages(stages, clock))
        ProcessCollector(registry=self._registry)

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """The text and its content type, in the format that the ``Accept`` header asks for."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self._registry), content_type


class _Stages(Collector):
    def __init__(self, stages: Callable[[], Sequence[Measured]], clock: Callable[[], float]) -> None:
        self._stages = stages
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        stages, now = self._stages(), self._clock()
        for defined in METRICS:
            yield _family(defined, stages, now)
        servers = model_servers.states()
        for gauge in OF_SERVERS:
            family = GaugeMetricFamily(f"clearcall_{gauge.name}", gauge.meaning, labels=["server"])
            for url, state in servers.items():
                family.add_metric([url], gauge.read(state))
            yield family
        for counter in OF_CALLS:
            counted = CounterMetricFamily(f"clearcall_{counter.name}", counter.meaning, labels=[counter.by])
            for value, count in counter.read(total()).items():
                counted.add_metric([value], count)
            yield counted
        info = GaugeMetricFamily("clearcall_info", "1, with the version as a label", labels=["version"])
        info.add_metric([__version__], 1)
        yield info


def _family(defined: Defined, stages: Iterable[Measured], now: float) -> Metric:
    make = CounterMetricFamily if defined.kind is Kind.COUNTER else GaugeMetricFamily
    labels = ["stage", *([defined.by] if defined.by else [])]
    family = make(f"clearcall_{defined.name}", defined.meaning, labels=labels)
    for stage in stages:
        found = defined.read(stage, now)
        if isinstance(found, Mapping):
            for value, count in found.items():
                family.add_metric([stage.name, value], count)
        else:
            family.add_metric([stage.name], found)
    return family
