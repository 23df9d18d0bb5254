"""What may be left out of a turn, and what never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring.allowed import is_allowed
from clearcall.scoring.reduction import Reduction, Why, clean_words, reductions, written
from clearcall.scoring.spoken import words_of

VOCABULARY = """
uh um i i'm it it's you know mean well like the a an to have and so that that's six oh double m t no not don't appoint
appointment y- Smith very is was just look at mm hmm huh see 5 £5 we they there 你 嗯 ok. I? ,
"""
SPOKEN = st.lists(st.sampled_from(VOCABULARY.split()), max_size=24).map(" ".join)


def cleaned(text: str) -> str:
    return " ".join(word.text for word in clean_words(text))


def left_out(text: str) -> set[str]:
    reduction = reductions(text)
    return {" ".join(word.text for word in reduction.words[skip.start : skip.end]) for skip in reduction.skips}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("uh i want um the red one", "i want the red one"),
        ("well you know it works", "it works"),
        ("i mean it it's fine", "it's fine"),
        ("in the uh in the morning", "in the morning"),
        ("and i look at a look at the car", "and i look at the car"),
        ("i just i can't see that", "i can't see that"),
        ("drive to the appoint appointment", "drive to the appointment"),
        ("the y- your car", "your car"),
        ("they they they are here", "they are here"),
        ("and uh so i called", "so i called"),
        ("eight thr three one", "eight three one"),
    ],
)
def test_fillers_repeats_and_false_starts_are_left_out_by_the_rules(said: str, kept: str) -> None:
    assert cleaned(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "do you know what i mean",
        "as you know it works very well",
        "if you know the number",
        "i like it",
        "years and years and years",
        "over and over and over",
        "it's very very cold",
        "that had had its service",
        "i have to have it",
        "one of those a i things",
        "the one you know about",
    ],
)
def test_words_that_only_look_like_fillers_or_repeats_stay(said: str) -> None:
    assert cleaned(said) == said


@pytest.mark.parametrize(
    "said",
    [
        "my number is six six oh oh four",
        "forty forty five",
        "the m i t t",
        "no no not not never never",
        "i don't i don't know",
        "oh six oh",
        "see Smith Smith today",
        "5 5 £5 £5",
        "double double four",
    ],
)
def test_numbers_letters_negations_and_known_names_are_in_no_stretch_that_may_go(said: str) -> None:
    guarded = {word.text for word in words_of(said) if word.guard}
    assert guarded
    assert not any(set(stretch.split()) & guarded for stretch in left_out(said))


def test_an_oh_beside_no_number_is_a_filler() -> None:
    assert cleaned("oh that is fine") == "that is fine"
    assert cleaned("four oh nine") == "four oh nine"


def test_a_repeat_across_the_end_of_a_sentence_is_for_the_model_to_decide() -> None:
    assert cleaned("Okay with it. It works") == "Okay with it It works"
    assert "it" in left_out("Okay with it. It works")


def test_a_sentence_whose_last_word_goes_ends_with_the_one_before() -> None:
    assert written(clean_words("I was there, you know. And left, um")) == "I was there. And left,"


def test_sounds_that_may_mean_yes_are_not_left_out_by_the_rules() -> None:
    assert cleaned("mm hmm go on") == "mm hmm go on"
    assert "mm hmm" in left_out("mm hmm go on")


def test_a_stretch_says_why_it_may_go() -> None:
    whys = [skip.why for skip in reductions("uh the the car i just i see").skips if skip.sure]
    assert whys == [Why.FILLER, Why.REPEAT, Why.RESTART]


def test_words_keep_their_place_in_the_text_as_given() -> None:
    text = ' "Hello,  it\u2019s (me)...'
    assert [(word.text, text[word.start : word.end], word.form) for word in words_of(text)] == [
        ("Hello", "Hello", "hello"),
        ("it\u2019s", "it\u2019s", "it's"),
        ("me", "me", "me"),
    ]


def test_characters_of_scripts_without_spaces_are_words_of_their_own() -> None:
    words = words_of("你好 ok\uff0c再见")
    assert [word.text for word in words] == ["你", "好", "ok", "再", "见"]
    assert written(words) == "你好 ok\uff0c再见"


@pytest.mark.parametrize("text", ["", "  ", "...", "\x00\x1f", "-- -", '"'])
def test_a_text_without_words_has_nothing_to_leave_out(text: str) -> None:
    assert reductions(text) == Reduction((), ())


@given(st.text() | SPOKEN)
def test_writing_the_words_and_reading_them_again_changes_nothing(text: str) -> None:
    words = words_of(text)
    assert [word.form for word in words_of(written(words))] == [word.form for word in words]


@given(st.text() | SPOKEN)
def test_no_stretch_that_may_go_holds_a_guarded_word(text: str) -> None:
    reduction = reductions(text)
    for skip in reduction.skips:
        assert 0 <= skip.start < skip.end <= len(reduction.words)
        assert not any(word.guard for word in reduction.words[skip.start : skip.end])


@given(st.text() | SPOKEN)
def test_what_the_rules_keep_is_allowed(text: str) -> None:
    assert is_allowed(text, written(clean_words(text)))


@given(SPOKEN, st.data())
def test_a_part_allows_nothing_that_the_whole_does_not(text: str, data: st.DataObject) -> None:
    whole = reductions(text)
    start = data.draw(st.integers(0, len(whole.words)))
    end = data.draw(st.integers(start, len(whole.words)))
    part = whole.part(start, end)
    assert {(skip.start + start, skip.end + start) for skip in part.skips} <= {
        (skip.start, skip.end) for skip in whole.skips
    }
