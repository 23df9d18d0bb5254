"""Control characters and lone surrogates part words, for whoever reads a turn: prompt, grammar, projection, scoring."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant import build
from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.agents.consultant.pieces import cut
from clearcall.agents.consultant.projection import project
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Draft, Incoming
from clearcall.scoring import Turn, evaluate_turn, findings
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.normalise import normalise
from clearcall.scoring.reduction import reductions
from clearcall.scoring.spaces import one_line
from clearcall.scoring.spoken import words_of
from model_server import asked_lines, completion, serving

PARTING = ["\x00", "\x08", "\x1f", "\x7f", "\x85", "\ud800", "\n", " "]
ANY = st.characters(codec=None)
SPOKEN = st.lists(st.sampled_from(["um", "nul", "I", "6", ".", "\u4f60", "-", "Bob", *PARTING]), max_size=20).map(
    "".join
)
TEXT = st.text(ANY, max_size=40) | SPOKEN


@given(TEXT)
def test_the_line_that_is_asked_has_the_words_of_the_turn(text: str) -> None:
    asked, said = words_of(one_line(text)), words_of(text)
    assert [word._replace(start=0, end=0) for word in asked] == [word._replace(start=0, end=0) for word in said]
    assert reductions(one_line(text)).skips == reductions(text).skips
    assert normalise(one_line(text)).forms == normalise(text).forms


@given(TEXT)
def test_the_pieces_of_a_chunk_have_its_words(text: str) -> None:
    chunk = Chunk.model_construct(call_id="c", chunk_id=0, speaker=0, text=text, start=None, end=None)
    joined = "".join(line.glue + line.text for line in cut(chunk))
    assert [word.form for word in words_of(joined)] == [word.form for word in words_of(text)]


@given(TEXT)
def test_a_model_that_answers_the_line_itself_is_right(text: str) -> None:
    answer = one_line(text)
    assert findings(text, answer) == []
    assert not project(text, answer).changed
    assert findings(text, project(answer, answer).text) == []
    assert findings(text, turn_grammar(answer).reduction.plain) == []
    assert not any(fragment.flags for fragment in evaluate_turn(answer, 0, [Turn(0, text)]).fragments)


@pytest.mark.parametrize("parting", PARTING)
@pytest.mark.parametrize("decoding", ["free", "project", "constrained"])
async def test_a_chunk_with_control_characters_is_delivered_with_its_words_parted(parting: str, decoding: Any) -> None:
    said = Chunk.model_construct(
        call_id="c", chunk_id=0, speaker=0, text=f"nul{parting}here um now", start=None, end=None
    )
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        asked.extend(asked_lines(body))
        return completion("1 agent: Nul here now.")

    async with serving(answer) as url:
        consultant = build(Settings(urls=(url,), decoding=decoding))
        (out,) = await consultant.chunks([Incoming(said)])
        await consultant.close()
    assert asked == ["1 agent: nul here um now"]
    draft = out.message
    assert isinstance(draft, Draft)
    assert draft.cleaned == "Nul here now."
    result = evaluate_turn(draft.cleaned, 0, [Turn(0, said.text)])
    assert not any(fragment.flagged for fragment in result.fragments)


@pytest.mark.parametrize("parting", PARTING)
def test_fragments_are_counted_by_the_same_words(parting: str) -> None:
    assert fragment_spans(parting.join("abc"), words=2, overlap=0) == [(0, 3), (4, 5)]
