"""Waiting for the coordinators of consumer groups."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, GroupCoordinatorNotAvailableError

from clearcall.infra.settings import Settings
from clearcall.streams import groups


@dataclass
class Cluster:
    """Answers with its errors first, one a request; then with the lasting one, or a node."""

    errors: list[Exception] = field(default_factory=list)
    lasting: Exception | None = None
    asked: int = 0

    async def bootstrap(self) -> None: ...

    async def close(self) -> None: ...

    async def coordinator_lookup(self, _kind: int, _group: str) -> int:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        if self.lasting:
            raise self.lasting
        return 1


async def asked(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, *names: str) -> int:
    def client(**_arguments: Any) -> Cluster:
        return cluster

    monkeypatch.setattr(groups, "AIOKafkaClient", client)
    monkeypatch.setattr(groups, "_LOOK_SECONDS", 0)
    await groups.coordinated(Settings(), names)
    return cluster.asked


async def test_a_new_cluster_is_asked_until_the_group_has_a_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await asked(monkeypatch, Cluster([GroupCoordinatorNotAvailableError()] * 3), "sink") == 4


async def test_every_group_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await asked(monkeypatch, Cluster(), "consultant", "sink") == 2


async def test_a_coordinator_that_does_not_come_is_for_the_consumer_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await asked(monkeypatch, Cluster(lasting=GroupCoordinatorNotAvailableError()), "sink") == groups._LOOKS


async def test_what_does_not_pass_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await asked(monkeypatch, Cluster(lasting=GroupAuthorizationFailedError("sink")), "sink") == 1
