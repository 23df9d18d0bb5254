"""What a model handed to the scoring function, compared with what it should have."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.evaluator_agent.distortion import compared, kind_of, similarity
from clearcall.agents.evaluator_agent.tool import FUNCTION, Arguments, asked, called_with, shown
from clearcall.schemas import Distortion, FlagChange
from clearcall.scoring import Rules

SAID = "um so the the brake inspection is uh one hundred and forty dollars i think"
WROTE = "The brake inspection is $104."
OTHER = "Please hold the line, sir."


def answer(arguments: object, name: str = FUNCTION) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"choices": [{"message": {"content": "", "tool_calls": [call]}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (SAID, Distortion.EXACT),
        (SAID.replace("um ", "").replace("uh ", ""), Distortion.ALTERED),
        (SAID.upper(), Distortion.ALTERED),
        (f"{SAID} okay", Distortion.ALTERED),
        (SAID[:40], Distortion.TRUNCATED),
        (SAID[20:], Distortion.TRUNCATED),
        ("", Distortion.TRUNCATED),
        (OTHER, Distortion.SWAPPED),
        ("the engine needs new oil and a filter before the winter", Distortion.INVENTED),
        ("!!!", Distortion.ALTERED),
    ],
)
def test_each_distortion_has_its_name(given: str, kind: Distortion) -> None:
    assert kind_of(given, SAID, OTHER) is kind


@given(st.text(), st.text(), st.text())
def test_every_text_has_a_kind_and_only_the_true_one_is_exact(given: str, true: str, other: str) -> None:
    assert (kind_of(given, true, other) is Distortion.EXACT) == (given == true)


@given(st.text(), st.text())
def test_a_call_with_what_was_shown_is_exact_whatever_was_said(fragment: str, source: str) -> None:
    true = shown(fragment, source)
    copied = called_with(answer(json.dumps({"fragment": true.fragment, "source": true.source})))
    assert copied == true


@given(st.text(), st.text())
def test_what_was_said_closes_no_fence(fragment: str, source: str) -> None:
    prompt = asked(shown(f"</fragment>{fragment}", f"{source}</said>"))["messages"][1]["content"]
    assert prompt.count("</fragment>") == prompt.count("</said>") == 1


def test_the_request_names_the_function_and_leaves_room_for_both_texts() -> None:
    request = asked(shown(WROTE, SAID))
    assert request["tool_choice"] == {"type": "function", "function": {"name": FUNCTION}}
    assert [tool["function"]["name"] for tool in request["tools"]] == [FUNCTION]
    assert request["temperature"] == 0
    assert request["max_tokens"] > (len(SAID) + len(WROTE)) / 4 + 20


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"choices": []},
        {"choices": [{"message": {"content": "it scores 90"}}]},
        {"choices": [{"message": {"content": "", "tool_calls": []}}]},
        {"choices": [{"message": {"tool_calls": [{"function": {"name": FUNCTION}}]}}]},
        answer('{"fragment": "a", "sou'),
        answer('{"fragment": "a"}'),
        answer('{"fragment": "a", "source": 5}'),
        answer('["a", "b"]'),
        answer("[" * 100_000),
        answer(None),
        answer('{"fragment": "a", "source": "b"}', name="another"),
    ],
)
def test_what_is_no_whole_call_of_the_function_is_none(content: object) -> None:
    assert called_with(content) is None


def checked(
    given: Arguments | None, wrote: str = WROTE, said: str = SAID, mode: str = "strict"
) -> tuple[Distortion, FlagChange]:
    rules = Rules(mode="paper" if mode == "paper" else "strict")
    true = shown(wrote, said)
    score = similarity(true, rules)
    assert score is not None
    found = compared(true, score, given, rules)
    assert found.true == score
    return found.kind, found.change


def test_a_true_call_changes_no_flag() -> None:
    assert checked(Arguments(WROTE, SAID)) == (Distortion.EXACT, FlagChange.NONE)


def test_the_cleaned_text_handed_over_as_its_own_source_hides_a_flag() -> None:
    assert checked(Arguments(OTHER, OTHER), wrote=OTHER) == (Distortion.SWAPPED, FlagChange.HIDDEN)


def test_an_invented_source_makes_a_false_flag() -> None:
    said = "the brake inspection is one hundred and four dollars"
    invented = Arguments(WROTE, "please hold the line sir")
    assert checked(invented, said=said) == (Distortion.INVENTED, FlagChange.FALSE)


@pytest.mark.parametrize("given", [None, Arguments("", SAID), Arguments(" ", SAID)])
def test_without_a_fragment_there_is_no_score(given: Arguments | None) -> None:
    assert checked(given)[1] is FlagChange.UNSCORED


@pytest.mark.parametrize("mode", ["paper", "strict"])
def test_a_fragment_handed_over_with_more_words_is_scored_as_one(mode: str) -> None:
    long = " ".join(f"word{number}" for number in range(60))
    assert checked(Arguments(f"{WROTE} {long}", SAID), mode=mode)[0] is Distortion.INVENTED
    assert similarity(Arguments(long, long), Rules()) == similarity(Arguments("a", "a"), Rules())


@given(st.text(), st.text())
def test_a_score_is_between_0_and_100_or_there_is_none(fragment: str, source: str) -> None:
    score = similarity(shown(fragment, source), Rules())
    assert score is None or 0 <= score.ss <= 100
