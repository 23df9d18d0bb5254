"""Files of calls: one JSON object a line, ``{"call_id": …, "chunks": [{"chunk_id", "speaker", "text", …}]}``.

A line may also be a single chunk with its ``call_id``, as it would stand on ``transcripts.chunks``.
Only the file's frame is checked here: a chunk that is wrong inside, and a line that is not JSON, are sent as they
are, so that they end in the dead letters with their reason like any other. A file in which no line is a call is no
file of calls.
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
    """A chunk as a recogniser would send it: the key and the value of a record.

    ``call_id`` is ``None`` where the line cannot be read; ``name`` is how a person is told of it: call and chunk, or
    the line.
    """

    call_id: str | None
    value: bytes
    name: str


def read_calls(path: Path, most: int | None = None) -> list[RawChunk]:
    """The chunks of the first ``most`` calls of a file, in its order.

    Lines that are not JSON are among them, as they stand; with ``most`` only up to the first call left out.

    Raises:
        CallFileError: the whole file is looked at before anything is sent.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CallFileError(f"{path}: {error.strerror}") from error
    chunks: list[RawChunk] = []
    seen: set[str] = set()
    unreadable: CallFileError | None = None
    left_out = False
    for number, line in _written(lines):
        try:
            call = orjson.loads(line)
        except ValueError as error:
            unreadable = unreadable or CallFileError(f"{path}, line {number}: not JSON: {error}")
            if not left_out:
                chunks.append(RawChunk(None, line, f"line {number}"))
            continue
        try:
            call_id, records = _call(call)
        except TypeError as error:  # orjson's, too, which writes less deep than it reads
            raise CallFileError(f"{path}, line {number}: {error}") from error
        if most is not None and call_id not in seen and len(seen) >= most:
            left_out = True
            continue
        seen.add(call_id)
        chunks += [RawChunk(call_id, value, f"{call_id}/{chunk_id}") for chunk_id, value in records]
    if unreadable and not seen:
        raise unreadable
    if not chunks:
        raise CallFileError(f"{path}: no call in it")
    return chunks


def _written(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _call(call: Any) -> tuple[str, list[tuple[object, bytes]]]:
    """The call's id, and for each of its chunks what stands for its number and its value."""
    if not isinstance(call, dict) or not isinstance(call.get("call_id"), str):
        raise TypeError('not a call: an object with "call_id" (text) and "chunks" (a list) is wanted')
    records = call.get("chunks", [call])
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise TypeError('"chunks" is not a list of objects')
    call_id = call["call_id"]
    return call_id, [
        (
            record.get("chunk_id", "?"),
            orjson.dumps({"call_id": call_id} | {name: record[name] for name in _FIELDS if name in record}),
        )
        for record in records
    ]
