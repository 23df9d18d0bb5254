"""The pages of a worker's web port."""

import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer

from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.settings import Settings
from clearcall.streams.counters import Counters
from clearcall.streams.health import Health
from clearcall.streams.limit import DeadLetterLimit, Outcome, Tally
from clearcall.streams.web import PortTaken, application, served

Client = TestClient[web.Request, web.Application]


@dataclass
class FakeStage:
    name: str
    member: bool = True
    counters: Counters = field(default_factory=Counters)
    tally: Tally = field(default_factory=lambda: Tally(DeadLetterLimit(run=1)))

    silent: float = 0.0

    def absence(self) -> str:
        return "" if self.member else "not in its consumer group"

    def silent_seconds(self) -> float:
        return self.silent


@pytest.fixture
def health() -> Health:
    return Health(lambda: 30.0)


@pytest.fixture
async def client(health: Health) -> AsyncIterator[Client]:
    async with TestClient(TestServer(application(health))) as client:
        yield client


async def test_a_worker_that_starts_is_alive_and_not_ready(client: Client) -> None:
    assert (await client.get("/health/live")).status == 200
    answer = await client.get("/health/ready")
    assert (answer.status, await answer.json()) == (503, {"ready": False, "stages": {}})


async def test_it_is_ready_when_every_stage_is_in_its_group(client: Client, health: Health) -> None:
    late = FakeStage("sink", member=False)
    health.watch([FakeStage("evaluator", counters=Counters(in_flight=2, lag=5, active_at=20.0)), late])
    answer = await client.get("/health/ready")
    assert answer.status == 503
    stages = (await answer.json())["stages"]
    assert stages["evaluator"] == {"ready": True, "why": "", "in_flight": 2, "lag": 5, "idle_seconds": 10.0}
    assert (stages["sink"]["ready"], stages["sink"]["why"]) == (False, "not in its consumer group")
    late.member = True
    assert (await client.get("/health/ready")).status == 200


async def test_a_shadow_that_is_not_ready_leaves_the_worker_ready_unless_it_is_alone(
    client: Client, health: Health
) -> None:
    shadow = FakeStage("shadow-next", member=False)
    health.watch([FakeStage("consultant"), shadow])
    assert (await client.get("/health/ready")).status == 200
    health.watch([shadow])
    assert (await client.get("/health/ready")).status == 503


async def test_a_stage_at_the_limit_of_dead_letters_is_not_ready_and_says_why(client: Client, health: Health) -> None:
    stage = FakeStage("sink")
    health.watch([stage])
    stage.tally.ended(Outcome.FAILED)
    answer = await client.get("/health/ready")
    assert answer.status == 503
    assert "in a row failed" in (await answer.json())["stages"]["sink"]["why"]
    assert (await client.get("/health/live")).status == 200


async def test_the_metrics_are_text(client: Client, health: Health) -> None:
    health.watch([FakeStage("sink")])
    answer = await client.get("/metrics")
    assert answer.status == 200
    assert answer.content_type == "text/plain"
    assert 'clearcall_lag_messages{stage="sink"} 0.0' in await answer.text()


async def test_the_port_listens_on_loopback_unless_told_otherwise(health: Health) -> None:
    (port,) = free_ports(1)
    settings = Settings(web_port=port)
    assert settings.web_host == "127.0.0.1"
    async with served(settings, health), ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/health/live") as answer:
            assert answer.status == 200
        for address in {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), port)} - {"127.0.0.1", "::1"}:
            with socket.socket() as other, pytest.raises(OSError):  # noqa: PT011 - which one depends on the machine
                other.connect((address, port))


async def test_by_default_nothing_listens(health: Health) -> None:
    assert Settings().web_port == 0
    async with served(Settings(), health):
        pass


async def test_a_port_that_is_taken_is_named(health: Health) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"127.0.0.1:{port} cannot be used"):
            async with served(Settings(web_port=port), health):
                pass
