"""Differences for eyes."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.streams.explain.diff import Piece, difference, visible, window_difference


def written_out(pieces: Iterable[Piece]) -> str:
    signs = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return " ".join(signs[piece.kind].format(piece.text) for piece in pieces)


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
    assert written_out(difference(said, wrote)) == shown


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
    assert difference(said, wrote) == (Piece("removed", said.strip()), Piece("added", wrote.strip()))


SAID = "uh the quick brown fox jumps over it today"


@pytest.mark.parametrize(
    ("window", "wrote", "shown"),
    [
        pytest.param("quick brown", "Quick brown.", "Quick brown.", id="exactly"),
        pytest.param("ick bro", "Quick brown.", "Quick brown.", id="words that are cut"),
        pytest.param("brown fox", "The quick brown fox jumps.", "The quick brown fox jumps.", id="words just outside"),
        pytest.param("the quick brown", "The brown", "The [-quick-] brown", id="removed inside"),
        pytest.param("quick brown fox", "brown dog", "[-quick-] brown [-fox-] {+dog+}", id="changed at the end"),
        pytest.param("", "Hello.", "{+Hello.+}", id="an empty window"),
    ],
)
def test_a_window_is_shown_in_whole_words(window: str, wrote: str, shown: str) -> None:
    start = SAID.index(window)
    assert written_out(window_difference(SAID, start, start + len(window), wrote)) == shown


@given(st.text("ab ", max_size=30), st.integers(0, 30), st.integers(0, 30), st.text("ab ", max_size=20))
def test_a_window_of_any_place_shows_the_whole_fragment(text: str, start: int, length: int, wrote: str) -> None:
    pieces = window_difference(text, start, start + length, wrote)
    assert " ".join(piece.text for piece in pieces if piece.kind != "removed").split() == wrote.split()


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
