"""Reads the calls that come with the package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import orjson

from clearcall.schemas import Chunk


@dataclass(frozen=True, slots=True)
class SampleChunk:
    """A chunk as a recogniser gives it, beside what it should become; the gold of a filler-only chunk is empty."""

    chunk: Chunk
    gold: str


@dataclass(frozen=True, slots=True)
class SampleCall:
    """One call, its chunks in order of ``chunk_id`` and start; ``speakers`` names the role of each speaker number."""

    call_id: str
    title: str
    speakers: Mapping[int, str]
    chunks: tuple[SampleChunk, ...]


def load_calls() -> tuple[SampleCall, ...]:
    """Every sample call, in the order of the file; reads the installed package, wherever it is."""
    lines = files("clearcall.samples").joinpath("calls.jsonl").read_bytes().splitlines()
    return tuple(_call(line) for line in lines)


def _call(line: bytes) -> SampleCall:
    content = orjson.loads(line)
    call_id = content["call_id"]
    return SampleCall(
        call_id=call_id,
        title=content["title"],
        speakers={int(number): role for number, role in content["speakers"].items()},
        chunks=tuple(_chunk(call_id, item) for item in content["chunks"]),
    )


def _chunk(call_id: str, item: dict[str, object]) -> SampleChunk:
    return SampleChunk(chunk=Chunk.model_validate({**item, "call_id": call_id}), gold=str(item["gold"]))
