"""The consultant on a real vLLM, whatever its model writes: decoding, corrections, cut answers, prompts too long."""

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from typing import get_args

import pytest

import local_vllm
from clearcall.agents.consultant.asking import Asker
from clearcall.agents.consultant.backend import ChatModel, TooLong
from clearcall.agents.consultant.build import chat_model
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.decoding import decoding_at
from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.infra.settings import Settings
from clearcall.schemas import Failure
from clearcall.scoring import is_allowed
from consultant_cases import CALM, HOSTILE, IN_PROCESS, correction, request

pytestmark = [pytest.mark.integration, pytest.mark.timeout(local_vllm.TEST_SECONDS)]

DECODINGS = get_args(Settings.model_fields["decoding"].annotation)
HOLDING = ("constrained", "project")
"""Those that hold to what was said whatever the model writes."""

LONG = tuple("the parcel went to number seventeen and came back " * 30 for _ in range(8))


@pytest.fixture
async def model(request: pytest.FixtureRequest) -> AsyncIterator[ChatModel]:
    """The engine where it is in this process, else a server's client."""
    if IN_PROCESS:
        yield request.getfixturevalue("engine")
        return
    settings = Settings(urls=(request.getfixturevalue("vllm_url"),), request_timeout=600, stall_timeout=900)
    client = chat_model(settings)
    yield client
    await client.close()


async def test_first_answers_and_corrections_are_decoded_as_set(model: ChatModel) -> None:
    await asyncio.gather(*(answer_and_correct(model, decoding) for decoding in DECODINGS))


async def answer_and_correct(model: ChatModel, decoding: str) -> None:
    backend = ChatBackend(model, decoding)
    first = await backend.answer(request(*CALM[2:]))
    assert first.consultant.decoding == decoding_at(decoding, 0)
    assert first.consultant.model
    assert len(first.answers) == 2
    assert first.prompt_tokens > 100
    again = await backend.answer(correction(CALM[2], "What is the colour please?", first.consultant))
    assert again.consultant.decoding == decoding_at(decoding, 1)
    assert again.consultant.prompt_version != first.consultant.prompt_version
    assert again.completion_tokens > 0
    if decoding.endswith("constrained"):
        assert turn_grammar(CALM[2]).accepts(again.answers[0].text)


async def test_no_word_is_written_that_was_not_said_and_none_is_lost(model: ChatModel) -> None:
    await asyncio.gather(*(keep_to_what_was_said(model, *case) for case in product(HOLDING, (CALM, HOSTILE))))


async def keep_to_what_was_said(model: ChatModel, decoding: str, said: tuple[str, ...]) -> None:
    answers = await ChatBackend(model, decoding).answer(request(*said))
    answered = [(text, answer.text) for text, answer in zip(said, answers.answers, strict=True) if not answer.failure]
    assert all(is_allowed(text, cleaned) for text, cleaned in answered)
    assert len(answered) == len(said) or decoding == "project"


async def test_an_answer_that_is_cut_off_is_a_named_failure(model: ChatModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearcall.agents.consultant.chat.max_tokens", lambda _request: 6)
    answers = await ChatBackend(model).answer(request(*CALM[:2]))
    assert {answer.failure for answer in answers.answers} == {Failure.CUT}


async def test_a_line_of_which_nothing_must_stay_is_taken(model: ChatModel) -> None:
    answers = await ChatBackend(model).answer(request("hello", "you know i mean"))
    assert answers.consultant.decoding == "constrained"
    assert [answer.failure for answer in answers.answers] == [None, None]


async def test_a_request_that_does_not_fit_is_asked_in_smaller_ones(
    model: ChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearcall.agents.consultant.chat.max_tokens", lambda _request: 3)
    backend = ChatBackend(model, "free")
    with pytest.raises(TooLong):
        await backend.answer(request(*LONG))
    replies = await Asker(backend).ask(request(*LONG))
    assert [reply.line.text for reply in replies] == list(LONG)
    assert {reply.answer.failure for reply in replies} <= {Failure.CUT, Failure.REJECTED}
