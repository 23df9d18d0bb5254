"""A server that does not hold its model to grammars gets none for a while, then one again."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest
from structlog.testing import capture_logs

from clearcall.agents.consultant.backend import ChatMessage, Completion
from clearcall.agents.consultant.obedience import REST, Obedience
from clearcall.agents.consultant.openai import OpenAI

ASK = [ChatMessage("user", "hello")]


class Hello:
    """A grammar that writes one word."""

    ebnf = 'root ::= "Hello"'

    def accepts(self, text: str) -> bool:
        return text == "Hello"


class Server:
    """A model server that does with grammars, and with answers, as it is told; time passes as the test says."""

    def __init__(self, behaviour: str) -> None:
        self.behaviour = behaviour
        self.now = 0.0
        self.grammars: list[bool] = []
        self.client = OpenAI(
            ["http://one/v1"], model="m", clock=lambda: self.now, transport=httpx.MockTransport(self.answer)
        )

    async def answer(self, request: httpx.Request) -> httpx.Response:
        body: dict[str, Any] = orjson.loads(request.content)
        first = not self.grammars
        self.grammars.append("structured_outputs" in body)
        await asyncio.sleep(0)
        if self.grammars[-1] and self.behaviour == "refuses":
            return httpx.Response(400, text="structured_outputs: extra inputs are not permitted")
        text, reason = {"obeys": ("Hello", "stop"), "cuts": ("Hel", "length")}.get(self.behaviour, ("Bonjour", "stop"))
        if self.behaviour == "fits but once":
            text = "Bonjour" if first else "Hello"
            self.now += 1
        return httpx.Response(200, json={"choices": [{"message": {"content": text}, "finish_reason": reason}]})

    async def ask(self, times: int = 1) -> list[Completion]:
        return list(await asyncio.gather(*(self.client.complete(ASK, 9, Hello()) for _ in range(times))))


@pytest.mark.parametrize("behaviour", ["ignores", "refuses"])
async def test_a_server_without_grammars_is_tried_again_after_a_rest_with_one_request(behaviour: str) -> None:
    server = Server(behaviour)
    await server.ask()
    server.grammars.clear()
    server.now += REST - 1
    await server.ask(3)
    assert not any(server.grammars)
    server.now += 1
    await server.ask(3)
    assert server.grammars.count(True) == 1


async def test_a_server_that_takes_grammars_again_gets_them_with_every_request() -> None:
    server = Server("ignores")
    assert not (await server.ask())[0].constrained
    server.behaviour = "obeys"
    server.now += REST
    answers = [*await server.ask(), *await server.ask(5)]
    assert all(answer.constrained for answer in answers)


async def test_a_cut_answer_is_constrained_unless_its_server_was_seen_to_ignore_grammars() -> None:
    server = Server("cuts")
    assert (await server.ask())[0].constrained
    server.behaviour = "ignores"
    await server.ask()
    server.behaviour = "cuts"
    server.now += REST
    (tried_again,) = await server.ask()
    assert server.grammars[-1]
    assert not tried_again.constrained


async def test_an_answer_that_happens_to_fit_is_not_constrained_where_the_server_was_just_seen_to_ignore() -> None:
    server = Server("fits but once")
    answers = await server.ask(3)
    assert all(server.grammars)
    assert [answer.text for answer in answers].count("Hello") == 2
    assert not any(answer.constrained for answer in answers)


@pytest.mark.parametrize(
    ("behaviour", "event"), [("ignores", "model_server.ignores_grammars"), ("refuses", "model_server.refuses_grammars")]
)
async def test_that_a_server_takes_no_grammars_is_logged_once_until_it_changes(behaviour: str, event: str) -> None:
    server = Server(behaviour)
    with capture_logs() as logs:
        await server.ask(20)
        server.now += REST
        await server.ask(20)
        server.behaviour = "obeys"
        server.now += REST
        await server.ask(20)
        server.behaviour = behaviour
        server.now += 1
        await server.ask(20)
    assert [entry["event"] for entry in logs] == [event, "model_server.obeys_grammars", event]


def test_an_answer_to_a_request_that_began_before_the_last_change_teaches_nothing() -> None:
    now = 5.0
    known = Obedience(lambda: now)
    assert known.failed(began=4.0)
    assert not known.obeyed(began=4.5)
    assert not known.obeys
    now = 5.0 + REST
    assert known.asks()
    assert known.obeyed(began=now)
    assert known.obeys
