"""Differences for eyes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.streams.explain.diff import Piece, difference, visible, whole_words


def marked(said: str, wrote: str) -> str:
    signs = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return " ".join(signs[piece.kind].format(piece.text) for piece in difference(said, wrote))


@pytest.mark.parametrize(
    ("said", "wrote", "shown"),
    [
        ("um i can help", "I can help.", "[-um-] I can help."),
        ("it is one forty", "It is $140.", "It is [-one forty-] {+$140.+}"),
        ("i don't know", "I know", "I [-don't-] know"),
        ("", "Hello there", "{+Hello there+}"),
        ("hello there", "", "[-hello there-]"),
        ("same words", "Same, words!", "Same, words!"),
        (
            "uh one hundred and forty dollars today",
            "$104 and today",
            "[-uh one hundred and forty dollars-] {+$104 and+} today",
        ),
        ("um the uh car", "The car", "[-um-] The [-uh-] car"),
        ("- -", "-", "- [---]"),
        ("", "", ""),
    ],
)
def test_a_difference_reads_as_a_person_would_mark_it(said: str, wrote: str, shown: str) -> None:
    assert marked(said, wrote) == shown


@given(st.text("ab .", max_size=40), st.text("ab .", max_size=40))
def test_both_texts_can_be_read_out_of_a_difference(said: str, wrote: str) -> None:
    pieces = difference(said, wrote)
    written = " ".join(piece.text for piece in pieces if piece.kind != "removed")
    assert written.split() == wrote.split()
    spoken = " ".join(piece.text for piece in pieces if piece.kind != "added")
    assert len(spoken.split()) == len(said.split())


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_have_a_difference(said: str, wrote: str) -> None:
    assert all(piece.text for piece in difference(said, wrote))


def test_texts_too_long_to_align_are_shown_whole() -> None:
    said, wrote = "a " * 30_000, "b " * 30_000
    assert difference(said, wrote) == (Piece("removed", said), Piece("added", wrote))


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (0, 15, "the quick brown"),
        (1, 14, "the quick brown"),
        (2, 11, "quick"),
        (4, 9, "quick"),
        (5, 5, ""),
    ],
)
def test_a_window_is_shown_in_whole_words(start: int, end: int, words: str) -> None:
    assert whole_words("the quick brown fox", start, end) == words


@given(st.text("ab ", max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_a_window_of_any_place_gives_words_of_the_text(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    shown = whole_words(text, start, min(start + length, len(text)))
    assert set(shown.split()) <= set(text.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, çédille 漢字 👩‍👧\n\tnext", "plain, çédille 漢字 👩‍👧\n\tnext"),
        ("a\x00b", "a\u2400b"),
        ("\x1b[31mred", "\u241b[31mred"),
        ("\x7f\x9b", "\ufffd\ufffd"),
        ("\ud800", "\ufffd"),
        ("a\u202eb", "a\ufffdb"),
    ],
)
def test_what_could_steer_a_terminal_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
