"""Real turns with what people made of them, from calls that no rule was developed on."""

import json
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
    """A turn as it was said; ``gold`` is its fluent form, ``punctuated`` the same by a writer.

    ``punctuated`` is empty where nobody wrote it.
    """

    chunk: Chunk
    gold: str
    punctuated: str


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns that are measured, each a call of its own, out of ``eligible`` ones in ``calls`` calls."""

    turns: tuple[GoldTurn, ...]
    eligible: int
    calls: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive chunks of one call; ``gold`` has those that are measured, by chunk id."""

    chunks: tuple[Chunk, ...]
    gold: dict[int, GoldTurn]


def read_turns(data: Path, most: int) -> Turns:
    """At most ``most`` turns of the calls with an odd index in the file, evenly spread over them.

    The rules were developed on the others. Left out are turns of few words, turns without gold, and those whose gold
    has words that the recogniser did not hear: of them nobody can say which words should have gone.

    Raises:
        NoTurns: the file is missing, no JSON lines, or holds no such turn.
    """
    calls = _calls(data)
    found = [_by_itself(turn) for call in calls for turn in call.gold.values()]
    if not found:
        raise NoTurns(f"{data / FILE} has no turn with gold in its calls of odd index")
    wanted = min(most, len(found))
    return Turns(tuple(found[index * len(found) // wanted] for index in range(wanted)), len(found), len(calls))


def read_stretches(data: Path, count: int, length: int) -> tuple[Stretch, ...]:
    """``count`` stretches of at most ``length`` chunks: of each such call in turn its first, then its second, ….

    Fewer where the calls have no more. Raises as ``read_turns`` does.
    """
    calls = _calls(data)
    longest = max((len(call.chunks) for call in calls), default=0)
    cuts = [
        Stretch(call.chunks[start : start + length], call.gold)
        for start in range(0, longest, length)
        for call in calls
        if len(call.chunks) >= start + length or (not start and call.chunks)
    ]
    if not cuts:
        raise NoTurns(f"{data / FILE} has no call of odd index")
    return tuple(cuts[:count])


def _calls(data: Path) -> list[Stretch]:
    """The calls of odd index, whole."""
    path = data / FILE
    if not path.is_file():
        raise NoTurns(f"no {FILE} in {data}")
    try:
        calls = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()][1::2]
        return [_whole(call) for call in calls]
    except (KeyError, TypeError, ValueError) as error:
        raise NoTurns(f"{path} holds no calls: {error!r}") from error


def _whole(call: dict[str, Any]) -> Stretch:
    turns = [
        GoldTurn(
            Chunk(
                call_id=call["call_id"],
                chunk_id=int(chunk["chunk_id"]),
                speaker=int(chunk["speaker"]),
                text=str(chunk["text"]),
            ),
            str(chunk.get("gold", "")),
            str(chunk.get("gold_punct") or ""),
        )
        for chunk in call["chunks"]
    ]
    return Stretch(
        tuple(turn.chunk for turn in turns), {turn.chunk.chunk_id: turn for turn in turns if _eligible(turn)}
    )


def _by_itself(turn: GoldTurn) -> GoldTurn:
    """The turn as a call of its own."""
    chunk = turn.chunk
    own = chunk.model_copy(update={"call_id": f"{chunk.call_id}-{chunk.chunk_id}", "chunk_id": 0})
    return GoldTurn(own, turn.gold, turn.punctuated)


def _eligible(turn: GoldTurn) -> bool:
    said = turn.chunk.text
    return bool(turn.gold.strip()) and len(words_of(said)) >= LEAST_WORDS and _is_part(turn.gold, said)


def _is_part(gold: str, said: str) -> bool:
    """Whether the words of ``gold`` are among those said, in their order."""
    left = iter(word.form for word in words_of(said))
    return all(word.form in left for word in words_of(gold))
