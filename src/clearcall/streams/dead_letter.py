"""What no stage could handle: kept with its reason and everything needed to send it again."""

import base64
from collections.abc import Sequence
from dataclasses import replace

from clearcall import __version__
from clearcall.schemas import DeadLetter
from clearcall.streams.records import Record

MOST_VALUE_BYTES = 600_000
"""Longer values are cut, and marked: in base64 they would not fit a message. Their place still tells where they are."""

VALUE_BYTES = (MOST_VALUE_BYTES, 60_000, 0)
"""How much of a value is kept: the next less where Kafka refuses the letter for its size, at last nothing of it."""

MOST_HEADER_BYTES = 16_000
_HEADER_BYTES = 16
"""What a header takes beside its name and content, so that many empty ones count."""

_MOST_KEY_BYTES = 4_000
_MOST_DETAIL_CHARS = 1_000
_MOST_ERRORS = 10
_MOST_LINKS = 6
_MOST_LINK_CHARS = 400


REASONS = (
    "failed",
    "no_row",
    "not_json",
    "not_recorded",
    "not_text",
    "oversize",
    "rows_refused",
    "scoring_too_long",
    "tombstone",
    "unknown_schema",
    "wrong_shape",
)
"""All that our own stages give."""


def dead_letter(
    record: Record,
    *,
    stage: str,
    reason: str,
    detail: str,
    errors: Sequence[str] = (),
    died_at: float,
    value_bytes: int = MOST_VALUE_BYTES,
) -> DeadLetter:
    """The dead letter of ``record``; ``errors`` are those of the attempts before, ``died_at`` is epoch seconds.

    At most ``value_bytes`` are kept of the value; where that is under ``MOST_VALUE_BYTES``, no headers and one error.
    """
    small = value_bytes < MOST_VALUE_BYTES
    kept = _shortened(record, value_bytes, 0 if small else MOST_HEADER_BYTES)
    return DeadLetter(
        stage=stage,
        reason=reason,
        detail=_sendable(detail),
        errors=tuple(map(_sendable, errors[-1 if small else -_MOST_ERRORS :])),
        topic=record.partition.topic,
        partition=record.partition.number,
        offset=record.offset,
        record_key=_text(kept.key),
        record_value=_text(kept.value),
        record_headers=tuple((name, _text(value)) for name, value in kept.headers),
        record_timestamp=record.timestamp,
        truncated=kept is not record,
        clearcall_version=__version__,
        died_at=died_at,
    )


def chain(error: BaseException) -> str:
    """An error and what caused it, on one line: ``RuntimeError: no row <- KeyError: 'text'``."""
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found and len(found) < _MOST_LINKS:
        found.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return " <- ".join(f"{type(one).__name__}: {one}"[:_MOST_LINK_CHARS] for one in found)


def _shortened(record: Record, value_bytes: int, most_header_bytes: int) -> Record:
    """The record itself where it fits, else a part of it."""
    key, value = record.key or b"", record.value or b""
    header_bytes = sum(_HEADER_BYTES + len(name) + len(content or b"") for name, content in record.headers)
    headers = record.headers if header_bytes <= most_header_bytes else ()
    if len(value) <= value_bytes and len(key) <= _MOST_KEY_BYTES and len(headers) == len(record.headers):
        return record
    return replace(
        record,
        key=record.key and key[:_MOST_KEY_BYTES],
        value=record.value and value[:value_bytes],
        headers=headers,
    )


def _sendable(text: str) -> str:
    """Short enough, and without lone surrogates, which an error may quote and JSON cannot hold."""
    return text[:_MOST_DETAIL_CHARS].encode("utf-8", "replace").decode()


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")
