"""Brokers of our own: they serve, and they leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from clearcall.infra.kafka import maven
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.embedded import EmbeddedBroker
from clearcall.infra.kafka.errors import NoBroker, StartFailed
from clearcall.infra.kafka.readiness import brokers_known
from clearcall.infra.kafka.tansu import Tansu, binary

pytestmark = pytest.mark.integration
HEADERS = (("iteration", b"1"),)
MINUTE = 60.0
needs_apache = pytest.mark.usefixtures("apache_possible")
needs_tansu = pytest.mark.usefixtures("tansu_possible")


@pytest.fixture(scope="module")
def apache_possible() -> None:
    try:
        maven.java()
        maven.jars()
    except NoBroker as reason:
        pytest.skip(f"no Apache Kafka here: {reason}")


@pytest.fixture(scope="module")
def tansu_possible() -> None:
    try:
        binary()
    except NoBroker as reason:
        pytest.skip(str(reason))


@pytest.fixture
def cluster(apache_possible: None) -> Iterator[ApacheKafka]:  # noqa: ARG001 - a fixture may lean on another for its skip
    with ApacheKafka(brokers=3) as cluster:
        yield cluster


def _processes_and_folder(broker: EmbeddedBroker) -> tuple[list[psutil.Process], Path]:
    """Read from the inside: who runs for this broker, and where."""
    processes = broker._processes  # type: ignore[attr-defined]
    guardian = psutil.Process(processes._guardian.pid)
    return [guardian, *guardian.children(recursive=True)], processes.folder


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MINUTE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def _new_topic(broker: EmbeddedBroker, partitions: int, replication: int) -> str:
    topic = f"t-{uuid.uuid4().hex}"
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, replication)])
    finally:
        await admin.close()
    return topic


async def _produce(broker: EmbeddedBroker, topic: str, numbers: range) -> None:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, acks="all") as producer:
        for number in numbers:
            await producer.send_and_wait(topic, b"%d" % number, key=b"call-%d" % (number % 3), headers=list(HEADERS))


async def _check_consumed(broker: EmbeddedBroker, topic: str, numbers: range) -> None:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap,
        group_id=f"g-{uuid.uuid4().hex}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=int(broker.session_timeout * 1000),
    )
    async with consumer:
        seen = [await consumer.getone() for _ in numbers]
        await consumer.commit()
    assert sorted(int(record.value) for record in seen) == list(numbers)
    assert {record.headers for record in seen} == {HEADERS}
    for key in {record.key for record in seen}:
        values = [int(record.value) for record in seen if record.key == key]
        assert values == sorted(values)


async def test_apache_kafka_moves_messages_with_headers_through_a_group(kafka: str) -> None:
    class Given(ApacheKafka):
        bootstrap = kafka

    topic = await _new_topic(Given(), 4, 1)
    await _produce(Given(), topic, range(20))
    await _check_consumed(Given(), topic, range(20))


@needs_tansu
async def test_tansu_moves_messages_with_headers_through_a_group() -> None:
    with Tansu() as broker:
        topic = await _new_topic(broker, 4, 1)
        await _produce(broker, topic, range(20))
        await _check_consumed(broker, topic, range(20))


@needs_apache
@needs_tansu
@pytest.mark.parametrize("make", [ApacheKafka, Tansu])
def test_a_stopped_broker_leaves_neither_process_nor_folder(make: type[ApacheKafka | Tansu]) -> None:
    with make() as broker:
        processes, folder = _processes_and_folder(broker)
        assert len(processes) == 2
        assert folder.is_dir()
    assert [process for process in processes if process.is_running()] == []
    assert not folder.exists()
    broker.stop()


@needs_tansu
def test_an_interrupt_in_the_with_block_stops_the_broker() -> None:
    with suppress(KeyboardInterrupt), Tansu() as broker:
        processes, folder = _processes_and_folder(broker)
        raise KeyboardInterrupt
    assert [process for process in processes if process.is_running()] == []
    assert not folder.exists()


async def test_three_brokers_serve_on_when_one_is_killed_and_take_it_back(cluster: ApacheKafka) -> None:
    topic = await _new_topic(cluster, 6, 3)
    await _produce(cluster, topic, range(10))
    cluster.kill(1)
    assert sorted(cluster.pids) == [0, 2]
    await _produce(cluster, topic, range(10, 20))
    await _check_consumed(cluster, topic, range(20))
    cluster.restart(1)
    with pytest.raises(ValueError, match="broker 1 runs"):
        cluster.restart(1)
    for address in cluster.bootstrap.split(","):
        host, port = address.split(":")
        _wait_until(lambda host=host, port=port: brokers_known(host, int(port)) == 3)  # type: ignore[misc]


@needs_apache
def test_a_broker_that_cannot_start_says_why_and_leaves_nothing() -> None:
    broker = ApacheKafka(properties={"log.segment.bytes": "-1"})
    with pytest.raises(StartFailed, match=r"log\.segment\.bytes"):
        broker.start()
    assert broker._processes is not None
    assert not broker._processes.folder.exists()


@needs_apache
@needs_tansu
@pytest.mark.parametrize("make", ["apache.ApacheKafka", "tansu.Tansu"])
def test_a_broker_ends_with_its_killed_owner(make: str) -> None:
    module, name = make.split(".")
    code = f"""
import sys
from clearcall.infra.kafka.{module} import {name}
broker = {name}()
broker.start()
print(broker._processes._guardian.pid, broker._processes.folder, flush=True)
sys.stdin.read()
"""
    owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdin is not None
    pid, folder = owner.stdout.readline().split()
    guardian = psutil.Process(int(pid))
    processes = [guardian, *guardian.children(recursive=True)]
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    _, alive = psutil.wait_procs(processes, timeout=MINUTE)
    assert len(processes) == 2
    assert alive == []
    assert not Path(folder).exists()
