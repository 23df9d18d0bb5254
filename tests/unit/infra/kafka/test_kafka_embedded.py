"""Which broker a machine can start by itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clearcall.infra.kafka import embedded, maven, tansu
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.errors import NoBroker
from clearcall.infra.kafka.tansu import Tansu

Here = Callable[..., None]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """Says what this machine has."""

    def has(*, java: bool, jars: bool, wheel: bool) -> None:
        def refuse(what: str) -> Path:
            raise NoBroker(f"there is no {what}")

        monkeypatch.setattr(maven, "java", lambda: "java" if java else refuse("java"))
        monkeypatch.setattr(maven, "can_resolve", lambda: jars)
        monkeypatch.setattr(embedded, "binary", lambda: Path("tansu") if wheel else refuse("tansu"))

    return has


def test_apache_kafka_is_taken_where_java_and_the_jars_can_be_had(here: Here) -> None:
    here(java=True, jars=True, wheel=True)
    assert isinstance(embedded.choose(), ApacheKafka)


def test_the_demo_takes_tansu_even_where_kafka_is_possible(here: Here) -> None:
    here(java=True, jars=True, wheel=True)
    assert isinstance(embedded.choose("tansu"), Tansu)


@pytest.mark.parametrize(("java", "jars"), [(False, True), (True, False)])
def test_tansu_is_taken_where_kafka_is_impossible(here: Here, java: bool, jars: bool) -> None:
    here(java=java, jars=jars, wheel=True)
    assert isinstance(embedded.choose(), Tansu)


def test_kafka_is_taken_where_tansu_is_not_installed(here: Here) -> None:
    here(java=True, jars=True, wheel=False)
    assert isinstance(embedded.choose("tansu"), ApacheKafka)


def test_a_machine_with_neither_is_told_what_to_install(here: Here) -> None:
    here(java=True, jars=False, wheel=False)
    with pytest.raises(NoBroker) as refusal:
        embedded.choose()
    assert "CLEARCALL_KAFKA" in str(refusal.value)
    assert "there is no mvn" in str(refusal.value)
    assert "there is no tansu" in str(refusal.value)


def test_a_missing_wheel_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tansu, "_PACKAGE", "no_such_package")
    with pytest.raises(NoBroker, match=r"clearcall\[demo\]"):
        tansu.binary()


def test_a_cluster_of_no_brokers_is_refused() -> None:
    with pytest.raises(ValueError, match="cluster of 0"):
        ApacheKafka(brokers=0)
