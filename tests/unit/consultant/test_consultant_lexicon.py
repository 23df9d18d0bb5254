"""The settings' lexicon: what is a filler to the evaluator may be left out by the consultant too."""

from pathlib import Path
from typing import Any

import pytest

from clearcall.agents.consultant.backend import Line, Request
from clearcall.agents.consultant.build import backend_of, build
from clearcall.agents.consultant.decoding import window_grammar
from clearcall.agents.lexicon import lexicon_of
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Draft, Incoming, Outcome
from clearcall.scoring import Turn, evaluate_turn, is_allowed, restore
from clearcall.scoring.types import Rules
from model_server import completion, serving

SAID = "alright then it works"


def request(said: str) -> Request:
    return Request(0, (Line(Chunk(call_id="c", chunk_id=0, speaker=0, text=said), said),))


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "lexicon.txt"
    path.write_text("alright then\n", encoding="utf-8")
    return path


async def answered(said: str, **settings: Any) -> str:
    backend = backend_of(Settings(**settings))
    try:
        return (await backend.answer(request(said))).answers[0].text
    finally:
        await backend.close()


async def test_the_rules_leave_out_what_the_lexicon_names(ours: Path) -> None:
    assert await answered(SAID, consultant="rules", lexicon=ours) == "It works."
    assert await answered(SAID, consultant="rules") == "Alright then it works."


async def test_the_grammar_sent_is_that_of_the_lexicon(ours: Path) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> object:
        bodies.append(body)
        return completion("1 agent: It works.")

    async with serving(answer) as url:
        assert await answered(SAID, urls=(url,), lexicon=ours) == "It works."
    wanted = window_grammar(request(SAID), lexicon_of(Settings(lexicon=ours)))
    assert wanted.accepts("1 agent: It works.")
    assert bodies[0]["structured_outputs"] == {"grammar": wanted.ebnf}


async def test_a_projected_answer_may_lack_what_the_lexicon_names(ours: Path) -> None:
    async with serving(lambda _body: completion("1 agent: It works.")) as url:
        assert await answered(SAID, urls=(url,), decoding="project", lexicon=ours) == "It works."
        assert await answered(SAID, urls=(url,), decoding="project") == "Alright then it works."


async def test_a_chunk_of_nothing_but_the_lexicons_fillers_asks_no_model(ours: Path) -> None:
    consultant = build(Settings(consultant="rules", lexicon=ours))
    (out,) = await consultant.chunks([Incoming(Chunk(call_id="c", chunk_id=0, speaker=0, text="alright then"))])
    assert isinstance(out.message, Draft)
    assert out.message.outcome is Outcome.NOTHING_TO_CLEAN


async def test_what_the_consultant_leaves_out_the_evaluator_lets_go(ours: Path) -> None:
    lexicon = lexicon_of(Settings(lexicon=ours))
    cleaned = await answered(SAID, consultant="rules", lexicon=ours)
    assert is_allowed(SAID, cleaned, lexicon)
    assert not evaluate_turn(cleaned, 0, [Turn(0, SAID)], rules=Rules(lexicon=lexicon)).flagged


def test_what_is_restored_lacks_what_the_lexicon_names(ours: Path) -> None:
    lexicon = lexicon_of(Settings(lexicon=ours))
    wrong = "It explodes."
    evaluation = evaluate_turn(wrong, 0, [Turn(0, SAID)], rules=Rules(lexicon=lexicon))
    assert restore(wrong, SAID, evaluation, lexicon) == "It works."
