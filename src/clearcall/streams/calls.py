"""Files of calls: one JSON object a line, ``{"call_id": …, "chunks": [{"chunk_id", "speaker", "text", …}]}``.

A line may also be a single chunk with its ``call_id``, as it would stand on ``transcripts.chunks``.
Only the file's frame is checked here: a chunk that is wrong inside is sent as it is, so that it ends in the
dead letters with its reason like any other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

_FIELDS = ("chunk_id", "speaker", "start", "end", "text")


class CallFileError(Exception):
    """The file cannot be read as calls; the text names the line and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class RawChunk:
    """A chunk as a recogniser would send it: the key and the value of a record."""

    call_id: str
    value: bytes


def read_calls(path: Path, most: int | None = None) -> list[RawChunk]:
    """The chunks of the first ``most`` calls of a file, in its order.

    Raises:
        CallFileError: the whole file is looked at before anything is sent.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CallFileError(f"{path}: {error.strerror}") from error
    chunks: list[RawChunk] = []
    seen: set[str] = set()
    for call_id, records in _calls(path, lines):
        if most is not None and len(seen | {call_id}) > most:
            break
        seen.add(call_id)
        chunks += [RawChunk(call_id, orjson.dumps(record)) for record in records]
    if not chunks:
        raise CallFileError(f"{path}: no call in it")
    return chunks


def _calls(path: Path, lines: Iterable[bytes]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _call(line)
        except (ValueError, TypeError) as error:
            raise CallFileError(f"{path}, line {number}: {error}") from error


def _call(line: bytes) -> tuple[str, list[dict[str, Any]]]:
    call = orjson.loads(line)
    if not isinstance(call, dict) or not isinstance(call.get("call_id"), str):
        raise TypeError('not a call: an object with "call_id" (text) and "chunks" (a list) is wanted')
    records = call.get("chunks", [call])
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise TypeError('"chunks" is not a list of objects')
    call_id = call["call_id"]
    return call_id, [
        {"call_id": call_id} | {name: record[name] for name in _FIELDS if name in record} for record in records
    ]
