"""A run knows when every chunk it sent has ended, whatever the order in which it hears of it."""

import base64
from pathlib import Path

import orjson
import pytest

from clearcall.schemas import (
    Chunk,
    Cleaned,
    ConsultantInfo,
    DeadLetter,
    Draft,
    Outcome,
    Status,
    Topic,
    encode,
)
from clearcall.streams.calls import CallFileError, read_calls
from clearcall.streams.progress import Progress

INFO = ConsultantInfo(backend="rules", model="rules", prompt_version="none")


def chunk(chunk_id: int = 0) -> Chunk:
    return Chunk(call_id="c", chunk_id=chunk_id, speaker=0, text="hello")


def cleaned(chunk_id: int = 0) -> bytes:
    return encode(
        Cleaned(
            chunk=chunk(chunk_id),
            text="Hello.",
            status=Status.CLEAN,
            iteration=0,
            consultant=INFO,
            mode="strict",
            threshold=80,
            clearcall_version="0",
            cleaned_at=1.0,
        )
    )


def dead_letter(topic: str, offset: int, value: bytes | None) -> bytes:
    return encode(
        DeadLetter(
            stage="consultant",
            reason="not_json",
            detail="",
            topic=topic,
            partition=0,
            offset=offset,
            record_key=None,
            record_value=None if value is None else base64.b64encode(value).decode(),
            clearcall_version="0",
            died_at=1.0,
        )
    )


def test_a_cleaned_chunk_ends_every_record_of_it_once() -> None:
    progress = Progress()
    progress.add((0, 0), "c/0")
    progress.add((0, 1), "c/0")
    progress.on_cleaned(cleaned())
    progress.on_cleaned(cleaned())
    assert (progress.sent, progress.ended, progress.cleaned) == (2, 2, 1)


def test_an_end_heard_of_before_the_sending_is_confirmed_counts() -> None:
    progress = Progress("run.")
    progress.on_cleaned(cleaned())
    progress.on_dead_letter(dead_letter("run.transcripts.chunks", 1, b"{"))
    progress.add((0, 0), "c/0")
    progress.add((0, 1), None)
    assert progress.ended == progress.sent == 2
    assert progress.dead == 1


def test_a_dead_letter_of_a_later_stage_ends_its_chunk() -> None:
    progress = Progress()
    progress.add((0, 0), "c/0")
    draft = Draft(chunk=chunk(), iteration=0, outcome=Outcome.ANSWERED, cleaned="x", consultant=INFO, drafted_at=1.0)
    progress.on_dead_letter(dead_letter(Topic.DRAFTS, 5, encode(draft)))
    assert progress.ended == 1


@pytest.mark.parametrize("value", [None, b"{"])
def test_a_dead_letter_that_names_no_chunk_ends_none(value: bytes | None) -> None:
    progress = Progress()
    progress.add((0, 0), "c/0")
    progress.on_dead_letter(dead_letter(Topic.DRAFTS, 0, value))
    assert progress.ended == 0


def test_calls_and_single_chunks_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    call = {"call_id": "a", "chunks": [{"chunk_id": 0, "speaker": 1, "text": "hi", "gold": "Hi."}]}
    single = {"call_id": "b", "chunk_id": -1, "speaker": 0, "text": "yes"}
    path.write_bytes(orjson.dumps(call) + b"\n\n" + orjson.dumps(single) + b"\n")
    first, second = read_calls(path)
    assert orjson.loads(first.value) == {"call_id": "a", "chunk_id": 0, "speaker": 1, "text": "hi"}
    assert orjson.loads(second.value) == single
    assert [chunk.call_id for chunk in read_calls(path, most=1)] == ["a"]


def test_the_first_calls_are_whole_where_the_lines_of_calls_alternate(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n".join(b'{"call_id": "%c", "chunk_id": %d}' % (b"ab"[n % 2], n) for n in range(4)))
    assert [chunk.name for chunk in read_calls(path, most=1)] == ["a/0", "a/2"]


def test_a_line_that_is_not_json_is_sent_as_it_stands_among_calls(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    surrogate = rb'{"call_id": "a", "chunks": [{"chunk_id": 1, "speaker": 0, "text": "\ud800"}]}'
    lines = [b"{", b'{"call_id": "a", "chunk_id": 0}', surrogate, b'{"call_id": "b", "chunk_id": 0}', b"\xff"]
    path.write_bytes(b"\n".join(lines))
    unread = [(chunk.name, chunk.value) for chunk in read_calls(path) if chunk.call_id is None]
    assert unread == [("line 1", b"{"), ("line 3", surrogate), ("line 5", b"\xff")]
    assert [chunk.name for chunk in read_calls(path, most=1)] == ["line 1", "a/0", "line 3"]


@pytest.mark.parametrize("content", [b"call,text\na,hello\n", b"\x00\xff\n\xfe"])
def test_a_file_in_which_no_line_is_a_call_is_refused_by_its_first_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calls.csv"
    path.write_bytes(content)
    with pytest.raises(CallFileError, match="line 1: not JSON"):
        read_calls(path)


_DEEP = b'{"call_id": "a", "chunk_id": 0, "text": ' + b"[" * 300 + b"]" * 300 + b"}"


@pytest.mark.parametrize("line", [b"[]", b'{"call_id": 3}', b'{"call_id": "a", "chunks": [1]}', _DEEP])
def test_a_line_that_is_no_call_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b'{"call_id": "a", "chunks": []}\n' + line)
    with pytest.raises(CallFileError, match="line 2"):
        read_calls(path)


def test_a_file_without_calls_and_a_missing_file_are_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"\n")
    with pytest.raises(CallFileError, match="no call"):
        read_calls(tmp_path / "empty")
    with pytest.raises(CallFileError, match="No such file"):
        read_calls(tmp_path / "missing")
