"""Running the benchmark."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from clearcall.scoring.bench.calls import Call, Pair, read_calls
from clearcall.scoring.bench.faithful import faithful_pairs
from clearcall.scoring.bench.methods import METHODS, verdicts
from clearcall.scoring.bench.unfaithful import Material, unfaithful_pairs

MOST_PAIRS = 600
"""Pairs of one kind that are scored, drawn by the seed where there are more."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of edit: how many pairs, and how many of its ``units`` each method flags.

    The units of a faithful edit are fragments (flagged: a false alarm), those of an unfaithful one pairs (a catch).
    """

    kind: str
    faithful: bool
    pairs: int
    units: int
    flagged: dict[str, int]

    def rate(self, method: str) -> float:
        """The share of units that the method flags."""
        return self.flagged[method] / self.units if self.units else 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """The rows over all calls, and over the held calls alone, which no rule was developed on."""

    seed: int
    calls: int
    held_calls: int
    rows: tuple[Row, ...]
    held_rows: tuple[Row, ...]


def run(data: Path, seed: int = 1, most: int = MOST_PAIRS) -> Result:
    """Score the labelled pairs of all calls in a folder.

    Args:
        data: the folder with ``calls_dev.jsonl`` and ``dstc10_dev.jsonl``.
        seed: of every draw.
        most: pairs of one kind.

    Raises:
        NoCalls: there are none in the folder.
    """
    calls = read_calls(data)
    faithful, unfaithful = labelled_pairs(calls, seed, most)
    counted = _Counted()
    for pairs, is_faithful in ((faithful, True), (unfaithful, False)):
        for pair in pairs:
            counted.add(pair, is_faithful=is_faithful)
    return Result(
        seed,
        len(calls),
        sum(call.held for call in calls),
        counted.rows(held_only=False),
        counted.rows(held_only=True),
    )


def labelled_pairs(calls: Sequence[Call], seed: int, most: int) -> tuple[list[Pair], list[Pair]]:
    """The calls' faithful and unfaithful pairs, at most ``most`` of each kind, drawn by the seed."""
    return (
        _drawn([pair for call in calls for pair in faithful_pairs(call)], seed, most),
        _drawn([pair for call in calls for pair in _unfaithful(call, calls, seed)], seed, most),
    )


def _unfaithful(call: Call, calls: Sequence[Call], seed: int) -> list[Pair]:
    others = [turn for other in calls if other.call_id != call.call_id for turn in other.turns if turn.gold.strip()]
    return list(unfaithful_pairs(call, Material(Random(f"{seed} {call.call_id}"), others)))  # noqa: S311 - a draw of examples


def _drawn(pairs: Sequence[Pair], seed: int, most: int) -> list[Pair]:
    by_kind: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_kind[pair.kind].append(pair)
    drawn = []
    for kind, group in by_kind.items():
        drawn += group if len(group) <= most else Random(f"{seed} {kind}").sample(group, most)  # noqa: S311 - same
    return drawn


class _Counted:
    """Flags by kind of edit, method and part of the calls."""

    def __init__(self) -> None:
        self._pairs: Counter[tuple[str, bool, bool]] = Counter()
        self._units: Counter[tuple[str, bool, bool]] = Counter()
        self._flagged: dict[tuple[str, bool, bool], Counter[str]] = defaultdict(Counter)

    def add(self, pair: Pair, *, is_faithful: bool) -> None:
        key = (pair.kind, is_faithful, pair.held)
        found = verdicts(pair)
        self._pairs[key] += 1
        self._units[key] += len(found[METHODS[0]].fragments) if is_faithful else 1
        for method, verdict in found.items():
            self._flagged[key][method] += verdict.alarms if is_faithful else verdict.flagged

    def rows(self, *, held_only: bool) -> tuple[Row, ...]:
        rows = []
        for kind, is_faithful in dict.fromkeys((kind, is_faithful) for kind, is_faithful, _ in self._pairs):
            keys = [(kind, is_faithful, held) for held in ((True,) if held_only else (False, True))]
            flagged = {method: sum(self._flagged[key][method] for key in keys) for method in METHODS}
            pairs, units = (sum(counter[key] for key in keys) for counter in (self._pairs, self._units))
            rows.append(Row(kind, is_faithful, pairs, units, flagged))
        return tuple(rows)


def total(rows: Sequence[Row], *, faithful: bool) -> Row:
    """All rows of faithful, or of unfaithful edits as one."""
    chosen = [row for row in rows if row.faithful is faithful]
    flagged = {method: sum(row.flagged[method] for row in chosen) for method in METHODS}
    return Row("all of them", faithful, sum(row.pairs for row in chosen), sum(row.units for row in chosen), flagged)
