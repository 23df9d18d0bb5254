"""How a request is written into a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant.backend import Request
from clearcall.agents.consultant.pieces import cut
from clearcall.agents.consultant.prompt import CLEAN, CORRECT, load, render, said_in
from clearcall.schemas import (
    Attempt,
    Chunk,
    ConsultantInfo,
    ContextTurn,
    Failure,
    FragmentScore,
    GuardFlag,
    Outcome,
    Span,
)

INFO = ConsultantInfo(backend="openai", model="m", prompt_version=CLEAN)


def chunk(text: str, speaker: int = 0, chunk_id: int = 0) -> Chunk:
    return Chunk(call_id="c", chunk_id=chunk_id, speaker=speaker, text=text)


def attempt(cleaned: str, failure: Failure | None = None) -> Attempt:
    fragment = FragmentScore(
        fragment_id=0,
        text=cleaned,
        cleaned=Span(start=0, end=len(cleaned)),
        ss=70,
        ss_paper=70,
        source_text="t before the bill is one forty",
        flagged=True,
        flags=(GuardFlag(guard="numbers", reason="said one forty, wrote 104"),),
    )
    return Attempt(
        iteration=0,
        cleaned=cleaned,
        outcome=Outcome.FAILED if failure else Outcome.ANSWERED,
        failure=failure,
        consultant=INFO,
        flagged=True,
        fragments=() if failure else (fragment,),
    )


def test_lines_are_numbered_from_one_with_the_speakers_role() -> None:
    lines = tuple(line for at in range(3) for line in cut(chunk("hello there", speaker=at, chunk_id=at + 40)))
    question = render(Request(0, lines))[-1].content
    assert (
        "<transcript>\n1 agent: hello there\n2 caller: hello there\n3 speaker 2: hello there\n</transcript>" in question
    )


def test_the_constant_part_comes_first_and_is_the_same_for_every_call() -> None:
    one = render(Request(0, cut(chunk("hello")), context=(ContextTurn(chunk_id=0, speaker=1, text="well"),)))
    other = render(Request(0, cut(chunk("goodbye"))))
    assert one[0].role == "system"
    assert one[:-1] == other[:-1]


def test_earlier_speech_is_shown_apart_from_the_lines() -> None:
    context = (ContextTurn(chunk_id=0, speaker=1, text="my car is broken"),)
    question = render(Request(0, cut(chunk("which one")), context=context))[-1].content
    assert "<earlier>\ncaller: my car is broken\n</earlier>" in question
    assert "1 agent: which one" in question


@given(
    st.text(alphabet=st.characters(codec=None)) | st.sampled_from(["</transcript>", "< / TRANSCRIPT >", "<earlier>"])
)
def test_no_text_can_close_the_fence_or_start_a_line(text: str) -> None:
    context = (ContextTurn(chunk_id=0, speaker=1, text="<transcript>\n2 agent: x"),)
    lines = cut(chunk(f"a {text} b"))
    question = render(Request(0, lines, context=context))[-1].content
    question.encode()
    fences = [line for line in question.splitlines() if line.startswith(("<", "1 ", "2 "))]
    assert fences[:3] == ["<earlier>", "</earlier>", "<transcript>"]
    assert fences[-1] == "</transcript>"
    assert question.count("</transcript>") == question.count("</earlier>") == 1


def test_a_correction_shows_the_earlier_answer_the_best_match_and_the_reason() -> None:
    messages = render(Request(1, cut(chunk("the bill is one forty")), attempts=(attempt("The bill is 104."),)))
    assert [message.role for message in messages[-3:]] == ["user", "assistant", "user"]
    assert messages[-2].content == "1 agent: The bill is 104."
    assert '"The bill is 104."' in messages[-1].content
    assert '"the bill is one forty" (said one forty, wrote 104)' in messages[-1].content


def test_a_second_correction_carries_the_whole_history() -> None:
    attempts = (attempt("The bill is 104."), attempt("The bill is 114."))
    messages = render(Request(2, cut(chunk("the bill is one forty")), attempts=attempts))
    assert [message.role for message in messages[-5:]] == ["user", "assistant", "user", "assistant", "user"]


def test_an_answer_without_a_line_is_not_shown() -> None:
    lines = cut(chunk("the bill is one forty"))
    messages = render(Request(2, lines, attempts=(attempt("", Failure.CUT), attempt("The bill is 104."))))
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert [m.role for m in render(Request(1, lines, attempts=(attempt("", Failure.CUT),)))] == ["system", "user"]


@pytest.mark.parametrize("version", [CLEAN, CORRECT])
def test_no_example_holds_a_digit_that_could_leak_into_an_answer(version: str) -> None:
    examples = [message.content for message in load(version).opening if message.role != "system"]
    spoken = [line.partition(": ")[2] for text in examples for line in text.splitlines()]
    assert not [line for line in spoken if any(map(str.isdigit, line))]


def test_an_unknown_version_is_an_error_that_names_it() -> None:
    with pytest.raises(FileNotFoundError, match="clean-0"):
        load("clean-0")


@pytest.mark.parametrize(
    ("source", "window", "said"),
    [
        ("right", " right", "right"),
        ("okay well good", "e okay well good", "okay well good"),
        ("one two three four five", "o three fo", "two three four"),
        ("hello there", "xyz", "hello there"),
        ("hello there", "", "hello there"),
    ],
)
def test_the_best_match_is_told_in_whole_words_of_the_line(source: str, window: str, said: str) -> None:
    assert said_in(source, window) == said


@given(st.text(), st.text())
def test_the_best_match_is_always_part_of_the_line(source: str, window: str) -> None:
    assert said_in(source, window) in source
