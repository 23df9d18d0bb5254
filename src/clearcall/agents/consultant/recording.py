"""A recording of what a model really answered: a line that says how it was made, then an answer per line.

An answer is found by its chunk, piece and iteration, so that no other batching can change what is found; the source's
digest makes sure that it answers the same words.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clearcall.agents.consultant.backend import Line
from clearcall.schemas import Failure
from clearcall.schemas.parts import Ordinal

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]

Place = tuple[str, int, int, int]
"""Call id, chunk id, piece, iteration."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Header(_Row):
    """How the recording was made. ``server`` and ``quantisation`` are as the recording's maker says."""

    recording: Literal[1] = 1
    model: str
    server: str
    quantisation: str
    settings: dict[str, str | Whole | float]
    decoding: str
    prompt_versions: tuple[str, ...]
    recorded_at: str
    clearcall_version: str


class Recorded(_Row):
    """The answer to one line: what the model wrote for it (heads taken off), and its failure if it has one.

    ``decoding`` is empty where it is the recording's.
    """

    call_id: str
    chunk_id: Ordinal
    part: Ordinal = 0
    iteration: Ordinal
    source: str
    text: str
    failure: Failure | None = None
    prompt_version: str
    decoding: str = ""
    prompt_tokens: Ordinal = 0
    completion_tokens: Ordinal = 0
    latency_ms: float = 0.0

    @property
    def place(self) -> Place:
        """Where it is found again."""
        return (self.call_id, self.chunk_id, self.part, self.iteration)


class UnreadableRecording(Exception):
    """The file is no recording; the text says at which line."""


def digest(text: str) -> str:
    """A short name of the words that were answered."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def place_of(line: Line, iteration: int) -> Place:
    """Where a line's answer is kept."""
    return (line.chunk.call_id, line.chunk.chunk_id, line.part, iteration)


def read(path: Path) -> tuple[Header, dict[Place, Recorded]]:
    """A recording; raises ``UnreadableRecording``, or ``OSError`` where there is no such file."""
    rows = [row for row in path.read_bytes().split(b"\n") if row.strip()]
    if not rows:
        raise UnreadableRecording(f"{path} is empty")
    header, *answers = [_row(Recorded if at else Header, row, f"{path}, line {at + 1}") for at, row in enumerate(rows)]
    assert isinstance(header, Header)
    return header, {answer.place: answer for answer in answers if isinstance(answer, Recorded)}


def write(path: Path, header: Header, answers: list[Recorded]) -> None:
    """Write a recording, its answers by place, so that two of them can be compared line by line."""
    rows: list[_Row] = [header, *sorted(answers, key=lambda answer: answer.place)]
    path.write_bytes(
        b"".join(orjson.dumps(row.model_dump(mode="json", exclude_defaults=False)) + b"\n" for row in rows)
    )


def _row(kind: type[_Row], row: bytes, where: str) -> _Row:
    try:
        return kind.model_validate_json(row)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, found["loc"])) or "the line"
        raise UnreadableRecording(f"{where}: {place}: {found['msg']}") from error
