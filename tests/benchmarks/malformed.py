"""Messages that nobody can read, made by a seeded source: every way that a sender has been seen to get it wrong."""

import random
from collections.abc import Callable

import orjson

Raw = tuple[bytes, bytes | None, list[tuple[str, bytes]]]
"""Key, value and headers of a record."""


def malformed(source: random.Random, number: int) -> Raw:
    """A record for ``transcripts.chunks`` that is no chunk."""
    value, headers = source.choice(_KINDS)(
        source, {"call_id": f"bad{number}", "chunk_id": 0, "speaker": 0, "text": "x"}
    )
    return f"bad{number}".encode(), value, headers


Made = tuple[bytes | None, list[tuple[str, bytes]]]
Kind = Callable[[random.Random, dict[str, object]], Made]


def _noise(source: random.Random, _chunk: dict[str, object]) -> Made:
    return b"\xff" + source.randbytes(source.randrange(1, 300)), []


def _cut(source: random.Random, chunk: dict[str, object]) -> Made:
    whole = orjson.dumps(chunk)
    return whole[: source.randrange(len(whole))], []


def _without_a_field(source: random.Random, chunk: dict[str, object]) -> Made:
    del chunk[source.choice(["call_id", "chunk_id", "speaker", "text"])]
    return orjson.dumps(chunk), []


def _of_another_type(source: random.Random, chunk: dict[str, object]) -> Made:
    field = source.choice(["call_id", "chunk_id", "speaker", "text"])
    chunk[field] = source.choice([None, [], {}, [chunk["text"]], {"value": 1}])
    return orjson.dumps(chunk), []


def _out_of_range(source: random.Random, chunk: dict[str, object]) -> Made:
    chunk[source.choice(["chunk_id", "speaker"])] = source.choice([-1, -(2**40), 0.5])
    return orjson.dumps(chunk), []


def _no_object(source: random.Random, _chunk: dict[str, object]) -> Made:
    return source.choice([b"[]", b"null", b"1", b'"text"', b"[" * 200 + b"]" * 200, b"{}", b"", b" "]), []


def _tombstone(_source: random.Random, _chunk: dict[str, object]) -> Made:
    return None, []


def _of_another_schema(source: random.Random, chunk: dict[str, object]) -> Made:
    return orjson.dumps(chunk), [("schema", source.choice([b"clearcall.chunk/999", b"", b"\xff", b"other/1"]))]


_KINDS: tuple[Kind, ...] = (
    _noise,
    _cut,
    _without_a_field,
    _of_another_type,
    _out_of_range,
    _no_object,
    _tombstone,
    _of_another_schema,
)
