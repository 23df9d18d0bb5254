"""Reading the two texts of a comparison."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring import Turn
from clearcall.streams.explain import BadInput, read_transcript, read_transcripts


def turns(text: str) -> tuple[Turn, ...]:
    return read_transcript(text).turns


def test_a_text_without_speakers_is_one_turn() -> None:
    transcript = read_transcript("  hello\nworld ")
    assert transcript.turns == (Turn(0, "hello\nworld"),)
    assert not transcript.names


def test_an_empty_text_has_no_turns() -> None:
    assert turns("") == turns(" \n\n ") == ()


def test_lines_with_speakers_are_turns() -> None:
    transcript = read_transcript("agent: hello\n\nCaller:  hi\nSpeaker 7: who\n12: me\ncustomer: again\n")
    assert transcript.turns == (
        Turn(0, "hello"),
        Turn(1, "hi"),
        Turn(7, "who"),
        Turn(12, "me"),
        Turn(1, "again"),
    )
    assert transcript.names == {0: "agent", 1: "caller", 7: "speaker 7", 12: "speaker 12"}


def test_a_line_without_a_speaker_goes_on_with_the_turn_before_it() -> None:
    assert turns("0: one\ntwo\n1:\nthree") == (Turn(0, "one two"), Turn(1, "three"))


@pytest.mark.parametrize(
    "text", ["note: this is text", "at 9:30: yes", "10 agents: many", "caller hello", "cl\u0131ent: hello"]
)
def test_a_colon_alone_makes_no_speaker(text: str) -> None:
    assert turns(text) == (Turn(0, text),)


def test_a_file_is_read_and_a_byte_order_mark_left_out(tmp_path: Path) -> None:
    file = tmp_path / "said.txt"
    file.write_bytes(b"\xef\xbb\xbf0: hello")
    said, wrote = read_transcripts(str(file), "0: Hello.")
    assert (said.turns, wrote.turns) == ((Turn(0, "hello"),), (Turn(0, "Hello."),))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ünd so".encode())))
    assert read_transcripts("-", "x y")[0].turns == (Turn(0, "ünd so"),)


@pytest.mark.parametrize(
    ("source", "cleaned", "said"),
    [
        ("-", "-", "both texts"),
        ("no/such/file", "x", "no/such/file: no such file"),
        ("said.txt", "x", "said.txt: no such file"),
        ("0: hello", "Hello.", "the cleaned text does not say who speaks"),
        ("hello", "agent: Hello.", "the source text does not say who speaks"),
    ],
)
def test_texts_that_cannot_be_compared_are_refused_with_what_to_do(source: str, cleaned: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read_transcripts(source, cleaned)
    assert caught.value.todo


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(b"caf\xe9")
    with pytest.raises(BadInput, match="not UTF-8 at byte 3"):
        read_transcripts(str(file), "x")


def test_an_empty_answer_can_be_compared_with_a_call() -> None:
    said, wrote = read_transcripts("0: hello", "")
    assert (len(said.turns), len(wrote.turns)) == (1, 0)


@pytest.mark.parametrize("text", ["x" * 5000, "a\x00b c", "\udcff and"])
def test_a_text_that_can_be_no_path_is_a_text(text: str) -> None:
    assert read_transcripts(text, "x")[0].turns


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(turn.speaker >= 0 for turn in turns(text))
