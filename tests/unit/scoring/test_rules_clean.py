import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearcall.scoring import Turn, evaluate_turn, is_nothing_to_clean, rule_clean
from clearcall.scoring.lexicon import ENGLISH


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("uh i i want the um red one", "I want the red one."),
        ("it it was it was really good i think", "It was really good I think."),
        ("wha- what time do you open on saturday", "What time do you open on Saturday?"),
        ("can you send me a new one", "Can you send me a new one?"),
        ("what you need is a filter", "What you need is a filter."),
        ("how are you. i'm fine", "How are you. I'm fine."),
        ("hello,", "Hello."),
        ("it is fine!", "It is fine!"),
        ("the v i n is on the card", "The v i n is on the card."),
        ("ok 😀", "Ok 😀."),
        ("مرحبا كيف حالك؟", "مرحبا كيف حالك؟"),
        ("a\x00b", "A b."),
    ],
)
def test_a_turn_is_cleaned_and_punctuated(said: str, cleaned: str) -> None:
    assert rule_clean(said) == cleaned


@pytest.mark.parametrize(
    "said", ["five five five oh one", "no no no", "i do not not know", "d d f w", "two two", "never ever", "uh huh"]
)
def test_numbers_negations_letters_and_answers_are_never_left_out(said: str) -> None:
    assert rule_clean(said).lower().rstrip(".") == said


@pytest.mark.parametrize(
    "text", ["", " \n", "uh um", "Uh, um...", "oh well", "you know", "\x00\ufeff", "... - !", "\ufffd"]
)
def test_where_nothing_is_said_nothing_is_to_clean_and_nothing_is_left(text: str) -> None:
    assert is_nothing_to_clean(text)
    assert rule_clean(text) == ""


@pytest.mark.parametrize("text", ["no", "uh huh", "uh five", "مرحبا", "x", "漢", "👍", "🚗 um", "uh ❤️"])
def test_one_word_or_pictograph_is_something_to_clean(text: str) -> None:
    assert not is_nothing_to_clean(text)
    assert rule_clean(text) != ""


def test_a_lexicon_of_ones_own_is_followed() -> None:
    ours = ENGLISH.extended(["alright then"])
    assert rule_clean("alright then it works", ours) == "It works."
    assert is_nothing_to_clean("alright then", ours)


def test_ten_thousand_words_are_cleaned() -> None:
    assert rule_clean("uh the price is the price is forty " * 1250).count("forty") == 1250


SENTENCES = (
    "so your total comes to one hundred and forty dollars and we do not have the part in stock",
    "my name is robert smith and my number is five five five oh one nine nine",
    "i was told the car would be ready by monday but nobody called me back",
    "it's a two thousand nineteen honda civic and the v i n ends in d f seven",
    "no i never said that i don't want the extended warranty",
    "can you tell me when the next appointment is",
)
NOISE = ("uh", "um", "you know", "i mean", "again", "cut")


@st.composite
def spoken(draw: st.DrawFn) -> str:
    """One of our own sentences with fillers, words said twice and words broken off."""
    words = draw(st.sampled_from(SENTENCES)).split()
    for at, noise in draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(NOISE)), max_size=6)):
        place = at % len(words)
        word = words[place]
        words.insert(place, {"again": word, "cut": f"{word[:2]}-"}.get(noise, noise))
    return " ".join(words)


@settings(max_examples=400, deadline=None)
@given(st.one_of(spoken(), st.text(max_size=80)))
def test_the_rules_text_is_faithful_by_our_own_evaluator(said: str) -> None:
    assert not evaluate_turn(rule_clean(said), 0, [Turn(0, said)]).flagged


@settings(max_examples=200, deadline=None)
@given(spoken())
def test_cleaning_twice_changes_nothing_that_is_compared(said: str) -> None:
    once = rule_clean(said)
    assert rule_clean(once) == once or not evaluate_turn(rule_clean(once), 0, [Turn(0, once)]).flagged


@pytest.mark.parametrize("said", [",%", "5 ,%", "&A/- e", "B @- A", "0A-\x1b0"])
def test_signs_that_are_no_punctuation_stay(said: str) -> None:
    assert not evaluate_turn(rule_clean(said), 0, [Turn(0, said)]).flagged
