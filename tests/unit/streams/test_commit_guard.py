"""The commit guard, and the exact Faust that it was written for."""

import asyncio
import hashlib
import inspect
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import aiokafka.client
import aiokafka.conn
import aiokafka.consumer.group_coordinator as group
import faust.app.base
import faust.tables.recovery
import faust.transport.consumer
import faust.transport.drivers.aiokafka as driver
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import OffsetResetStrategy
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from clearcall.infra.settings import Settings
from clearcall.streams.faust_app import StageApp
from clearcall.streams.faust_consumer import GuardedConsumer, GuardedTransport, _seek_back, within
from clearcall.streams.records import Partition

P = Partition("t", 0)
Q = Partition("t", 1)


def fingerprint(code: Any) -> str:
    return hashlib.sha256(inspect.getsource(code).encode()).hexdigest()[:12]


def test_nothing_past_the_lowest_unfinished_message_is_committed() -> None:
    assert within({P: 10}, {P: 7}, {}) == {P: 7}


def test_a_partition_of_which_nothing_was_begun_is_not_committed() -> None:
    assert within({P: 10, Q: 3}, {Q: 3}, {}) == {Q: 3}


def test_what_is_committed_already_is_not_committed_again_or_taken_back() -> None:
    assert within({P: 7, Q: 2}, {P: 7, Q: 2}, {P: 7, Q: 5}) == {}


@given(
    st.dictionaries(st.sampled_from([P, Q]), st.integers(0, 50)),
    st.dictionaries(st.sampled_from([P, Q]), st.integers(0, 50)),
    st.dictionaries(st.sampled_from([P, Q]), st.integers(0, 50)),
)
def test_whatever_is_asked_for_the_guard_holds(
    asked: dict[Partition, int], committable: dict[Partition, int], written: dict[Partition, int]
) -> None:
    for partition, offset in within(asked, committable, written).items():
        assert written.get(partition, -1) < offset <= committable[partition]


async def test_a_worker_that_still_waits_for_kafka_is_no_member_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = StageApp.build("evaluator", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    assert not consumer.is_member
    not_connected = AIOKafkaConsumer(group_id="g")
    not_connected._closed = True  # it was never started
    monkeypatch.setattr(consumer._thread, "_ensure_consumer", lambda: not_connected)
    assert not consumer.is_member


async def test_a_worker_is_not_called_stalled_for_lack_of_fausts_own_acks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(driver.AIOKafkaConsumerThread, "verify_event_path", lambda *given: asked.append(given))
    consumer = StageApp.build("evaluator", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    consumer.verify_event_path(1e9, P)
    assert asked == []


async def test_a_partition_that_is_resumed_is_noticed_at_once_where_all_were_paused() -> None:
    consumer = StageApp.build("evaluator", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    place = TP("t", 0)
    consumer._set_active_tps({place})
    consumer.on_buffer_full(place)
    waiting = asyncio.create_task(consumer._wait_next_records(3600))
    await asyncio.sleep(0)
    assert not waiting.done()
    consumer.on_buffer_drop(place)
    assert await asyncio.wait_for(waiting, 60) == ({}, {place})


async def test_while_a_partition_is_paused_a_fetch_of_the_others_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = StageApp.build("evaluator", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    waits: list[float] = []

    async def fetch(*, active_partitions: set[TP], timeout: float) -> dict[TP, list[Any]]:  # noqa: ASYNC109 - Faust's
        waits.append(timeout)
        return {place: [] for place in active_partitions}

    monkeypatch.setattr(consumer, "_getmany", fetch)
    paused, other = TP("t", 0), TP("t", 1)
    consumer._set_active_tps({paused, other})
    await consumer._wait_next_records(1.0)
    consumer.on_buffer_full(paused)
    assert await consumer._wait_next_records(1.0) == ({other: []}, {other})
    assert waits[0] == 1.0
    assert waits[1] < 0.1


@pytest.mark.parametrize(("formed_anew", "kept"), [(False, {TP("t", 0): ["record"]}), (True, {})])
async def test_what_was_fetched_before_it_may_flow_is_kept_while_its_assignment_lasts(
    monkeypatch: pytest.MonkeyPatch, formed_anew: bool, kept: dict[TP, list[Any]]
) -> None:
    consumer = StageApp.build("evaluator", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    consumer._thread.fetched_under = "the first"
    monkeypatch.setattr(consumer._thread, "present_assignment", lambda: "the second" if formed_anew else "the first")
    consumer.stop_flow()
    waiting = asyncio.create_task(consumer._kept_while_stopped({TP("t", 0): ["record"]}))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    consumer.resume_flow()
    assert await asyncio.wait_for(waiting, 60) == kept


async def test_a_partition_without_a_commit_is_sought_back_to_its_beginning() -> None:
    """What is committed is sought by aiokafka; the rest it would leave where the fetching has got to."""
    places = [TopicPartition("t", number) for number in range(3)]
    resets: list[TopicPartition] = []

    class State:
        def __init__(self, place: TopicPartition) -> None:
            self.place = place

        def await_reset(self, strategy: int) -> None:
            assert strategy == OffsetResetStrategy.EARLIEST
            resets.append(self.place)

    async def seek_to_committed() -> dict[TopicPartition, int | None]:
        return dict(zip(places, (None, 0, 7), strict=True))

    records = dict.fromkeys(places, "fetched")
    fetcher = SimpleNamespace(_records=records, _notify=lambda _future: None, _wait_consume_future=None)
    assignment = SimpleNamespace(state_value=State)
    subscription = SimpleNamespace(subscription=SimpleNamespace(assignment=assignment))
    client: Any = SimpleNamespace(seek_to_committed=seek_to_committed, _fetcher=fetcher, _subscription=subscription)
    assert await _seek_back(client) == {places[0]: None, places[1]: 0, places[2]: 7}
    assert resets == places[:2]
    assert list(records) == places[2:]


def test_this_is_the_faust_that_the_guard_was_written_for() -> None:
    assert version("faust-streaming") == "0.15.3"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (faust.transport.consumer.Consumer.commit, "a354437baaa0"),
        (faust.transport.consumer.Consumer._commit_handler.fun, "4e5da5df0730"),
        (faust.transport.consumer.Consumer.on_stop, "45b1d2210ce2"),
        (faust.transport.consumer.Consumer.on_partitions_revoked, "d04b7ae72c6f"),
        (faust.transport.consumer.Consumer.perform_seek, "0e8c130ff4b0"),
        (faust.transport.consumer.Consumer.getmany, "4b168d84882a"),
        (faust.transport.consumer.Consumer._wait_next_records, "6218e1969a63"),
        (faust.transport.consumer.Consumer._get_active_partitions, "b24897f3c7af"),
        (faust.transport.consumer.Consumer._add_gap, "4df2573ded7c"),
        (faust.transport.consumer.Consumer._drain_messages, "44a2500309e8"),
        (faust.transport.consumer.Consumer.on_buffer_full, "c8961679e0bc"),
        (faust.transport.consumer.Consumer.on_buffer_drop, "4b57e8a418d5"),
        (faust.app.base.App._on_partitions_revoked, "d5c895bbe57d"),
        (faust.app.base.App._on_partitions_assigned, "de932b7927db"),
        (faust.tables.recovery.Recovery._resume_streams, "d986a6710c1a"),
        (driver.AIOKafkaConsumerThread._commit, "932852ce7a23"),
        (driver.AIOKafkaConsumerThread._ensure_consumer, "ff4a4c693b7e"),
        (driver.AIOKafkaConsumerThread._fetch_records, "39a2c6c79fc1"),
        (driver.AIOKafkaConsumerThread.seek_to_committed, "775ab0adc4b0"),
        (driver.ConsumerRebalanceListener, "f3d04f29dfb3"),
        (aiokafka.conn.AIOKafkaConnection._handle_frame, "46a7d9b8cf7c"),
        (aiokafka.client.AIOKafkaClient._get_conn, "68ce5d839171"),
        (group.GroupCoordinator._send_req, "fa4b12e914ce"),
        (group.GroupCoordinator._heartbeat_routine, "61d010289522"),
        (group.GroupCoordinator._do_heartbeat, "dc1d6632aaa6"),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_the_code_of_faust_and_aiokafka_that_the_guard_relies_on_has_not_changed(code: Any, expected: str) -> None:
    assert fingerprint(code) == expected


def test_faust_has_no_other_way_to_commit_to_kafka() -> None:
    """All of its commits go through ``Consumer._commit`` or ``force_commit``, and both are ours."""
    assert {name for name in ("force_commit", "_commit") if name in vars(GuardedConsumer)} == {
        "force_commit",
        "_commit",
    }
    source = inspect.getsource(driver)
    assert source.count("consumer.commit(") == 1
    assert source.count("await self.call_thread(self._commit") == 1
    assert inspect.getsource(faust.transport.consumer).count("self._commit(") == 1


async def test_the_app_of_a_stage_uses_the_guard_and_none_of_fausts_extras() -> None:
    app = StageApp.build("consultant", Settings(kafka="a:1, b:2", group_prefix="g", session_timeout=2.4))
    conf = app.conf
    assert isinstance(app.transport, GuardedTransport)
    assert isinstance(app.consumer, GuardedConsumer)
    assert app.conf.id == "g-consultant"
    assert [(url.host, url.port) for url in conf.broker_consumer] == [("a", 1), ("b", 2)]
    assert (conf.broker_session_timeout, round(conf.broker_heartbeat_interval, 6)) == (2.4, 0.8)
    assert StageApp.build("consultant", Settings(session_timeout=9.0)).conf.broker_heartbeat_interval == 1.0
    assert conf.broker_rebalance_timeout > Settings().drain_timeout
    assert conf.producer_acks == -1
    assert not conf.web_enabled
    assert not conf.stream_wait_empty
    assert not conf.topic_allow_declare
    assert conf.topic_disable_leader
