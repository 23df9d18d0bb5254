"""What a run of ``bench_outage`` gave, held to its bounds and written down."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from clearcall import __version__
from clearcall.scoring.bench.markdown import table

_EXPLAINED = """\
{chunks} chunks of at most {words} words with something to clean, of {calls} real calls side by side, {rate:g} a second,
each with {context} words of context, through Kafka and one worker with every stage. After half of them the server is
{what} after {down:g} s; *away* is the time until it answered. Seconds are from a
chunk's arrival on Kafka to its delivery there. `wait` must deliver every chunk by the model, `degrade` each within
{bound:g} s."""


@dataclass(frozen=True)
class Ended:
    """A chunk's end: seconds from its arrival on Kafka to its delivery there, and who answered."""

    seconds: float
    sent_at: float
    by_model: bool


@dataclass(frozen=True)
class Outcomes:
    """One policy's run. ``away`` is from the stop to the first answer of the server; times are epoch seconds."""

    policy: str
    chunks: int
    ended: list[Ended]
    twice: int
    rows: int
    dead_letters: int
    stopped_at: float
    away: float
    seconds: float

    def slowest(self, *, during: bool) -> float:
        """Of the chunks that arrived while the server was away, or of the others."""
        end = self.stopped_at + self.away
        return max((one.seconds for one in self.ended if (self.stopped_at <= one.sent_at < end) == during), default=0)


def verdicts(result: Outcomes, bound: float) -> list[tuple[str, bool]]:
    """What a run is held to."""
    by_rules = sum(not one.by_model for one in result.ended)
    slowest = max((one.seconds for one in result.ended), default=0)
    found = [
        (f"{len(result.ended)} of {result.chunks} chunks delivered", len(result.ended) == result.chunks),
        (f"{result.twice} delivered twice", result.twice == 0),
        (f"{result.rows} rows", result.rows == result.chunks),
        (f"{result.dead_letters} dead letters", result.dead_letters == 0),
    ]
    if result.policy == "wait":
        found.append((f"{by_rules} not by the model", by_rules == 0))
    else:
        found.append((f"slowest {slowest:.1f} s, bound {bound:g} s", slowest <= bound))
    return found


def page(arguments: argparse.Namespace, calls: int, version: str, results: Sequence[Outcomes]) -> str:
    """The results in Markdown."""
    explained = _EXPLAINED.format(
        chunks=arguments.chunks,
        calls=calls,
        words=arguments.most_words,
        rate=arguments.rate,
        context=arguments.context_words,
        what="frozen, and goes on" if arguments.how == "freeze" else "killed, and started again",
        down=arguments.down,
        bound=arguments.bound,
    )
    failed = [
        f"{each.policy}: {text}" for each in results for text, holds in verdicts(each, arguments.bound) if not holds
    ]
    held = "Nothing is lost, nothing comes twice, each chunk is one row, and each policy keeps its word."
    return "\n".join(
        [
            "# The model server is away",
            "",
            f"clearcall {__version__}, {datetime.now(UTC).date()}. Model {arguments.model} on {version}.",
            f"{os.cpu_count()} cores for server, Kafka, database, clearcall and whatever else runs.",
            "",
            explained,
            "",
            *table([_HEAD, *map(_row, results)]),
            "",
            f"Missed: {'; '.join(failed)}." if failed else held,
            "",
        ]
    )


_HEAD = [
    "policy", "delivered", "rows", "twice", "dead letters", "by the model", "by rules", "away s",
    "slowest that came while away s", "slowest other s", "in all s",
]  # fmt: skip


def _row(result: Outcomes) -> list[str]:
    by_model = Counter(one.by_model for one in result.ended)
    return [
        result.policy,
        str(len(result.ended)),
        str(result.rows),
        str(result.twice),
        str(result.dead_letters),
        str(by_model[True]),
        str(by_model[False]),
        f"{result.away:.0f}",
        f"{result.slowest(during=True):.1f}",
        f"{result.slowest(during=False):.1f}",
        f"{result.seconds:.0f}",
    ]
