"""Real turns with what people made of them, from calls that no rule was developed on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearcall.schemas import Chunk
from clearcall.scoring.spoken import words_of

FILE = "calls_dev.jsonl"
LEAST_WORDS = 5
"""Shorter turns are mostly "yes" and "uh-huh", where there is nothing to get wrong."""


class NoTurns(Exception):
    """There are no calls with gold to read."""


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """A turn as it was said, a call of its own; ``gold`` is its fluent form, ``punctuated`` the same by a writer.

    ``punctuated`` is empty where nobody wrote it.
    """

    chunk: Chunk
    gold: str
    punctuated: str


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns that are measured, out of ``eligible`` ones in ``calls`` calls."""

    turns: tuple[GoldTurn, ...]
    eligible: int
    calls: int


def read_turns(data: Path, most: int) -> Turns:
    """At most ``most`` turns of the calls with an odd index in the file, evenly spread over them.

    The rules were developed on the others. Left out are turns of few words, turns without gold, and those whose gold
    has words that the recogniser did not hear: of them nobody can say which words should have gone.

    Raises:
        NoTurns: the file is missing, no JSON lines, or holds no such turn.
    """
    path = data / FILE
    if not path.is_file():
        raise NoTurns(f"no {FILE} in {data}")
    try:
        calls = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()][1::2]
        found = [turn for call in calls for turn in _eligible(call)]
    except (KeyError, TypeError, ValueError) as error:
        raise NoTurns(f"{path} holds no calls: {error!r}") from error
    if not found:
        raise NoTurns(f"{path} has no turn with gold in its calls of odd index")
    wanted = min(most, len(found))
    return Turns(tuple(found[index * len(found) // wanted] for index in range(wanted)), len(found), len(calls))


def _eligible(call: dict[str, Any]) -> Iterator[GoldTurn]:
    for chunk in call["chunks"]:
        said, gold = str(chunk["text"]), str(chunk.get("gold", ""))
        if not gold.strip() or len(words_of(said)) < LEAST_WORDS or not _is_part(gold, said):
            continue
        chunk_id = int(chunk["chunk_id"])
        own = Chunk(call_id=f"{call['call_id']}-{chunk_id}", chunk_id=0, speaker=int(chunk["speaker"]), text=said)
        yield GoldTurn(own, gold, str(chunk.get("gold_punct") or ""))


def _is_part(gold: str, said: str) -> bool:
    """Whether the words of ``gold`` are among those said, in their order."""
    left = iter(word.form for word in words_of(said))
    return all(word.form in left for word in words_of(gold))
