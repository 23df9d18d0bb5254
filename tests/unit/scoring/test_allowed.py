"""The last check: is a cleaned turn an allowed reduction of what was said?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring.allowed import accepts, findings, is_allowed
from clearcall.scoring.moves import How, moves
from clearcall.scoring.reduction import reductions, written
from clearcall.scoring.types import Flag

WORD = st.sampled_from(["uh", "i", "the", "it", "it's", "six", "no", "cat", "you", "know"])
PLAIN = st.lists(st.sampled_from(["cat", "dog", "uh", "seen", "never"]), max_size=8).map(" ".join)
WORDS = st.lists(WORD, max_size=10).map(" ".join)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("uh i i want the um red one", "I want the red one."),
        ("uh i i want the um red one", "Uh, I I want the um red one!"),
        ("i'm gonna pay forty six dollars", "I'm going to pay 46 dollars."),
        ("the s k u is on the check book", "The SKU is on the checkbook."),
        ("it\u2019s fine", "It's fine"),
        ("uh um", ""),
        ("", ""),
        ("hello", "\u201cHello\u201d \u2014"),
    ],
)
def test_a_reduction_by_the_policy_has_no_findings(raw: str, cleaned: str) -> None:
    assert findings(raw, cleaned) == []


@pytest.mark.parametrize(
    ("raw", "cleaned", "said", "wrote"),
    [
        ("my number is six six oh four", "My number is six oh four.", "six", ""),
        ("i do not want it", "I do want it.", "not", ""),
        ("the red one please", "The blue one please.", "red", "blue"),
        ("the red one please", "The one please.", "red", ""),
        ("call me", "Please call me today.", "", "today"),
        ("it costs 140 pounds", "It costs 104 pounds.", "140", "104"),
        ("", "Hello", "", "Hello"),
        ("hello", "", "hello", ""),
    ],
)
def test_what_is_lost_or_added_is_found_at_its_place_in_both_texts(
    raw: str, cleaned: str, said: str, wrote: str
) -> None:
    places = [(raw[slice(*flag.source or ())], cleaned[slice(*flag.cleaned or ())]) for flag in findings(raw, cleaned)]
    assert (said, wrote) in places


def test_a_moved_word_is_found_where_it_was_and_where_it_is() -> None:
    found = findings("today i called", "I called today")
    assert [flag.reason for flag in found] == ["said today, wrote nothing there", "said nothing there, wrote today"]


def test_a_filler_that_is_gone_is_no_part_of_a_finding() -> None:
    assert findings("uh the red um car", "The car") == [
        Flag("reduction", "said red, wrote nothing there", (3, 3), (7, 10))
    ]


def test_a_long_text_is_aligned_and_still_judged_by_the_policy() -> None:
    said = reductions("uh the the red um car it's um")
    hows = [(move.how, move.start, move.end) for move in moves(said, ["the", "car", "now"], most_states=10)]
    assert hows[0] == (How.LEFT_OUT, 0, 1)
    assert (How.LOST, 3, 4) in hows
    assert (How.LEFT_OUT, 4, 5) in hows
    assert [how for how, *_ in hows].count(How.ADDED) == 1


@given(WORDS, WORDS, st.sampled_from([0, 10**6]))
def test_moves_lead_from_one_text_to_the_other(raw: str, cleaned: str, most_states: int) -> None:
    said, forms = reductions(raw), [word.form for word in reductions(cleaned).words]
    at = to = 0
    for move in moves(said, forms, most_states):
        assert (move.start, move.written_start) == (at, to)
        at, to = move.end, move.written_end
    assert (at, to) == (len(said.words), len(forms))


@given(WORDS, WORDS)
def test_a_reduction_has_no_findings_however_it_is_cut(raw: str, cleaned: str) -> None:
    if accepts(reductions(raw), [word.form for word in reductions(cleaned).words]):
        assert is_allowed(raw, cleaned)


@given(PLAIN, PLAIN)
def test_what_is_no_reduction_has_findings(raw: str, cleaned: str) -> None:
    assert is_allowed(raw, cleaned) == accepts(reductions(raw), [word.form for word in reductions(cleaned).words])


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_checked_and_places_lie_within_them(raw: str, cleaned: str) -> None:
    for flag in findings(raw, cleaned):
        assert flag.source is not None
        assert flag.cleaned is not None
        assert 0 <= flag.source[0] <= flag.source[1] <= len(raw)
        assert 0 <= flag.cleaned[0] <= flag.cleaned[1] <= len(cleaned)


@given(WORDS)
def test_a_turn_is_an_allowed_reduction_of_itself(text: str) -> None:
    assert is_allowed(text, text)
    assert is_allowed(text, written(reductions(text).words))
