"""What ``/metrics`` shows."""

from dataclasses import dataclass, field, fields

from prometheus_client.parser import text_string_to_metric_families

from clearcall import __version__
from clearcall.agents.evaluator_agent.counts import observed
from clearcall.agents.model_servers import Circuit, ServerState, observe
from clearcall.streams.counters import Counters
from clearcall.streams.metrics import METRICS, Kind, Metrics


@dataclass
class FakeStage:
    name: str = "sink"
    counters: Counters = field(default_factory=Counters)
    member: bool = True
    silent: float = 0.0

    def absence(self) -> str:
        return "" if self.member else "not in its consumer group"

    def silent_seconds(self) -> float:
        return self.silent


def shown(*stages: FakeStage, now: float = 0.0) -> dict[tuple[str, str], float]:
    """Every sample of ours: by name, and its labels' values joined."""
    text, content_type = Metrics(lambda: stages, lambda: now).page()
    assert content_type.startswith("text/plain")
    return {
        (sample.name, "/".join(value for _, value in sorted(sample.labels.items(), reverse=True))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_every_counter_of_a_stage_is_shown_with_its_value() -> None:
    counters = Counters(
        received=1,
        sent=2,
        finished=3,
        dropped=4,
        retried=5,
        repeated=6,
        in_flight=7,
        in_flight_bytes=8,
        lag=9,
        rebalances=10,
        active_at=100.0,
    )
    for reason, number in (("poison", 2), ("not_json", 1)):
        for _ in range(number):
            counters.died(reason)
    found = shown(FakeStage("sink", counters, silent=1.5), now=111.0)
    assert {
        name.removeprefix("clearcall_"): value
        for (name, labels), value in found.items()
        if labels == "sink" and name.startswith("clearcall_")
    } == {
        "messages_received_total": 1,
        "messages_sent_total": 2,
        "messages_finished_total": 3,
        "dead_letters_dropped_total": 4,
        "retries_total": 5,
        "messages_repeated_total": 6,
        "in_flight_messages": 7,
        "in_flight_bytes": 8,
        "lag_messages": 9,
        "rebalances_total": 10,
        "group_member": 1,
        "kafka_silent_seconds": 1.5,
        "idle_seconds": 11,
    }
    assert found["clearcall_dead_letters_total", "sink/poison"] == 2
    assert found["clearcall_dead_letters_total", "sink/not_json"] == 1
    known = {
        "active_at",
        "dead_lettered",
        "dead_letters_by_reason",
        "misconfigured",
    }  # idle_seconds, dead_letters, text
    assert len(fields(Counters)) - len(known) + 4 == len(METRICS)


def test_several_stages_are_told_apart_and_none_is_no_error() -> None:
    found = shown(FakeStage("consultant", member=False), FakeStage("evaluator"))
    assert found["clearcall_group_member", "consultant"] == 0
    assert found["clearcall_group_member", "evaluator"] == 1
    assert shown()["clearcall_info", __version__] == 1


class FakeServers:
    def states(self) -> dict[str, ServerState]:
        return {"http://metered/v1": ServerState(16, 3, 2, Circuit.HALF_OPEN)}


def test_every_model_server_is_shown_with_its_limit_its_requests_and_its_circuit() -> None:
    servers = FakeServers()
    observe(servers)
    found = {name: value for (name, labels), value in shown().items() if labels == "http://metered/v1"}
    assert found == {
        "clearcall_model_requests_limit": 16,
        "clearcall_model_requests_in_flight": 3,
        "clearcall_model_requests_waiting": 2,
        "clearcall_model_circuit": 1,
    }


def test_the_evaluator_agents_calls_are_shown_by_their_distortion_and_their_flags() -> None:
    before = shown()
    counts = observed()
    counts.calls.update(exact=3, swapped=1, dropped=7)
    counts.flags.update(none=3, hidden=1)
    found = shown()
    for name, labels, count in (
        ("calls", "exact", 3),
        ("calls", "swapped", 1),
        ("calls", "dropped", 7),
        ("flags", "none", 3),
        ("flags", "hidden", 1),
    ):
        sample = (f"clearcall_evaluator_agent_{name}_total", labels)
        assert found[sample] - before.get(sample, 0) == count


def test_the_process_shows_its_memory() -> None:
    assert shown()["process_resident_memory_bytes", ""] > 1_000_000


def test_every_metric_has_one_name_and_a_meaning() -> None:
    assert len({defined.name for defined in METRICS}) == len(METRICS)
    assert all(defined.meaning for defined in METRICS)
    assert all(not defined.name.endswith("_total") for defined in METRICS if defined.kind is Kind.GAUGE)


def test_a_reader_that_asks_for_openmetrics_gets_it() -> None:
    text, content_type = Metrics(list).page("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")
