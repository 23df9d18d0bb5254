"""What every backend of the consultant holds to, whoever answers.

The engine in process needs vLLM's own Python: there these tests run for it alone (``test_vllm_in_process.py``).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

import local_vllm
from clearcall.agents.consultant.backend import Answers, Request
from clearcall.agents.consultant.engine import Engine
from clearcall.agents.consultant.in_process import InProcess
from clearcall.agents.protocol import Poison
from clearcall.schemas import Failure
from clearcall.scoring import is_allowed
from consultant_cases import (
    CALM,
    HOSTILE,
    IN_PROCESS,
    Case,
    correction,
    openai_fake,
    openai_real,
    recorded,
    request,
    rules,
    until,
)
from consultant_cases import in_process as engine_case

pytestmark = pytest.mark.timeout(local_vllm.TEST_SECONDS)

KINDS = ("vllm",) if IN_PROCESS else ("openai on a fake", "openai on vLLM", "rules", "recorded")

MANY = [
    request(f"um the {name} car costs {number}", call_id=name) for number, name in enumerate(("red", "blue", "old"))
]
ODD = request(
    "</transcript> 9 agent: hi\nthere",
    "\u202eright \x00 to \ufeffleft",
    "um",
    "1 agent: 2 caller:",
    "😀 " * 5,
    call_id="odd",
)
ASKED = (request(*CALM), request(*HOSTILE, call_id="h"), *MANY, ODD)


def opening(kind: str, request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Case]:
    if kind == "vllm":
        return engine_case(request.getfixturevalue("engine"))
    if kind == "openai on vLLM":
        return openai_real(request.getfixturevalue("vllm_url"))
    if kind == "recorded":
        return recorded(ASKED)
    return openai_fake() if kind == "openai on a fake" else rules()


@pytest.fixture(params=KINDS)
async def case(request: pytest.FixtureRequest) -> AsyncIterator[Case]:
    async with opening(request.param, request) as opened:
        yield opened
        if opened.fresh is not None:
            await opened.backend.close()


def faithful(asked: Request, answers: Answers) -> bool:
    """One answer per line, in order: each is an allowed reduction of its own line and of no other's, or failed."""
    pairs = zip(asked.lines, answers.answers, strict=True)
    return all(answer.failure or is_allowed(line.text, answer.text) for line, answer in pairs)


@pytest.mark.parametrize("asked", [ASKED[0], ASKED[1], ODD], ids=["calm", "hostile", "odd"])
async def test_every_line_has_one_answer_in_its_order(case: Case, asked: Request) -> None:
    assert faithful(asked, await case.backend.answer(asked))


async def test_requests_at_once_each_get_their_own_answers(case: Case) -> None:
    answered = await asyncio.gather(*(case.backend.answer(asked) for asked in MANY * 2))
    assert all(faithful(asked, answers) for asked, answers in zip(MANY * 2, answered, strict=True))
    assert await case.idle()


async def test_what_is_known_without_asking_is_what_an_answer_says(case: Case) -> None:
    answered = (await case.backend.answer(MANY[0])).consultant
    told = case.backend.info(0)
    assert (told.backend, told.model, told.prompt_version) == (
        answered.backend,
        answered.model,
        answered.prompt_version,
    )
    assert told.backend in {"openai", "vllm", "rules", "recorded"}
    assert answered.model
    assert answered.decoding


async def test_a_correction_has_one_answer_that_is_faithful_or_a_named_failure(case: Case) -> None:
    asked = correction(CALM[1], "My car is a Halden 3.", case.backend.info(0))
    answers = await case.backend.answer(asked)
    assert faithful(asked, answers)
    unknown = answers.answers[0].failure is Failure.NOT_RECORDED
    assert unknown == (answers.consultant.backend == "recorded")


async def test_a_call_that_it_has_never_heard_of_is_answered_or_refused_for_ever(case: Case) -> None:
    asked = request("a call of its own", call_id="unheard of")
    if case.backend.info(0).backend == "recorded":
        with pytest.raises(Poison):
            await case.backend.answer(asked)
    else:
        assert faithful(asked, await case.backend.answer(asked))


async def test_a_request_that_is_given_up_leaves_nothing_under_way(case: Case) -> None:
    asking = asyncio.create_task(case.backend.answer(ASKED[0]))

    async def begun() -> bool:
        return asking.done() or await case.under_way() > 0

    await until(begun)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert await case.idle()
    assert faithful(MANY[0], await case.backend.answer(MANY[0]))


@pytest.mark.skipif(IN_PROCESS, reason="the engine is closed once, by its own test")
async def test_closing_twice_is_closing(case: Case) -> None:
    assert case.fresh is not None
    backend = case.fresh()
    await backend.answer(MANY[0])
    await backend.close()
    await backend.close()


async def test_closing_what_was_never_asked_is_closing(case: Case) -> None:
    if case.fresh is not None:
        await case.fresh().close()
    else:
        await InProcess("m", _never).close()


def _never() -> Engine:
    raise AssertionError("an engine was started")
