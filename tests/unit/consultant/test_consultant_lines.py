"""A model's answer taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant.backend import Answer
from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.agents.consultant.lines import parse
from clearcall.schemas import Failure

TWO = ("um hello there", "yes please do")


def failures(text: str, sources: tuple[str, ...] = TWO, *, cut: bool = False) -> list[Failure | None]:
    return [answer.failure for answer in parse(text, sources, cut=cut)]


def test_numbered_lines_become_the_answers_to_their_chunks() -> None:
    answers = parse("1 agent: Hello there.\n2 caller: Yes, please do.", TWO, cut=False)
    assert answers == (Answer("Hello there."), Answer("Yes, please do."))


@pytest.mark.parametrize(
    "text",
    [
        "2: Yes, please do.\n1: Hello there.",
        "Here is the cleaned transcript:\n\n1. agent: Hello there.\n2. caller: Yes, please do.",
        "```text\n1 agent: Hello there.\n2 caller: Yes, please do.\n```",
        "<transcript>\n1 agent: Hello there.\n2 caller: Yes, please do.\n</transcript>",
        "1 **agent:** Hello there.\n2 speaker 7: Yes, please do.",
        "1 agent: Hello\nthere.\n2 caller: Yes, please do.\n\nI left out the fillers.",
        "1 agent: Hello there.\n2 caller: Yes, please do.\n3 agent: Of course, sir.",
        "1 agent: Hello there.\n1 agent: Hello there.\n2 caller: Yes, please do.",
    ],
    ids=["order", "preamble", "code", "fence", "decorated", "wrapped", "invented", "same twice"],
)
def test_what_a_model_adds_around_the_lines_does_not_matter(text: str) -> None:
    assert [answer.text for answer in parse(text, TWO, cut=False)] == ["Hello there.", "Yes, please do."]
    assert failures(text) == [None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [Failure.EMPTY, Failure.EMPTY]),
        ("\n \n", [Failure.EMPTY, Failure.EMPTY]),
        ("1 agent: Hello there.", [None, Failure.MISSING_LINE]),
        ("1 agent:\n2 caller: Yes, please do.", [Failure.EMPTY, None]),
        ("1 agent: Hello.\n1 agent: Hello there.\n2 caller: Yes, please do.", [Failure.REPEATED_LINE, None]),
        ("1 agent: Hello there. Yes, please do.", [Failure.MERGED_LINE, Failure.MISSING_LINE]),
        ("1 agent: Hello there. 2 caller: Yes, please do.", [Failure.MERGED_LINE, Failure.MISSING_LINE]),
        ("{]//%%", [Failure.GARBAGE, Failure.GARBAGE]),
        ("1 agent: ?!.\n2 caller: Yes, please do.", [Failure.GARBAGE, None]),
        ("1 agent: " + "la " * 200 + "\n2 caller: Yes, please do.", [Failure.GARBAGE, None]),
        ("I'm sorry, but I can't assist with that.", [Failure.REFUSAL, Failure.REFUSAL]),
        ("1 agent: As an AI, I only\n2 caller: Yes, please do.", [Failure.REFUSAL, None]),
        ("1 agent: Здравствуйте.\n2 caller: 是的请", [Failure.OTHER_LANGUAGE, Failure.OTHER_LANGUAGE]),
    ],
)
def test_each_way_to_answer_wrongly_has_its_name(text: str, expected: list[Failure | None]) -> None:
    assert failures(text) == expected


def test_an_answer_cut_off_fails_its_last_line_and_all_behind_it() -> None:
    three = (*TWO, "thank you")
    assert failures("1 agent: Hello there.\n2 caller: Yes, ple", three, cut=True) == [None, Failure.CUT, Failure.CUT]


def test_an_answer_cut_off_before_its_first_line_fails_every_line() -> None:
    assert failures("Here is", cut=True) == [Failure.CUT, Failure.CUT]


def test_a_single_line_may_come_without_its_number() -> None:
    assert parse("Hello there.", ("um hello there",), cut=False) == (Answer("Hello there."),)


def test_an_agent_who_says_sorry_on_the_phone_is_no_refusal() -> None:
    source = "i'm sorry but i can't assist with that here"
    assert failures("1 agent: I'm sorry, but I can't assist with that here.", (source,)) == [None]


@pytest.mark.parametrize("source", ["שלום מה שלומך", "你好我的车坏了", "добрый день это сервис", "👍 👍 okay"])
def test_every_script_is_its_own_language(source: str) -> None:
    assert failures(f"1 agent: {source}.", (source,)) == [None]


@pytest.mark.parametrize("source", ["you know i mean", "uh well"])
def test_an_empty_line_is_an_answer_where_all_of_it_may_be_left_out(source: str) -> None:
    assert failures("1 agent: Hello there.\n2 caller:", ("hello there", source)) == [None, None]


def test_an_empty_line_is_a_failure_where_something_was_said() -> None:
    assert failures("1 agent: Hello there.\n2 caller:") == [None, Failure.EMPTY]


def test_a_refusal_is_the_speakers_own_where_only_fillers_stood_between() -> None:
    assert failures("1 agent: I'm sorry, but I can't help.", ("i'm sorry um but i uh can't help",)) == [None]


def test_a_failed_answer_keeps_what_was_written() -> None:
    (answer,) = parse("1 agent: Добрый день", ("good day",), cut=False)
    assert answer == Answer("Добрый день", Failure.OTHER_LANGUAGE)


anything = st.text(alphabet=st.characters(codec=None), max_size=200)
lineish = st.lists(
    st.builds(
        lambda number, head, text: f"{number}{head}{text}",
        st.integers(0, 12),
        st.sampled_from([" agent: ", ": ", " caller:", ") ", " ", ". speaker 4: "]),
        anything,
    ),
    max_size=12,
).map("\n".join)


@given(text=anything | lineish, sources=st.lists(anything, min_size=1, max_size=10), cut=st.booleans())
def test_no_text_crashes_the_parser_and_every_line_gets_one_answer(text: str, sources: list[str], cut: bool) -> None:
    answers = parse(text, sources, cut=cut)
    assert len(answers) == len(sources)
    assert all(
        answer.failure or turn_grammar(source).accepts(answer.text) or answer.text
        for answer, source in zip(answers, sources, strict=True)
    )


@given(st.lists(st.text(alphabet="abc' ", min_size=1).filter(str.strip), min_size=1, max_size=40))
def test_a_faithful_copy_is_never_a_failure(sources: list[str]) -> None:
    text = "\n".join(f"{number} caller: {' '.join(source.split())}" for number, source in enumerate(sources, 1))
    expected = [
        None if any(map(str.isalnum, source)) else failure
        for source, failure in zip(sources, failures(text, tuple(sources)), strict=True)
    ]
    assert failures(text, tuple(sources)) == expected


def test_a_megabyte_of_nonsense_is_read_in_linear_time() -> None:
    assert failures("1 " + " " * 500_000 + "agent" + " *" * 250_000)[1] is not None
