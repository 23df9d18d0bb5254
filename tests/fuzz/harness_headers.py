"""Headers: each line one, ``name=value``, or ``name`` alone for a null."""

import random

from fuzz_parts import text_of

from clearcall.schemas import MAX_ITERATION, Headers
from clearcall.streams.traceparent import kept_or_made

WORDS = (
    *("message-id=", "schema=", "traceparent=", "iteration=", "iteration=1", "iteration=2", "clearcall.chunk/1"),
    "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def check(data: bytes) -> None:
    """Any headers are read, and those that were read are written and read again the same."""
    raw = [_header(line) for line in data.split(b"\n")]
    headers = Headers.parse(raw)
    assert headers.iteration is None or 1 <= headers.iteration <= MAX_ITERATION
    assert Headers.parse(headers.raw()) == headers
    sound = kept_or_made(headers.traceparent, random.Random(1))
    assert kept_or_made(sound, random.Random(2)) == sound


def _header(line: bytes) -> tuple[str, bytes | None]:
    name, given, value = line.partition(b"=")
    return text_of(name), value if given else None
