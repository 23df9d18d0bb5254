"""The headers beside every message: ``message-id``, ``schema``, ``traceparent``, ``iteration``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_ITERATION = 2
"""Corrections a chunk may get after its initial response (iteration 0)."""

RawHeaders = Sequence[tuple[str, bytes | None]]

_ITERATION = re.compile(rb"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers we read and write; ``None`` is absent, an ``iteration`` of ``None`` also unreadable."""

    message_id: str | None = None
    schema: str | None = None
    traceparent: str | None = None
    iteration: int | None = None

    @classmethod
    def parse(cls, raw: Iterable[tuple[str, bytes | None]]) -> "Headers":
        """Read what is there; never raises, since a header must not stop a message."""
        raw = list(raw)
        return cls(
            message_id=_text(raw, "message-id"),
            schema=_text(raw, "schema"),
            traceparent=_text(raw, "traceparent"),
            iteration=parse_iteration(raw),
        )

    def raw(self) -> list[tuple[str, bytes]]:
        """As Kafka takes them, absent ones left out."""
        pairs = {
            "message-id": self.message_id,
            "schema": self.schema,
            "traceparent": self.traceparent,
            "iteration": None if self.iteration is None else str(self.iteration),
        }
        return [(name, value.encode()) for name, value in pairs.items() if value is not None]


def parse_iteration(raw: Iterable[tuple[str, bytes | None]]) -> int | None:
    """The ``iteration`` header, or ``None`` unless it is there once, as an ASCII integer of 1 to ``MAX_ITERATION``.

    ``None`` means that the bound counts as reached: a bad header never makes a loop.
    """
    values = [value for name, value in raw if name == "iteration"]
    if len(values) != 1 or values[0] is None or not _ITERATION.fullmatch(values[0]):
        return None
    iteration = int(values[0])
    return iteration if 1 <= iteration <= MAX_ITERATION else None


def _text(raw: Iterable[tuple[str, bytes | None]], name: str) -> str | None:
    value = next((value for key, value in raw if key == name), None)
    return None if value is None else value.decode("utf-8", errors="replace")
