from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring.lexicon import ENGLISH, UnreadableLexicon
from clearcall.scoring.normalise import Normalised, normalise


def words_with_places(text: str) -> list[tuple[str, str]]:
    normal = normalise(text)
    return [(form, text[start:end]) for form, start, end in zip(normal.forms, normal.starts, normal.ends, strict=True)]


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("three hundred and fifty dollars", "$350"),
        ("three hundred fifty dollars", "$350.00"),
        ("three dollars and fifty cents", "$3.50"),
        ("fifty cents", "$0.50"),
        ("twelve hundred dollars", "$1,200"),
        ("three million dollars", "$3 million"),
        ("one point five million", "1.5 million"),
        ("a thousand", "1,000"),
        ("two hundred thousand", "200,000"),
        ("one hundred twenty three thousand four hundred and five", "123,405"),
        ("a hundred and two hundred", "100 and 200"),
        ("seven point two five", "7.25"),
        ("fifty percent", "50%"),
        ("two and a half", "2.5"),
        ("two and a half", "2½"),
        ("twenty nineteen", "2019"),
        ("two thousand and nineteen", "2019"),
        ("nineteen hundred", "1900"),
        ("nineteen oh five", "1905"),
        ("nineteen eighty four", "1984"),
        ("nineteen seventies", "1970s"),
        ("in the seventies", "in the '70s"),
        ("one oh four", "104"),
        ("zero zero one", "001"),
        ("double five", "55"),
        ("five five five one two three four", "555-1234"),
        ("five five five one two three four five six seven", "(555) 123-4567"),
        ("five five five one two three four five six seven", "555.123.4567"),
        ("zip code seven five oh oh one", "ZIP code 75001."),
        ("four thirty p m", "4:30 PM"),
        ("four o'clock", "4:00"),
        ("half past four", "4:30"),
        ("a quarter to five", "4:45"),
        ("march third twenty nineteen", "March 3, 2019"),
        ("march the third", "March 3rd"),
        ("march fourth twenty nineteen", "3/4/2019"),
        ("march fourth twenty nineteen", "2019-03-04"),
        ("the twenty fifth of december", "the 25th of December"),
        ("twenty first", "21st"),
        ("one second", "1 second"),
        ("sixty seventy percent", "60, 70%"),
        ("twenty-five", "25"),
        ("oh seven seven double oh nine double oh uh one four two", "0770 0900 142"),
        ("six thousand one hundred and ninety ninety three pounds and and fifty pence", "£6,193.50"),
        ("a hundred and twel twelve thousand", "112,000"),
        ("sixty one thousand and and forty", "61,040"),
        ("ninety four pounds sixty", "£94.60"),
    ],
)
def test_spoken_and_written_numbers_have_one_form(spoken: str, written: str) -> None:
    assert normalise(spoken).text == normalise(written).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("three dollars and fifty cents", "$350"),
        ("one hundred four", "$140"),
        ("fifteen", "fifty"),
        ("four thirty", "4:03"),
        ("two thousand nineteen", "2090"),
        ("five five five", "55"),
        ("for forty dollars", "40 dollars"),
        ("oh that is it", "0 that is it"),
    ],
)
def test_different_numbers_keep_different_forms(one: str, other: str) -> None:
    assert normalise(one).text != normalise(other).text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("do not", "don't"),
        ("i can not", "I can\u2019t"),
        ("cannot", "can't"),
        ("i will not", "I won't"),
        ("i am going to", "I'm gonna"),
        ("they are", "they're"),
        ("it is", "It's"),
        ("d f w", "DFW"),
        ("d f w", "D.F.W."),
        ("four thirty p m", "4:30 p.m."),
        ("it it was it was uh really good", "It was really good."),
        ("you know the the wha- what", "The, what?"),
        ("well um i think", "I think"),
        ("r and d", "R&D"),
        ("okay", "OK"),
        ("cafe\u0301", "CAFÉ"),
        ("strasse", "Straße"),
        ("fi\ufb01", "FIfi"),
        ("\uff11\uff12\uff13", "123"),
        ("٣٤٥", "345"),
    ],
)
def test_what_is_the_same_speech_has_one_form(said: str, written: str) -> None:
    assert normalise(said).text == normalise(written).text


def test_an_oh_among_digits_is_a_zero_and_elsewhere_a_filler() -> None:
    assert normalise("oh my number is five oh five oh well").text == "my number is 505"


def test_uh_huh_is_an_answer_and_no_filler() -> None:
    assert normalise("uh huh").text == normalise("Uh-huh.").text == "uhhuh"


def test_repeated_numbers_are_kept() -> None:
    assert normalise("five five five").text == "555"


def test_every_form_knows_its_place_in_the_text_as_given() -> None:
    assert words_with_places("Uh, I paid $350 for D.F.W. on March 3rd, don't you kn- know?") == [
        ("i", "I"),
        ("paid", "paid"),
        ("350", "$350"),
        ("dollars", "$"),
        ("for", "for"),
        ("dfw", "D.F.W"),
        ("on", "on"),
        ("march", "March"),
        ("3", "3rd"),
        ("do", "do"),
        ("not", "n't"),
        ("you", "you"),
        ("know", "know"),
    ]


def test_places_are_right_where_normal_forms_are_longer_than_the_text() -> None:
    assert words_with_places("ﬁne ½ \uff21\uff11 Straße") == [
        ("fine", "ﬁne"),
        ("half", "½"),
        ("a", "\uff21"),
        ("1", "\uff11"),
        ("strasse", "Straße"),
    ]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("漢字かな", ("漢", "字", "か", "な")),
        ("Привет, МИР!", ("привет", "мир")),
        ("مَرْحَبًا بكم", ("مَرْحَبًا", "بكم")),
        ("नमस्ते दुनिया", ("नमस्ते", "दुनिया")),
        ("한국어 말", ("한국어", "말")),
        ("👍🏽 ok 👨‍👩‍👧", ("okay",)),
        ("\x00\ud800", ()),
    ],
)
def test_other_scripts_are_read_as_words(text: str, forms: tuple[str, ...]) -> None:
    assert normalise(text).forms == forms


def test_a_lexicon_that_is_no_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "fillers").write_bytes("épatant".encode("latin-1"))
    with pytest.raises(UnreadableLexicon, match=r"fillers: not UTF-8 at byte 0; iconv"):
        ENGLISH.read(tmp_path / "fillers")


def test_a_lexicon_can_be_extended_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ours.txt"
    path.write_text("# what our agents say\nabsolutely\nto be honest\noptional: kindly\n", encoding="utf-8")
    ours = ENGLISH.read(path)
    assert normalise("Absolutely, to be honest it kindly works", ours).text == "it kindly works"
    assert "kindly" in ours.optional
    assert normalise("absolutely").text == "absolutely"


def test_a_long_text_is_read_like_a_short_one() -> None:
    assert normalise("hello there three hundred " * 2000).forms[:3] == ("hello", "there", "300")


PARTS = """
uh you know don't it's $ 3 . , : / - one two hundred thousand and a half point oh double first march dollars cents past
quarter to 1/2 2019-01-02 13/13/13 99:99 1,000 ½ ² ٣ é e\u0301 漢 \u200d 👍 \x00 '
"""
ALPHABET = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(PARTS.split()), max_size=25).map(" ".join),
    st.lists(st.sampled_from([*"1,.:/-'$½ x", "s", "th", "st"]), max_size=15).map("".join),
)


def check(normal: Normalised, text: str) -> None:
    assert normal.text == " ".join(normal.forms)
    assert list(normal.starts) == sorted(normal.starts)
    for index, (form, start, end, place) in enumerate(
        zip(normal.forms, normal.starts, normal.ends, normal.places, strict=True)
    ):
        assert form
        assert 0 <= start < end <= len(text)
        assert normal.text[place : place + len(form)] == form
        assert normal.original(place, place + len(form)) == (start, end)
        assert normal.slice(index, index + 1) == form
    assert all(normal.forms[index] == number.form for index, number in normal.numbers.items())


@given(ALPHABET)
def test_no_text_makes_it_raise_and_every_place_is_in_the_text(text: str) -> None:
    check(normalise(text), text)
