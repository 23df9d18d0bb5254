import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring import fragment_spans
from clearcall.scoring.fragments import LONGEST_WORD
from clearcall.scoring.spaces import parted


def texts(text: str, words: int = 20, overlap: int = 3) -> list[str]:
    return [text[start:end] for start, end in fragment_spans(text, words, overlap)]


@pytest.mark.parametrize("text", ["", " ", "\n\t  ", "\u3000", "\x00\x7f"])
def test_a_text_without_words_has_no_fragments(text: str) -> None:
    assert fragment_spans(text) == []


def test_a_short_text_is_one_fragment_without_the_space_around_it() -> None:
    assert fragment_spans("  hello there \n") == [(2, 13)]


def test_twenty_words_are_one_fragment_and_the_twenty_first_starts_another_with_three_words_of_overlap() -> None:
    words = [str(number) for number in range(21)]
    assert texts(" ".join(words[:20])) == [" ".join(words[:20])]
    assert texts(" ".join(words)) == [" ".join(words[:20]), "17 18 19 20"]


def test_chinese_characters_count_as_words() -> None:
    assert [len(text) for text in texts("漢" * 37)] == [20, 20]


def test_an_unbroken_run_is_cut_so_that_no_fragment_is_without_bound() -> None:
    assert all(end - start <= 20 * LONGEST_WORD for start, end in fragment_spans("a" * 50_000))


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (3, 3), (3, -1), (-1, -2)])
def test_a_shape_that_would_never_end_is_refused(words: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        fragment_spans("a b c", words, overlap)


@given(st.text(max_size=400), st.integers(1, 25), st.data())
def test_fragments_are_in_order_and_leave_no_word_out(text: str, words: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, words - 1))
    spans = fragment_spans(text, words, overlap)
    covered: set[int] = set()
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        covered.update(range(start, end))
    assert spans == sorted(set(spans))
    assert all(place in covered for place, char in enumerate(parted(text)) if char != " ")
