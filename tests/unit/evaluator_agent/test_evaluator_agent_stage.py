"""The evaluator agent as a stage: what it shows a model, what it sends, and that nothing of the model's holds it up."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
from structlog.testing import capture_logs

from clearcall.agents.evaluator_agent.agent import LATE, LONGEST, EvaluatorAgent, chosen
from clearcall.agents.evaluator_agent.build import build, caller_of
from clearcall.agents.evaluator_agent.counts import total
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Chunk,
    Evaluation,
    Headers,
    Incoming,
    Outgoing,
    ToolCheck,
    Topic,
    decode,
    encode,
)
from clickhouse_samples import attempt, chunk, evaluation, fragment
from tool_server import calling, truly

NOW = 1_700_000_000.0
Answer = Callable[[dict[str, Any]], Any]


def agent(
    answer: Answer, *, share: float = 1.0, in_flight: int = 4, now: float = NOW, **settings: Any
) -> EvaluatorAgent:
    async def respond(request: httpx.Request) -> httpx.Response:
        body = orjson.loads(request.content)
        made = answer({**body, "authorization": request.headers.get("authorization"), "host": request.url.host})
        found = await made if asyncio.iscoroutine(made) else made
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    caller = caller_of(
        Settings(evaluator_agent_model="m", **settings), in_flight=in_flight, transport=httpx.MockTransport(respond)
    )
    return EvaluatorAgent(caller, share=share, in_flight=in_flight, now=lambda: now)


def scored(call: str = "c1", fragments: int = 2, said: Chunk | None = None) -> Incoming[Evaluation]:
    of = said or chunk(call)
    found = evaluation(of, attempt(0, [fragment(number, 90.0) for number in range(fragments)]), at=NOW)
    return Incoming(found, Headers(traceparent="00-1-2-01"))


def only(outgoing: list[Outgoing]) -> ToolCheck:
    (found,) = outgoing
    assert isinstance(found.message, ToolCheck)
    assert (found.topic, found.traceparent) == (Topic.CHECKS, "00-1-2-01")
    return found.message


async def test_each_fragment_of_an_answer_is_shown_and_its_call_compared() -> None:
    found = only(await agent(truly)([scored()]))
    assert [(check.fragment_id, check.fragment, check.source, check.change) for check in found.checks] == [
        (0, "exact", "exact", "none"),
        (1, "exact", "exact", "none"),
    ]
    assert all(check.given_fragment is check.given_source is None for check in found.checks)
    assert found.message_id == "c1/0/0"
    assert found.key == "c1"
    assert decode(ToolCheck, encode(found)) == found


async def test_what_was_handed_over_otherwise_is_kept_with_the_score_it_would_have_had() -> None:
    def swapped(body: dict[str, Any]) -> Any:
        fragment = body["messages"][1]["content"].rpartition("<fragment>\n")[2].partition("\n</fragment>")[0]
        return calling({"fragment": fragment, "source": "the weather is fine"})

    (check,) = only(await agent(swapped)([scored(fragments=1)])).checks
    assert (check.fragment, check.source, check.given_source) == ("exact", "invented", "the weather is fine")
    assert check.given_ss is not None
    assert check.given_ss < 80 <= check.ss
    assert check.change == "false"


@pytest.mark.parametrize("failing", [lambda _body: httpx.Response(400, text="no tools"), lambda _body: 1 / 0])
async def test_a_server_that_refuses_or_is_away_is_counted_and_no_outage(failing: Answer) -> None:
    def answer(body: dict[str, Any]) -> Any:
        try:
            return failing(body)
        except ZeroDivisionError:
            raise httpx.ConnectError("away") from None

    refused = agent(answer)
    assert await refused([scored()]) == []
    assert refused.counts.calls.keys() <= {"refused", "unanswered"}
    assert sum(refused.counts.calls.values()) == 1


async def test_that_a_server_refuses_is_logged_once_until_it_answers() -> None:
    answers = ["no", "no", "yes", "yes", "no"]

    def answer(body: dict[str, Any]) -> Any:
        return truly(body) if answers.pop(0) == "yes" else httpx.Response(400, text="no tools")

    asked = agent(answer)
    with capture_logs() as logs:
        for number in range(4):
            await asked([scored(f"c{number}")])
    assert [entry["event"] for entry in logs if "agent" in entry["event"]] == ["evaluator_agent.refused"] * 2


async def test_what_comes_while_enough_are_under_way_is_let_go_and_counted() -> None:
    gate = asyncio.Event()

    async def slow(body: dict[str, Any]) -> Any:
        await gate.wait()
        return truly(body)

    asked = agent(slow, in_flight=2)
    asking = [asyncio.create_task(asked([scored(f"c{number}")])) for number in range(5)]
    await asyncio.sleep(0)
    assert asked.counts.calls == {"dropped": 6}
    gate.set()
    ends = await asyncio.gather(*asking)
    assert [len(end) for end in ends] == [1, 1, 0, 0, 0]
    assert [len(end) for end in await asyncio.gather(*(asked([scored(f"d{number}")]) for number in range(2)))] == [1, 1]


async def test_a_place_is_free_again_after_a_cancellation() -> None:
    async def never(_body: dict[str, Any]) -> Any:
        await asyncio.Event().wait()

    asked = agent(never, in_flight=1)
    for _ in range(2):
        asking = asyncio.create_task(asked([scored()]))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert not asked.counts.calls


async def test_what_was_scored_long_ago_is_let_go() -> None:
    late = agent(truly, now=NOW + LATE + 1)
    assert await late([scored()]) == []
    assert late.counts.calls == {"dropped": 2}


async def test_a_chunk_too_long_for_a_small_model_and_an_answer_without_fragments_are_not_shown() -> None:
    asked = agent(truly)
    assert await asked([scored(fragments=0), scored(said=chunk(text="word " * LONGEST))]) == []
    assert asked.counts.calls == {"too_long": 2}


def test_the_share_is_drawn_by_the_id_alone() -> None:
    ids = [f"call-{number}/{number % 7}/0" for number in range(4000)]
    drawn = [each for each in ids if chosen(each, 0.1)]
    assert 300 < len(drawn) < 500
    assert drawn == [each for each in ids if chosen(each, 0.1)]
    assert all(chosen(each, 1.0) for each in ids)
    assert set(drawn) <= {each for each in ids if chosen(each, 0.2)}


async def test_what_was_done_is_shown_together_with_that_of_other_agents() -> None:
    before = total()
    one, other = agent(truly), agent(truly)
    await one([scored()])
    await other([scored()])
    assert total().calls - before.calls == {"exact": 4}
    assert total().flags - before.flags == {"none": 4}


async def test_the_consultants_key_goes_to_its_own_servers_only() -> None:
    seen: list[tuple[str, str | None]] = []

    def note(body: dict[str, Any]) -> Any:
        seen.append((body["host"], body["authorization"]))
        return truly(body)

    keys: dict[str, Any] = {"api_key": "consultants", "evaluator_agent_api_key": "own"}
    await agent(note, urls=("http://gpu/v1",), **keys)([scored(fragments=1)])
    await agent(note, evaluator_agent_urls=("http://small/v1",), **keys)([scored(fragments=1)])
    assert seen == [("gpu", "Bearer consultants"), ("small", "Bearer own")]


async def test_the_stages_agent_is_that_of_the_settings() -> None:
    built = build(Settings(evaluator_agent="tools"))
    assert await built([scored(fragments=0)]) == []
    await built.close()
