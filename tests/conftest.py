"""A real Kafka and a real vLLM for the tests that need one, and settings that keep each test to itself."""

import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

import consultant_cases
import local_vllm
from clearcall.agents.consultant.in_process import InProcess
from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.errors import NoBroker
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.kafka.readiness import wait_until_ready
from clearcall.infra.settings import Settings

_IMAGE = "apache/kafka:4.3.1"  # as in docker-compose.kafka.yml
hypothesis_settings.register_profile("clearcall", deadline=None)  # how long a case takes is no test of ours
hypothesis_settings.load_profile("clearcall")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores Ctrl-C in what it runs in the background, and children inherit that: the tests of Ctrl-C need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_START_TIMEOUT = 120.0  # seconds; an image may have to be pulled first


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """Bootstrap servers: ``CLEARCALL_KAFKA``, else Docker's, else Maven and Java's; else the test is skipped."""
    given = os.environ.get("CLEARCALL_KAFKA")
    if given:
        yield given
    elif _docker_answers():
        yield from _kafka_in_docker()
    else:
        yield from _kafka_by_maven()


@pytest.fixture
def settings(kafka: str, tmp_path: Path) -> Settings:
    """Settings on the real Kafka, with topics, groups and a database that no other test uses."""
    unique = f"t{uuid.uuid4().hex[:10]}."
    return Settings(
        kafka=kafka,
        topic_prefix=unique,
        group_prefix=unique,
        partitions=4,
        db=f"chdb://{tmp_path / 'db'}",
        consultant="rules",
    )


def _docker_answers() -> bool:
    program = shutil.which("docker")
    if program is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run([program, "info"], capture_output=True, check=False, timeout=20).returncode == 0
    return False


def _kafka_in_docker() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - only where Docker answers

    (port,) = free_ports(1)
    container = DockerContainer(_IMAGE).with_bind_ports(port, port)
    for key, value in _docker_environment(port).items():
        container = container.with_env(key, value)
    with container:
        wait_until_ready(port, 1, _START_TIMEOUT, lambda: None)
        yield f"127.0.0.1:{port}"


def _docker_environment(port: int) -> dict[str, str]:
    return {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_LISTENERS": f"PLAINTEXT://0.0.0.0:{port},CONTROLLER://localhost:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "4",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    }


def _kafka_by_maven() -> Iterator[str]:
    broker = ApacheKafka()
    try:
        broker.start()
    except NoBroker as reason:
        pytest.skip(f"no Kafka: CLEARCALL_KAFKA is not set, no Docker answers, and {reason}")
    try:
        yield broker.bootstrap
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def vllm_folder() -> Path:
    """The small model's folder, with vLLM installed beside it; skipped where it cannot be had."""
    try:
        return local_vllm.install()
    except local_vllm.NoVLLM as reason:
        pytest.skip(f"no vLLM: {reason}")


@pytest.fixture(scope="session")
def own_vllm(vllm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[local_vllm.Server]:
    """A server of our own, which a test may kill and must start again."""
    assert vllm_folder.is_dir()
    (port,) = free_ports(1)
    with local_vllm.Server(port, tmp_path_factory.mktemp("vllm") / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def vllm_url(request: pytest.FixtureRequest) -> str:
    """A real vLLM: ``CLEARCALL_TEST_VLLM``, else one of our own; else the test is skipped."""
    given = os.environ.get("CLEARCALL_TEST_VLLM")
    if given:
        return given
    server: local_vllm.Server = request.getfixturevalue("own_vllm")
    return server.url


@pytest.fixture(scope="session")
def capable_url() -> str:
    """A real vLLM that serves a model which cleans tolerably."""
    given = os.environ.get("CLEARCALL_TEST_VLLM")
    if not given:
        pytest.skip("no capable model: set CLEARCALL_TEST_VLLM to the URL of a vLLM that serves one")
    model = local_vllm.served_model(given)
    if "qwen" not in model.lower():
        pytest.skip(f"{model} is not known to clean: what is asserted was seen with qwen1.5b")
    return given


@pytest.fixture(scope="session")
def engine() -> InProcess:
    """The engine in this process, in vLLM's own Python; a test of its own closes it, or this process's end."""
    return consultant_cases.engine()
