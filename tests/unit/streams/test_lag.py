"""A consumer that reads nothing must not look idle: the watchdog judges by the lag."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from clearcall.infra.settings import Settings
from clearcall.streams.faust_app import StageApp
from clearcall.streams.faust_consumer import GuardedConsumer

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


def consumer_of(monkeypatch: pytest.MonkeyPatch, states: dict[TopicPartition, Any]) -> GuardedConsumer:
    consumer = StageApp.build("sink", Settings()).consumer
    assert isinstance(consumer, GuardedConsumer)
    assignment = SimpleNamespace(tps=set(states), state_value=states.get)
    subscribed = SimpleNamespace(_subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment)))
    monkeypatch.setattr(consumer._thread, "_ensure_consumer", lambda: subscribed)
    monkeypatch.setattr(consumer, "_lowest_unfinished", lambda _partition: None)
    return consumer


async def test_the_lag_is_what_lies_behind_the_position(monkeypatch: pytest.MonkeyPatch) -> None:
    read = SimpleNamespace(highwater=10, has_valid_position=True, position=7)
    done = SimpleNamespace(highwater=4, has_valid_position=True, position=4)
    assert consumer_of(monkeypatch, {P: read, Q: done}).lag() == 3


async def test_a_partition_whose_position_is_never_learnt_counts_as_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = SimpleNamespace(highwater=None, has_valid_position=False, position=None)
    unread = SimpleNamespace(highwater=None, has_valid_position=True, position=4)
    assert consumer_of(monkeypatch, {P: lost}).lag() == 1
    assert consumer_of(monkeypatch, {P: lost, Q: unread}).lag() == 2
