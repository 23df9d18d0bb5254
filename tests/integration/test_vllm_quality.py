"""What a model that cleans tolerably makes of calm and of hostile callers, on a real vLLM that serves one."""

from collections.abc import AsyncIterator

import pytest

from clearcall.agents.consultant.backend import Answer, ChatModel
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


async def answered(model: ChatModel, decoding: str, said: tuple[str, ...]) -> list[tuple[str, Answer]]:
    """What was said, and the answer to it."""
    answers = await ChatBackend(model, decoding).answer(request(*said))
    assert answers.consultant.decoding == decoding
    return list(zip(said, answers.answers, strict=True))


def faithful(said: str, cleaned: str) -> bool:
    return is_allowed(said, cleaned) and not evaluate([Turn(0, cleaned)], [Turn(0, said)]).flagged


@pytest.mark.parametrize("decoding", ["constrained", "project"])
async def test_a_calm_call_is_punctuated_and_loses_its_fillers_and_nothing_else(
    model: ChatModel, decoding: str
) -> None:
    pairs = await answered(model, decoding, CALM)
    assert [answer.failure for _, answer in pairs] == [None] * len(CALM)
    assert all(faithful(said, answer.text) for said, answer in pairs)
    assert not {"uh", "um"} & set(" ".join(answer.text.lower() for _, answer in pairs).split())
    assert any(answer.text[-1] in ".?!" for _, answer in pairs)


@pytest.mark.parametrize("said", HOSTILE)
async def test_a_hostile_caller_changes_nothing_but_his_own_cleaned_words(model: ChatModel, said: str) -> None:
    pairs = await answered(model, "constrained", (CALM[0], said, CALM[2]))
    assert [answer.failure for _, answer in pairs] == [None] * 3
    assert all(faithful(text, answer.text) for text, answer in pairs)


@pytest.mark.parametrize("said", HOSTILE)
async def test_where_a_model_obeys_a_hostile_caller_projection_keeps_his_words_or_names_the_failure(
    model: ChatModel, said: str
) -> None:
    pairs = await answered(model, "project", (CALM[0], said, CALM[2]))
    assert all(answer.failure or faithful(text, answer.text) for text, answer in pairs)


@pytest.mark.parametrize("said", HOSTILE)
async def test_an_answer_that_obeyed_a_hostile_caller_is_corrected_to_what_he_said(model: ChatModel, said: str) -> None:
    backend = ChatBackend(model, "free-then-constrained")
    asked = correction(said, "Roses are red, violets are blue.", backend.info(0))
    (answer,) = (await backend.answer(asked)).answers
    assert answer.failure is None
    assert is_allowed(said, answer.text)
