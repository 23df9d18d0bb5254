"""The client of OpenAI-compatible servers against servers that misbehave."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from clearcall.agents.consultant.backend import ChatMessage, Completion, Rejected, Slow, TooLong
from clearcall.agents.consultant.client import TRIES
from clearcall.agents.consultant.openai import OpenAI
from clearcall.agents.protocol import Unavailable, watch_life

ASK = [ChatMessage("user", "hello")]
ANSWER: dict[str, Any] = {
    "model": "served",
    "choices": [{"message": {"content": "1 agent: Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 5},
}


class Scripted:
    """A transport that gives the next response of its script, the last one for ever, and notes what was asked."""

    def __init__(self, *script: Callable[[httpx.Request], httpx.Response]) -> None:
        self.script = list(script)
        self.asked: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return (self.script.pop(0) if len(self.script) > 1 else self.script[0])(request)


def status(
    code: int, text: str = "", headers: dict[str, str] | None = None
) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _request: httpx.Response(code, text=text, headers=headers)


def ok(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=ANSWER)


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def model_at(
    script: Scripted, urls: tuple[str, ...] = ("http://one/v1",), model: str = "m", **more: Any
) -> tuple[OpenAI, list[float]]:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    client = OpenAI(urls, model=model, sleep=sleep, rng=random.Random(1), transport=httpx.MockTransport(script), **more)
    return client, delays


async def test_an_answer_comes_with_its_model_reason_and_tokens() -> None:
    client, _ = model_at(Scripted(ok))
    assert await client.complete(ASK, 50) == Completion("1 agent: Hello.", "stop", "served", 12, 5)


@pytest.mark.parametrize("count", ["1e999", "-5", "99999999999999999999", "NaN", '"12"', "[]", "2.5"])
async def test_a_count_of_tokens_that_can_be_none_costs_no_answer(count: str) -> None:
    body = f'{{"choices": [{{"message": {{"content": "Hello."}}}}], "usage": {{"prompt_tokens": {count}}}}}'
    client, _ = model_at(Scripted(status(200, body)))
    completion = await client.complete(ASK, 50)
    assert (completion.text, completion.prompt_tokens) == ("Hello.", 0)


async def test_a_lone_surrogate_in_an_answer_or_its_model_becomes_a_question_mark() -> None:
    body = r'{"choices": [{"message": {"content": "Hel\ud800lo."}}], "model": "m\udfff"}'
    client, _ = model_at(Scripted(status(200, body)))
    completion = await client.complete(ASK, 50)
    assert (completion.text, completion.model) == ("Hel?lo.", "m?")


async def test_a_refusal_that_claims_another_character_set_is_a_refusal() -> None:
    client, _ = model_at(Scripted(status(400, "no", {"content-type": "text/plain; charset=utf-16"})))
    with pytest.raises(Rejected):
        await client.complete(ASK, 50)


async def test_the_request_is_greedy_unstreamed_bounded_and_carries_the_key() -> None:
    script = Scripted(ok)
    client, _ = model_at(script, api_key="secret")
    await client.complete(ASK, 50)
    (request,) = script.asked
    body = httpx.Response(200, content=request.content).json()
    assert (body["temperature"], body["stream"], body["max_tokens"], body["model"]) == (0, False, 50, "m")
    assert request.headers["authorization"] == "Bearer secret"


async def test_without_a_model_name_the_server_is_asked_once() -> None:
    script = Scripted(lambda _: httpx.Response(200, json={"data": [{"id": "found"}]}), ok)
    client, _ = model_at(script, model="")
    await asyncio.gather(*(client.complete(ASK, 50) for _ in range(3)))
    assert [request.url.path for request in script.asked].count("/v1/models") == 1
    assert client.model == "found"


@pytest.mark.parametrize(
    "trouble",
    [
        status(429),
        status(500),
        status(503, "<html>"),
        status(200, "not json"),
        status(200, "[]"),
        status(200, "{}"),
        status(200, '{"choices": []}'),
        status(200, '{"choices": [{"message": null}]}'),
        status(200, "[" * 100_000),
        refused,
    ],
)
async def test_what_may_pass_is_tried_again_with_growing_delays(
    trouble: Callable[[httpx.Request], httpx.Response],
) -> None:
    script = Scripted(trouble, trouble, ok)
    client, delays = model_at(script)
    assert (await client.complete(ASK, 50)).text == "1 agent: Hello."
    assert 0.25 <= delays[0] <= 0.5 <= delays[1] <= 1.0


async def test_what_does_not_pass_is_an_outage_in_the_end() -> None:
    script = Scripted(status(500))
    client, delays = model_at(script)
    with pytest.raises(Unavailable, match="HTTP 500") as caught:
        await client.complete(ASK, 50)
    assert caught.value.reason == "model_unavailable"
    assert (len(script.asked), len(delays)) == (TRIES, TRIES - 1)


async def test_a_server_that_says_when_to_come_back_is_heard() -> None:
    client, delays = model_at(Scripted(status(429, headers={"retry-after": "7"}), ok), clock=lambda: 0.0)
    await client.complete(ASK, 50)
    assert delays == [7.0]


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "nan", "1e9", "999999"])
async def test_an_absurd_wait_is_not_obeyed(value: str) -> None:
    client, delays = model_at(Scripted(status(429, headers={"retry-after": value}), ok))
    await client.complete(ASK, 50)
    assert delays[0] <= 20.0


async def test_a_server_that_hangs_is_left_after_the_request_timeout() -> None:
    async def hang(_request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    signs: list[str] = []
    watch_life(lambda: signs.append("alive"))
    client = OpenAI(
        ("http://one/v1",), model="m", request_timeout=0.01, sleep=_no_sleep, transport=httpx.MockTransport(hang)
    )
    with pytest.raises(Slow, match="no answer within"):
        await client.complete(ASK, 50)
    assert signs == ["alive"]  # asked once: the same request would be as slow again


async def _no_sleep(_seconds: float) -> None:
    return


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (400, "This model's maximum context length is 2048 tokens.", TooLong),
        (400, "'max_tokens' is too large: 5000", TooLong),
        (413, "", TooLong),
        (400, "unknown parameter", Rejected),
        (422, "", Rejected),
    ],
)
async def test_a_request_at_fault_is_refused_at_once(code: int, text: str, expected: type[Exception]) -> None:
    script = Scripted(status(code, text))
    client, _ = model_at(script)
    with pytest.raises(expected):
        await client.complete(ASK, 50)
    assert len(script.asked) == 1


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_a_wrong_key_or_name_says_what_to_check(code: int) -> None:
    client, _ = model_at(Scripted(status(code)))
    with pytest.raises(Unavailable, match="check the URL, the model's name, the key"):
        await client.complete(ASK, 50)


async def test_an_answer_in_a_stream_that_was_not_asked_for_is_said_at_once() -> None:
    script = Scripted(status(200, "data: {}\n\ndata: [DONE]\n", {"content-type": "text/event-stream; charset=utf-8"}))
    client, _ = model_at(script)
    with pytest.raises(Unavailable, match="answers in text/event-stream, though no stream was asked for") as caught:
        await client.complete(ASK, 50)
    assert (caught.value.reason, len(script.asked)) == ("model_misconfigured", 1)


async def test_an_answer_that_is_no_json_is_named_by_its_content_type() -> None:
    client, _ = model_at(Scripted(status(200, "<html>", {"content-type": "text/html; charset=utf-8"})))
    with pytest.raises(Unavailable, match="the answer is text/html, and not JSON"):
        await client.complete(ASK, 50)


async def test_another_url_is_tried_when_one_is_away() -> None:
    def only_two(request: httpx.Request) -> httpx.Response:
        return refused(request) if request.url.host == "one" else ok(request)

    script = Scripted(only_two)
    client, _ = model_at(script, urls=("http://one/v1", "http://two/v1"))
    for _ in range(10):
        assert (await client.complete(ASK, 50)).text
    assert {request.url.host for request in script.asked} == {"one", "two"}


async def test_urls_share_requests_evenly_and_none_takes_more_than_its_places() -> None:
    running = {"one": 0, "two": 0}
    peak = dict(running)
    gate = asyncio.Event()
    started = asyncio.Semaphore(0)

    async def slow(request: httpx.Request) -> httpx.Response:
        host = request.url.host
        running[host] += 1
        peak[host] = max(peak[host], running[host])
        started.release()
        await gate.wait()
        running[host] -= 1
        return ok(request)

    client = OpenAI(("http://one/v1", "http://two/v1"), model="m", in_flight=3, transport=httpx.MockTransport(slow))
    asking = [asyncio.ensure_future(client.complete(ASK, 50)) for _ in range(20)]
    for _ in range(6):
        await started.acquire()
    gate.set()
    await asyncio.gather(*asking)
    assert peak == {"one": 3, "two": 3}


@pytest.mark.parametrize("content", [None, ""])
async def test_an_answer_of_nothing_is_an_empty_text(content: str | None) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    client, _ = model_at(Scripted(lambda _: httpx.Response(200, json=body)))
    assert await client.complete(ASK, 50) == Completion("", "stop", "", 0, 0)
