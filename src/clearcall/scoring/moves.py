"""How a written text comes from a turn: word by word kept, left out as allowed, lost, or added."""

from collections import deque
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import Indel

from clearcall.scoring.anchors import stretches
from clearcall.scoring.reduction import Reduction

MOST_STATES = 40_000
"""Words times words that are searched for the fewest losses and additions; longer texts are aligned without the policy
first, which may find more of them."""

_MOST_CELLS = 10**8
"""Words times words that are aligned at once."""

_Place = tuple[int, int]


class How(Enum):
    """What happens to the words of a move."""

    KEPT = "kept"
    LEFT_OUT = "left out"
    LOST = "lost"
    ADDED = "added"


class Move(NamedTuple):
    """Half-open ranges of words: ``start`` to ``end`` of the turn, ``written_start`` to ``written_end`` of the text."""

    how: How
    start: int
    end: int
    written_start: int
    written_end: int


def moves(reduction: Reduction, forms: Sequence[str], most_states: int = MOST_STATES) -> list[Move]:
    """The moves from the turn to words of these forms, in order, with as few words lost and added as can be.

    The text is an allowed reduction of the turn exactly where no move is a loss or an addition.
    """
    states = (len(reduction.words) + 1) * (len(forms) + 1)
    return _fewest(reduction, forms) if states <= most_states else list(_aligned(reduction, forms))


def _fewest(reduction: Reduction, forms: Sequence[str]) -> list[Move]:
    """A shortest path where keeping and leaving out costs nothing, a word lost or added costs one."""
    start, goal = (0, 0), (len(reduction.words), len(forms))
    cost: dict[_Place, int] = {start: 0}
    came: dict[_Place, _Place] = {}
    waiting = deque([(0, start)])
    while waiting:
        spent, place = waiting.popleft()
        if place == goal:
            break
        if spent > cost[place]:
            continue
        for step, target in _steps(reduction, forms, place):
            total = spent + step
            if total < cost.get(target, total + 1):
                cost[target], came[target] = total, place
                (waiting.append if step else waiting.appendleft)((total, target))
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return [_move(reduction, before, after) for before, after in pairwise(reversed(path))]


def _steps(reduction: Reduction, forms: Sequence[str], place: _Place) -> Iterator[tuple[int, _Place]]:
    at, to = place
    if to < len(forms):
        yield 1, (at, to + 1)
    if at < len(reduction.words):
        yield 1, (at + 1, to)
    for end in reduction.exits[at]:
        yield 0, (end, to)
    if at < len(reduction.words) and to < len(forms) and reduction.words[at].form == forms[to]:
        yield 0, (at + 1, to + 1)


def _move(reduction: Reduction, before: _Place, after: _Place) -> Move:
    (start, written_start), (end, written_end) = before, after
    if start == end:
        how = How.ADDED
    elif written_start < written_end:
        how = How.KEPT
    else:
        how = How.LEFT_OUT if end in reduction.exits[start] else How.LOST
    return Move(how, start, end, written_start, written_end)


def _aligned(reduction: Reduction, forms: Sequence[str]) -> Iterator[Move]:
    """Along the longest common subsequence; what it leaves out is lost as far as the policy does not allow it."""
    said = [word.form for word in reduction.words]
    at = to = 0
    for to_start, to_end, start, end in stretches(forms, said, _MOST_CELLS):
        yield from _kept(at, start, to)
        yield from _along(reduction, said[start:end], forms[to_start:to_end], start, to_start)
        at, to = end, to_end
    yield from _kept(at, len(said), to)


def _along(reduction: Reduction, said: Sequence[str], forms: Sequence[str], at: int, to: int) -> Iterator[Move]:
    """The moves over the words ``said`` from ``at`` on and those written from ``to`` on."""
    for code in Indel.opcodes(said, forms):
        start, end, to_start, to_end = at + code.src_start, at + code.src_end, to + code.dest_start, to + code.dest_end
        if code.tag == "equal":
            yield from _kept(start, end, to_start)
        elif code.tag == "insert":
            yield from (Move(How.ADDED, start, start, place, place + 1) for place in range(to_start, to_end))
        else:
            yield from _without(reduction, start, end, to_start)


def _kept(start: int, end: int, to: int) -> Iterator[Move]:
    shift = to - start
    return (Move(How.KEPT, at, at + 1, at + shift, at + shift + 1) for at in range(start, end))


def _without(reduction: Reduction, start: int, end: int, to: int) -> Iterator[Move]:
    """The moves over a stretch of which nothing is written, with as few words lost as can be."""
    best: dict[int, tuple[int, int]] = {end: (0, end)}
    for at in range(end - 1, start - 1, -1):
        ways = [(best[onwards][0], onwards) for onwards in reduction.exits[at] if onwards <= end]
        best[at] = min([*ways, (best[at + 1][0] + 1, at + 1)])
    at = start
    while at < end:
        onwards = best[at][1]
        yield _move(reduction, (at, to), (onwards, to))
        at = onwards
