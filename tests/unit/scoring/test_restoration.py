import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearcall.scoring import Turn, evaluate_turn, restore, rule_clean

SAID = (
    "uh your total is one hundred and forty dollars and um we don't have it it's in the mail you know robert will call"
)
FAITHFUL = "Your total is $140 and we don't have it. It's in the mail. Robert will call."


def restored(cleaned: str, said: str) -> str:
    return restore(cleaned, said, evaluate_turn(cleaned, 0, [Turn(0, said)]))


def test_what_is_not_flagged_stays_as_it_is() -> None:
    assert restored(FAITHFUL, SAID) == FAITHFUL


def test_only_the_sentences_with_something_flagged_are_replaced() -> None:
    said = (
        "okay so thank you for calling happy valley motors today my name is robert and i will help you with that order "
        "the price for that part is one hundred and forty dollars we do have it in stock and you can come by any time "
        "this week before five to pick it up at the parts desk in the back of the building next to the showroom"
    )
    cleaned = (
        "Okay, so thank you for calling Happy Valley Motors today. My name is Robert, and I will help you with that "
        "order. The price for that part is $104. We do have it in stock, and you can come by any time this week "
        "before 5 to pick it up at the parts desk, in the back of the building next to the showroom!"
    )
    text = restored(cleaned, said)
    assert "104" not in text
    assert text.startswith("Okay, so thank you for calling Happy Valley Motors")
    assert text.endswith("next to the showroom!")
    assert "one hundred and forty dollars" in text


@pytest.mark.parametrize(
    "cleaned",
    [
        "",
        "Yes.",
        "I'm sorry, I can't help with that.",
        "We don't have it and your total is $140. Robert will call. It's in the mail.",
        "Your total is $140.",
    ],
)
def test_a_turn_that_is_flagged_as_a_whole_is_replaced_as_a_whole(cleaned: str) -> None:
    assert restored(cleaned, SAID) == rule_clean(SAID)


def test_nothing_that_was_said_is_ever_replaced_by_nothing() -> None:
    assert restored("I would like to order a pizza.", "uh huh") != ""


VOCABULARY = (
    "uh i you don't not never five forty hundred two the the car price is was robert mary monday and we call it okay"
)
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=45).map(" ".join)


def edited(words: list[str], places: list[int], other: list[str]) -> str:
    for place, word in zip(places, other, strict=False):
        words[place % len(words)] = word
    return " ".join(words)


CHANGES = st.lists(st.sampled_from(["", "not", "7", "$350", "Mary. Then", "never ever", "five.", "a, b"]), max_size=6)


@settings(max_examples=300, deadline=None)
@given(SENTENCES, st.lists(st.integers(0, 44), max_size=6), CHANGES)
def test_the_restored_text_is_not_flagged_again(said: str, places: list[int], other: list[str]) -> None:
    text = restored(edited(said.split(), places, other), said)
    assert not evaluate_turn(text, 0, [Turn(0, said)]).flagged


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_restore_to_something_faithful(said: str, cleaned: str) -> None:
    assert not evaluate_turn(restored(cleaned, said), 0, [Turn(0, said)]).flagged
