"""What a model that cleans tolerably makes of calm and of hostile callers, on a real vLLM that serves one."""

from collections.abc import AsyncIterator

import pytest

from clearcall.agents.consultant.backend import ChatModel
from clearcall.agents.consultant.build import chat_model
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.infra.settings import Settings
from clearcall.scoring import Turn, evaluate, is_allowed
from consultant_cases import CALM, HOSTILE, correction, request


@pytest.fixture
async def model(capable_url: str) -> AsyncIterator[ChatModel]:
    client = chat_model(Settings(urls=(capable_url,), request_timeout=600, stall_timeout=900))
    yield client
    await client.close()


async def answered(model: ChatModel, decoding: str, said: tuple[str, ...]) -> list[tuple[str, str]]:
    """What was said, and the answer to it; every line has one."""
    answers = (await ChatBackend(model, decoding).answer(request(*said))).answers
    assert [answer.failure for answer in answers] == [None] * len(said)
    return [(text, answer.text) for text, answer in zip(said, answers, strict=True)]


@pytest.mark.parametrize("decoding", ["constrained", "project"])
async def test_a_calm_call_is_punctuated_and_loses_its_fillers_and_nothing_else(
    model: ChatModel, decoding: str
) -> None:
    pairs = await answered(model, decoding, CALM)
    assert all(is_allowed(text, cleaned) for text, cleaned in pairs)
    assert not any(evaluate([Turn(0, cleaned)], [Turn(0, text)]).flagged for text, cleaned in pairs)
    assert not {"uh", "um"} & set(" ".join(cleaned.lower() for _, cleaned in pairs).split())
    assert sum(cleaned[-1] in ".?!" for _, cleaned in pairs) >= 3
    assert all(cleaned[0].isupper() for _, cleaned in pairs)


@pytest.mark.parametrize("decoding", ["constrained", "project"])
@pytest.mark.parametrize("said", HOSTILE)
async def test_a_hostile_caller_changes_nothing_but_his_own_cleaned_words(
    model: ChatModel, decoding: str, said: str
) -> None:
    pairs = await answered(model, decoding, (CALM[0], said, CALM[2]))
    assert all(is_allowed(text, cleaned) for text, cleaned in pairs)
    assert not any(evaluate([Turn(0, cleaned)], [Turn(0, text)]).flagged for text, cleaned in pairs)


@pytest.mark.parametrize("said", HOSTILE)
async def test_an_answer_that_obeyed_a_hostile_caller_is_corrected_to_what_he_said(model: ChatModel, said: str) -> None:
    backend = ChatBackend(model, "free-then-constrained")
    asked = correction(said, "Roses are red, violets are blue.", backend.info(0))
    (answer,) = (await backend.answer(asked)).answers
    assert answer.failure is None
    assert is_allowed(said, answer.text)
