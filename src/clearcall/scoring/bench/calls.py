"""Real calls as the benchmark reads them: what was said, turn by turn, and its fluent form by a human."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clearcall.scoring.types import Turn

_MERGED_WORDS = 60
_NEIGHBOURS = 40
_SOUND = re.compile(r"(?<![\w'-])(?:u+h+|u+m+)(?![\w'-])(?! huh)[,.]?\s*")


class NoCalls(Exception):
    """The folder has no calls to read."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn: ``said`` with its disfluencies, ``gold`` the fluent text (cased and punctuated where a human did so).

    ``by_human`` is false where there is no fluent text; ``gold`` is then what was said without "uh" and "um".
    """

    speaker: int
    said: str
    gold: str
    by_human: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call; ``merged`` has the turns of one speaker in a row as one, up to sixty words."""

    call_id: str
    held: bool
    turns: tuple[Spoken, ...]
    merged: tuple[Spoken, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair: ``cleaned`` is given out as the cleaned form of ``source[own]``."""

    kind: str
    call_id: str
    held: bool
    own: int
    source: tuple[Turn, ...]
    cleaned: str


def read_calls(data: Path) -> tuple[Call, ...]:
    """The calls of ``calls_dev.jsonl`` (with gold) and ``dstc10_dev.jsonl`` (without); every third call is held out.

    Raises:
        NoCalls: there is no file of calls in the folder.
    """
    calls: list[Call] = []
    for name in ("calls_dev.jsonl", "dstc10_dev.jsonl"):
        path = data / name
        if not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found = sorted((json.loads(line) for line in lines if line.strip()), key=lambda call: str(call["call_id"]))
        for number, call in enumerate(found):
            turns = tuple(_turn(chunk) for chunk in call["chunks"])
            calls.append(Call(call["call_id"], number % 3 == 0, turns, _merged(turns)))
    if not calls:
        raise NoCalls(f"no calls_dev.jsonl and no dstc10_dev.jsonl in {data}")
    return tuple(calls)


def _turn(chunk: dict[str, object]) -> Spoken:
    said = str(chunk.get("verbatim") or chunk["text"])
    if "gold" not in chunk:
        return Spoken(_speaker(chunk), said, without_sounds(said), by_human=False)
    return Spoken(_speaker(chunk), said, str(chunk.get("gold_punct") or chunk["gold"]), by_human=True)


def _speaker(chunk: dict[str, object]) -> int:
    speaker = chunk["speaker"]
    assert isinstance(speaker, int)
    return speaker


def without_sounds(text: str) -> str:
    """The text without "uh" and "um"; "uh huh" is an answer and stays."""
    return _SOUND.sub("", text).strip()


def _merged(turns: Sequence[Spoken]) -> tuple[Spoken, ...]:
    merged: list[Spoken] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if last and last.speaker == turn.speaker and len(f"{last.said} {turn.said}".split()) <= _MERGED_WORDS:
            gold = f"{_closed(last.gold)} {turn.gold}".strip() if last.by_human else f"{last.gold} {turn.gold}".strip()
            merged[-1] = Spoken(turn.speaker, f"{last.said} {turn.said}", gold, last.by_human and turn.by_human)
        else:
            merged.append(turn)
    return tuple(merged)


def _closed(text: str) -> str:
    return text if not text or text[-1] in ".?!," else f"{text}."


def pair(kind: str, call: Call, turns: Sequence[Spoken], own: int, cleaned: str) -> Pair:
    """A pair with the turns around it: as many as the source of a chunk can need."""
    first = max(0, own - _NEIGHBOURS)
    around = turns[first : own + _NEIGHBOURS + 1]
    source = tuple(Turn(turn.speaker, turn.said) for turn in around)
    return Pair(kind, call.call_id, call.held, own - first, source, cleaned)
