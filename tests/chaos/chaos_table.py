"""A run as a table, and as JSON."""

import json
import platform
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaos_faults import Done
from chaos_schedule import SPARED
from chaos_traffic import Sent
from chaos_verify import Verdict
from chaos_watch import Seen, longest_stall, moves_again, recovery
from rich.console import Console
from rich.table import Table

from clearcall import __version__


@dataclass(frozen=True)
class Run:
    """A run from its schedule to its verdict."""

    seed: int
    minutes: float
    rate: float
    date: str
    done: Sequence[Done]
    sent: Sent
    seen: Seen
    ends: Mapping[int, int]
    catch_up: float
    """Seconds from the last chunk until all was stored and committed."""
    verdict: Verdict
    statuses: Mapping[str, int]

    def recoveries(self) -> dict[str, list[float | None]]:
        """Per kind, the seconds from each fault's end until all that was sent by then was stored."""
        found: dict[str, list[float | None]] = {}
        for fault in self.done:
            found.setdefault(fault.kind, []).append(recovery(fault.over, self.sent.at, self.seen.stored))
        return found

    def moves(self) -> dict[str, list[float | None]]:
        """Per kind, the seconds until something sent after the fault was stored, in every partition.

        From the fault's beginning where something else takes over, from its end where nothing can.
        """
        found: dict[str, list[float | None]] = {}
        for fault in self.done:
            moment = fault.began if fault.kind in SPARED else fault.over
            moved = moves_again(moment, self.sent.at, self.seen.stored, self.sent.partitions)
            found.setdefault(fault.kind, []).append(moved)
        return found

    def figures(self) -> dict[str, Any]:
        """The totals."""
        waits = [self.seen.stored[one] - at for one, at in self.sent.at.items() if one in self.seen.stored]
        return {
            "faults": len(self.done),
            "kinds": len({fault.kind for fault in self.done}),
            "chunks": self.verdict.chunks,
            "how they ended": ", ".join(f"{number} {status}" for status, number in self.statuses.items()),
            "lost": self.verdict.lost,
            "doubled": self.verdict.doubled,
            "poison, each one dead letter": self.verdict.poison,
            **{f"redelivered: {topic}": number for topic, number in self.verdict.redelivered.items()},
            "chunks cleaned more than once with different texts": self.verdict.said_otherwise,
            "rows beyond one a chunk without FINAL, at most and at the end": (
                f"{self.seen.most_unmerged}, {self.verdict.unmerged}"
            ),
            "longest stall of a partition, cleaned (s)": _stall(self, self.seen.cleaned),
            "longest stall of a partition, database (s)": _stall(self, self.seen.stored),
            "chunk to row, median (s)": round(statistics.median(waits), 1) if waits else None,
            "chunk to row, longest (s)": round(max(waits), 1) if waits else None,
            "stored and committed after the last chunk (s)": round(self.catch_up, 1),
            "ends of worker processes, by exit code": ", ".join(
                f"{code}: {n}" for code, n in sorted(self.ends.items())
            ),
        }


def _stall(run: Run, ended: Mapping[str, float]) -> float:
    return round(longest_stall(run.sent.at, ended, run.sent.partitions), 1)


def _median_and_most(seconds: Sequence[float]) -> tuple[str, str]:
    return (f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}") if seconds else ("", "")


def show(run: Run, console: Console) -> None:
    """Print the tables and what was wrong."""
    console.print(
        f"clearcall {__version__}, {run.minutes:g} minutes, seed {run.seed}, {run.rate:g} chunks/s, {run.date}, "
        f"{platform.machine()}, Python {platform.python_version()}"
    )
    table = Table("fault", "times", "moves again (s): median", "max", "caught up (s): median", "max")
    moves = run.moves()
    for kind, seconds in sorted(run.recoveries().items()):
        moved = _median_and_most([one for one in moves[kind] if one is not None])
        ended = _median_and_most([one for one in seconds if one is not None])
        never = seconds.count(None)
        table.add_row(kind, str(len(seconds)), *moved, ended[0], f"never: {never}" if never else ended[1])
    console.print(table)
    totals = Table("figure", "value")
    for name, value in run.figures().items():
        totals.add_row(name, str(value))
    console.print(totals)
    for fault in run.verdict.faults:
        console.print(f"WRONG {fault}", markup=False)
    console.print("wrong" if run.verdict.faults else "all held")


def write(run: Run, file: Path) -> None:
    """The same as JSON, with every fault."""
    start = min((fault.began for fault in run.done), default=0.0)
    faults = [
        asdict(fault) | {"began": round(fault.began - start, 1), "over": round(fault.over - start, 1)}
        for fault in run.done
    ]
    content = {
        "version": __version__,
        "seed": run.seed,
        "minutes": run.minutes,
        "date": run.date,
        "figures": run.figures(),
        "moves_again": run.moves(),
        "caught_up": run.recoveries(),
        "by_kind": Counter(fault.kind for fault in run.done),
        "wrong": list(run.verdict.faults),
        "faults": faults,
    }
    file.write_text(json.dumps(content, indent=1, default=str) + "\n")
