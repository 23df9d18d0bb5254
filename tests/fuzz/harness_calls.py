"""The file of calls that ``clearcall run`` reads: a line with the most calls, then the file."""

from pathlib import Path
from tempfile import TemporaryDirectory

from clearcall.schemas import Chunk, DecodeError, decode
from clearcall.streams.calls import CallFileError, read_calls

WORDS = (
    '{"call_id":"',
    '","chunks":[{"chunk_id":',
    '"speaker":',
    '"text":"',
    "\n",
    "1e400",
    r"\ud800",
    "[[[[",
    "\r",
    "\x0c",
)


def check(data: bytes) -> None:
    """A file is read or refused with its name; each of its chunks is a message, or has a reason for a dead letter."""
    first, _, content = data.partition(b"\n")
    most = int(first[:4]) if first[:4].isdigit() else None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "calls.jsonl"
        path.write_bytes(content)
        try:
            chunks = read_calls(path, most or None)
        except CallFileError as error:
            assert str(path) in str(error)
            return
    assert chunks
    calls = {chunk.call_id for chunk in chunks} - {None}
    assert not most or len(calls) <= most
    for chunk in chunks:
        assert chunk.name
        try:
            assert decode(Chunk, chunk.value).call_id == chunk.call_id
        except DecodeError as error:
            assert error.reason in {"not_json", "wrong_shape", "oversize"}
