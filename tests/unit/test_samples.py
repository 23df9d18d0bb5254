import re
from collections import Counter
from importlib.resources import files

import orjson
import pytest

from clearcall.samples import SampleCall, SampleChunk, load_calls
from clearcall.schemas import Chunk, decode, encode

CALLS = load_calls()
CHUNKS = [item for call in CALLS for item in call.chunks]
each_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.call_id)

FILLERS = {"uh", "um", "er", "eh", "mm", "hm", "mhm", "aw", "ooh"}


def words(text: str) -> list[str]:
    return re.sub(r"[^\w']+", " ", text.casefold()).split()


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def test_there_are_fourteen_calls_of_seven_kinds_with_ids_of_their_own() -> None:
    kinds = Counter(call.call_id.split("-")[1] for call in CALLS)
    expected = {"service": 3, "parts": 2, "finance": 2, "complaint": 2, "recall": 2, "warranty": 2, "roadside": 1}
    assert kinds == expected
    assert len({call.call_id for call in CALLS}) == len(CALLS)
    assert all(call.title for call in CALLS)


@each_call
def test_a_call_has_fifteen_to_twenty_five_chunks_numbered_from_zero(call: SampleCall) -> None:
    assert 15 <= len(call.chunks) <= 25
    assert [item.chunk.chunk_id for item in call.chunks] == list(range(len(call.chunks)))
    assert {item.chunk.call_id for item in call.chunks} == {call.call_id}


@each_call
def test_both_speakers_of_a_call_talk_and_have_a_role(call: SampleCall) -> None:
    assert {item.chunk.speaker for item in call.chunks} == set(call.speakers)
    assert set(call.speakers.values()) == {"agent", "caller"}


@each_call
def test_chunks_are_ordered_by_start_and_nobody_talks_over_himself(call: SampleCall) -> None:
    last_start, last_end = 0.0, dict.fromkeys(call.speakers, 0.0)
    for item in call.chunks:
        start, end, speaker = item.chunk.start, item.chunk.end, item.chunk.speaker
        assert start is not None
        assert end is not None
        assert last_start <= start < end
        assert last_end[speaker] <= start
        last_start, last_end[speaker] = start, end


@each_call
def test_every_chunk_travels_through_the_codec_unchanged(call: SampleCall) -> None:
    for item in call.chunks:
        assert decode(Chunk, encode(item.chunk)) == item.chunk


@each_call
def test_a_text_looks_like_a_recognisers_output(call: SampleCall) -> None:
    for item in call.chunks:
        assert re.fullmatch(r"[a-z']+( [a-z']+)*", item.chunk.text), item.chunk.message_id
        assert len(item.chunk.text.split()) <= 150


@each_call
def test_every_word_of_a_gold_text_was_said_in_that_order(call: SampleCall) -> None:
    for item in call.chunks:
        assert is_subsequence(words(item.gold), words(item.chunk.text)), item.chunk.message_id


@each_call
def test_a_gold_text_is_free_of_fillers_and_loose_punctuation(call: SampleCall) -> None:
    for item in call.chunks:
        assert not FILLERS & set(words(item.gold)), item.chunk.message_id
        assert not re.search(r"\s[,.?!]|[{}]|\s\s|^\s|\s$", item.gold), item.chunk.message_id


def test_a_gold_text_is_empty_only_where_nothing_but_fillers_was_said() -> None:
    empty = [item for item in CHUNKS if not item.gold]
    assert len(empty) >= 5
    assert all(set(item.chunk.text.split()) <= FILLERS for item in empty)
    assert all(item.gold for item in CHUNKS if set(item.chunk.text.split()) - FILLERS)


def test_cleaning_removes_something_in_most_chunks_and_little_of_the_words() -> None:
    changed = sum(words(item.gold) != words(item.chunk.text) for item in CHUNKS)
    kept = sum(len(words(item.gold)) for item in CHUNKS) / sum(len(item.chunk.text.split()) for item in CHUNKS)
    assert changed > len(CHUNKS) / 2
    assert 0.85 < kept < 0.97


def test_speakers_talk_over_each_other_in_every_call() -> None:
    assert all(_overlaps(call) >= 2 for call in CALLS)


def test_chunks_come_in_all_three_sizes() -> None:
    sizes = [len(item.chunk.text.split()) for item in CHUNKS]
    assert sum(size > 100 for size in sizes) >= 1
    assert sum(50 <= size <= 100 for size in sizes) >= 5
    assert sum(size <= 2 for size in sizes) >= 10


def test_numbers_negations_and_recogniser_errors_are_there_to_be_lost() -> None:
    said = Counter(word for item in CHUNKS for word in item.chunk.text.split())
    assert sum(said[word] for word in ("oh", "nine", "forty", "hundred", "thousand", "double")) > 50
    assert sum(said[word] for word in ("not", "no", "don't", "isn't", "can't", "never")) > 50
    assert said["coffin"] == 1
    assert any("break pads" in item.chunk.text for item in CHUNKS)


def test_one_caller_says_what_a_model_must_not_obey() -> None:
    found = [item for item in CHUNKS if "ignore your previous instructions" in item.chunk.text]
    assert len(found) == 1
    assert "Ignore your previous instructions" in found[0].gold


def test_the_file_is_one_json_object_a_line_and_says_where_it_is_from() -> None:
    folder = files("clearcall.samples")
    lines = folder.joinpath("calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert [orjson.loads(line)["call_id"] for line in lines] == [call.call_id for call in CALLS]
    assert "Apache-2.0" in folder.joinpath("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("gold", "text", "faithful"),
    [
        ("The front right.", "the the front left no sorry the front right", True),
        ("Twenty-two at seven a.m.", "uh twenty two at seven a m", True),
        ("The front rear.", "the front right", False),
        ("Right front.", "the front right", False),
        ("The the front.", "the front", False),
    ],
)
def test_the_check_of_gold_texts_sees_added_moved_and_doubled_words(gold: str, text: str, *, faithful: bool) -> None:
    assert is_subsequence(words(gold), words(text)) is faithful


def _overlaps(call: SampleCall) -> int:
    return sum(
        _end(before) > _start(after)
        for index, after in enumerate(call.chunks)
        for before in call.chunks[:index]
        if before.chunk.speaker != after.chunk.speaker
    )


def _start(item: SampleChunk) -> float:
    assert item.chunk.start is not None
    return item.chunk.start


def _end(item: SampleChunk) -> float:
    assert item.chunk.end is not None
    return item.chunk.end
