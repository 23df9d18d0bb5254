"""Several model servers: which is asked, which is left alone, and what happens when all are."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from clearcall.agents.consultant.asking import Asker
from clearcall.agents.consultant.backend import ChatMessage, Line, Rejected, Request
from clearcall.agents.consultant.breaker import FAILURES, LONGEST_REST
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.client import TRIES
from clearcall.agents.consultant.openai import OpenAI
from clearcall.agents.consultant.rules import RulesBackend
from clearcall.agents.model_servers import Circuit, ServerState, states
from clearcall.agents.protocol import Unavailable
from clearcall.infra.settings_sources import MASK
from clearcall.schemas import Chunk, Outcome

ASK = [ChatMessage("user", "hello")]
ANSWER = {"model": "served", "choices": [{"message": {"content": "1 agent: Hello."}, "finish_reason": "stop"}]}
Behaviour = Callable[[], httpx.Response]


class World:
    """Servers by host, each as it behaves now; time passes only in sleeps."""

    def __init__(self, **hosts: Behaviour) -> None:
        self.hosts = hosts
        self.asked: Counter[str] = Counter()
        self.now = 0.0
        self.running = self.most = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked[request.url.host] += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return self.hosts[request.url.host]()

    def client(self, **more: Any) -> OpenAI:
        return OpenAI(
            [f"http://{host}/v1" for host in self.hosts],
            model="m",
            sleep=self.sleep,
            clock=self.clock,
            rng=random.Random(1),
            transport=httpx.MockTransport(self.answer),
            **more,
        )


def up() -> httpx.Response:
    return httpx.Response(200, json=ANSWER)


def down() -> httpx.Response:
    raise httpx.ConnectError("refused")


def busy() -> httpx.Response:
    return httpx.Response(429, headers={"retry-after": "7"})


async def fail_until_open(client: OpenAI) -> None:
    for _ in range(-(-FAILURES // TRIES)):
        with pytest.raises(Unavailable):
            await client.complete(ASK, 9)


async def test_a_server_that_fails_again_and_again_is_left_alone_and_the_other_does_the_work() -> None:
    world = World(good=up, bad=down)
    client = world.client()
    for _ in range(60):
        await client.complete(ASK, 9)
    assert world.asked["good"] == 60
    assert FAILURES <= world.asked["bad"] < 20


async def test_with_all_servers_left_alone_the_outage_is_known_at_once_and_nothing_is_asked() -> None:
    world = World(one=down)
    client = world.client()
    await fail_until_open(client)
    asked, began = world.asked["one"], world.now
    with pytest.raises(Unavailable, match="no model server has answered lately") as caught:
        await client.complete(ASK, 9)
    assert (world.asked["one"], world.now) == (asked, began)
    assert caught.value.reason == "model_unavailable"


async def test_one_request_probes_a_server_that_is_back_and_the_others_wait_for_it() -> None:
    world = World(one=down)
    client = world.client()
    await fail_until_open(client)
    world.hosts["one"], asked = up, world.asked["one"]
    world.now += LONGEST_REST
    ends = await asyncio.gather(*(client.complete(ASK, 9) for _ in range(5)), return_exceptions=True)
    assert world.asked["one"] == asked + 1
    assert [isinstance(end, Unavailable) for end in ends] == [False, True, True, True, True]
    await asyncio.gather(*(client.complete(ASK, 9) for _ in range(5)))
    assert world.asked["one"] == asked + 6


async def test_a_probe_that_is_cancelled_does_not_leave_its_server_alone_for_ever() -> None:
    world = World(one=down)
    client = world.client()
    await fail_until_open(client)
    world.hosts["one"] = up
    world.now += LONGEST_REST
    probe = asyncio.create_task(client.complete(ASK, 9))
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert (await client.complete(ASK, 9)).text == "1 agent: Hello."


@pytest.mark.parametrize("code", [400, 401])
async def test_a_server_that_refuses_is_there_all_the_same(code: int) -> None:
    world = World(one=lambda: httpx.Response(code, text="no"))
    client = world.client()
    for _ in range(3 * FAILURES):
        with pytest.raises((Rejected, Unavailable)):
            await client.complete(ASK, 9)
    assert world.asked["one"] == 3 * FAILURES


async def test_a_busy_server_is_left_alone_as_long_as_it_asks_while_another_answers() -> None:
    world = World(busy=busy, free=up)
    client = world.client()
    for _ in range(20):
        await client.complete(ASK, 9)
        world.now = min(world.now, 6.0)
    assert world.asked["busy"] == 1
    assert world.asked["free"] == 20


async def test_where_all_are_busy_the_first_to_be_free_is_waited_for() -> None:
    world = World(one=busy)
    client = world.client()
    with pytest.raises(Unavailable):
        await client.complete(ASK, 9)
    assert world.now == 7.0 * (TRIES - 1)


async def test_refusals_for_load_lower_the_number_in_flight_and_answers_raise_it_again() -> None:
    world = World(one=busy)
    client = world.client(in_flight=32)
    with pytest.raises(Unavailable):
        await client.complete(ASK, 9)
    world.hosts["one"] = up
    world.now += 10
    await asyncio.gather(*(client.complete(ASK, 9) for _ in range(40)))
    assert world.most < 32
    for _ in range(40):
        await asyncio.gather(*(client.complete(ASK, 9) for _ in range(40)))
    assert world.most == 32


async def test_the_limit_of_each_server_is_shown_and_logged_when_it_halves_and_doubles() -> None:
    world = World(**{"limit-a": busy, "limit-b": up})
    client = world.client(in_flight=32)
    with capture_logs() as events:
        for _ in range(40):
            await client.complete(ASK, 9)
            world.now += 10
        low = states()["http://limit-a/v1"]
        world.hosts["limit-a"] = up
        for _ in range(40):
            await asyncio.gather(*(client.complete(ASK, 9) for _ in range(90)))
            world.now += 1
    told = [(e["url"], e["before"], e["requests"]) for e in events if e["event"] == "model_server.limit"]
    assert told == [("http://limit-a/v1", *change) for change in ((32, 16), (16, 8), (8, 4), (4, 8), (8, 16), (16, 32))]
    assert low == ServerState(limit=4, in_flight=0, waiting=0, circuit=Circuit.CLOSED)
    assert {states()[f"http://limit-{name}/v1"].limit for name in "ab"} == {32}


async def test_a_server_that_is_left_alone_is_shown_so_and_the_password_in_its_url_is_not() -> None:
    world = World(shown=down)
    client = OpenAI(
        ["http://user:word@shown/v1"],
        model="m",
        sleep=world.sleep,
        clock=world.clock,
        transport=httpx.MockTransport(world.answer),
    )
    await fail_until_open(client)
    assert states()[f"http://{MASK}@shown/v1"].circuit is Circuit.OPEN
    assert not any("word" in url for url in states())


def test_a_server_that_two_clients_ask_is_shown_once_with_the_requests_of_both() -> None:
    one, two = World(both=up).client(in_flight=8), World(both=up).client(in_flight=3)
    assert states()["http://both/v1"] == ServerState(11, 0, 0, Circuit.CLOSED)
    assert one.model == two.model


async def test_degraded_running_answers_by_rules_at_once_while_all_servers_are_left_alone() -> None:
    world = World(one=down, two=down)
    asker = Asker(ChatBackend(world.client()), RulesBackend(), world.clock)
    request = Request(0, (Line(Chunk(call_id="c", chunk_id=0, speaker=0, text="um hello there"), "um hello there"),))
    took = []
    for _ in range(6):
        began = world.now
        (reply,) = await asker.ask(request)
        assert reply.outcome is Outcome.DEGRADED
        took.append(world.now - began)
    assert max(took) < 4.0
    assert took[-1] == 0.0
