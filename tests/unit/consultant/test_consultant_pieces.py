"""Chunks to lines, lines to windows, turns to context."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant.memory import CallMemory, around, earlier
from clearcall.agents.consultant.pieces import (
    LINE_CHARS,
    LINE_WORDS,
    WINDOW_LINES,
    count_words,
    cut,
    shares,
    windows,
)
from clearcall.schemas import Chunk, ContextTurn
from clearcall.scoring.spaces import one_line

texts = st.text(alphabet=st.characters(codec=None), max_size=300) | st.text(alphabet="ab \n\x00", max_size=5000)


def chunk(text: str, chunk_id: int = 0, speaker: int = 0, call_id: str = "c") -> Chunk:
    return Chunk.model_construct(call_id=call_id, chunk_id=chunk_id, speaker=speaker, text=text, start=None, end=None)


@given(texts | st.integers(1, 4000).map(lambda n: "w" * n) | st.integers(1, 900).map(lambda n: "word " * n))
def test_pieces_are_bounded_and_join_to_the_whole(text: str) -> None:
    lines = cut(chunk(text))
    assert "".join(line.glue + line.text for line in lines) == one_line(text)
    assert all(count_words(line.text) <= LINE_WORDS and len(line.text) <= LINE_CHARS for line in lines)
    assert [line.part for line in lines] == list(range(len(lines)))


def test_a_chunk_of_ten_thousand_words_is_cut_at_word_boundaries() -> None:
    lines = cut(chunk(" ".join(f"word{at}" for at in range(10_000))))
    assert len(lines) > 60
    assert all(line.glue == " " for line in lines[1:])


@given(st.lists(st.integers(1, 150), max_size=120), st.integers(1, 600))
def test_windows_keep_every_line_in_order_within_their_bounds(sizes: list[int], words: int) -> None:
    lines = [line for at, size in enumerate(sizes) for line in cut(chunk("w " * size, at))]
    groups = windows(lines, words)
    assert [line for group in groups for line in group] == lines
    for group in groups:
        assert len(group) <= WINDOW_LINES
        assert len(group) == 1 or sum(count_words(line.text) for line in group) <= words


@given(st.integers(0, 10_000), st.lists(st.integers(0, 200), min_size=1, max_size=40))
def test_shares_of_a_cost_add_up_to_it(total: int, weights: list[int]) -> None:
    found = shares(total, weights)
    assert sum(found) == total
    assert all(share >= 0 for share in found)


def turn(chunk_id: int, text: str, speaker: int = 0) -> ContextTurn:
    return ContextTurn(chunk_id=chunk_id, speaker=speaker, text=text)


def test_neighbours_come_from_both_sides_and_both_speakers_without_the_chunk_itself() -> None:
    turns = [turn(at, f"turn {at}", at % 2) for at in range(5)]
    assert [found.chunk_id for found in around(turns, chunk("turn 2", 2), 2400)] == [0, 1, 3, 4]


def test_what_one_side_lacks_the_other_may_take() -> None:
    turns = [turn(0, "x" * 10), *(turn(at, "y" * 100) for at in range(1, 50))]
    found = around(turns, chunk("x" * 10), 1000)
    assert sum(len(t.text) for t in found) == 1000


@given(
    st.lists(st.tuples(st.integers(0, 3), st.text(max_size=400)), max_size=30), st.integers(0, 30), st.integers(1, 900)
)
def test_neighbours_are_bounded_for_each_speaker(said: list[tuple[int, str]], own: int, chars: int) -> None:
    turns = [turn(at, text, speaker) for at, (speaker, text) in enumerate(said)]
    found = around(turns, chunk("", own), chars)
    for speaker in range(4):
        assert sum(len(t.text) for t in found if t.speaker == speaker) <= chars
    assert [t.chunk_id for t in found] == sorted({t.chunk_id for t in found} - {own})


def test_a_turn_that_crosses_the_bound_keeps_its_near_end() -> None:
    found = around([turn(0, "far near"), turn(2, "near far")], chunk("x", 1), 8)
    assert [t.text for t in found] == ["near", "near"]


def test_the_model_sees_whole_earlier_turns_within_its_bound() -> None:
    turns = [turn(0, "one two three"), turn(1, "four five"), turn(2, "six"), turn(3, "later")]
    assert [t.chunk_id for t in earlier(turns, chunk("x", 3), 4)] == [1, 2]


def test_a_call_is_remembered_across_batches_and_again_makes_no_difference() -> None:
    memory = CallMemory(chars=2400)
    memory.hear([chunk("one", 0), chunk("two", 1)])
    memory.hear([chunk("two", 1)])
    assert [t.text for t in memory.hear([chunk("three", 2)])] == ["one", "two", "three"]


def test_a_late_chunk_takes_its_place_in_the_call() -> None:
    memory = CallMemory(chars=2400)
    memory.hear([chunk("three", 2)])
    assert [t.text for t in memory.hear([chunk("two", 1)])] == ["two", "three"]


def test_calls_heard_least_recently_are_forgotten_first() -> None:
    memory = CallMemory(chars=100, calls=2)
    for call_id in ("a", "b", "a", "c"):
        memory.hear([chunk("before", 0, call_id=call_id)])
    assert len(memory.hear([chunk("now", 1, call_id="a")])) == 2
    assert len(memory.hear([chunk("now", 1, call_id="b")])) == 1


def test_what_is_remembered_of_a_call_is_bounded() -> None:
    memory = CallMemory(chars=50)
    for at in range(1000):
        memory.hear([chunk("x" * 30, at)])
    assert sum(len(t.text) for t in memory.hear([chunk("x", 1000)])) <= 101


def test_a_long_turn_is_cut_at_the_end_of_a_sentence_where_there_is_one_near() -> None:
    words = ["".join(letters) for letters in product("bdfg", "aeo", "lmnr", "aeo", "t")]
    words[129] += "."
    lines = cut(chunk(" ".join([*words, *words[::-1]])))
    assert count_words(lines[0].text) == 130


def test_scripts_without_spaces_are_cut_by_their_own_words() -> None:
    lines = cut(chunk("\u4f60" * 400))
    assert len(lines) == 3
    assert all(len(line.text) <= LINE_WORDS for line in lines)
