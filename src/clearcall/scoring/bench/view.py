"""The benchmark's tables, as Markdown that reads well as plain text."""

from collections.abc import Sequence
from datetime import date

from clearcall.scoring.bench.markdown import table
from clearcall.scoring.bench.methods import METHODS, THRESHOLD
from clearcall.scoring.bench.run import Result, Row, total

_EXPLAINED = f"""\
Labelled pairs from real calls: faithful edits that must not be flagged, and unfaithful ones, one kind at a time, that
must be. Every method flags below {THRESHOLD:.0f} and sees the same fragments (20 words, overlapping by 3) and the same
source (the speaker's own words around the turn, 2,400 characters).

- *paper, as published*: Ratcliff/Obershelp of the best window, on the characters as given.
- *normalised SS*: the same on normalised texts, a turn also without the little it drops; no guards.
- *SS with guards*: clearcall's strict mode.
- *difflib, autojunk*: the share of a fragment that `SequenceMatcher(None, fragment, source)` finds with its defaults.
- *fuzz.ratio*: of the whole cleaned turn and the whole turn as said.
- *fuzz.partial_ratio*: of a fragment and the source.

A false alarm is a flagged fragment of a faithful pair (a flag of the whole turn counts for each of its fragments).
Recall is the share of unfaithful pairs that are flagged at all; where a method raises many false alarms, its recall
means little.

What the guards do not see, by choice or by nature: a single invented or exchanged word that is no name, number or
negation (one new word is taken for a repair of grammar or of the recogniser); a dropped sentence that says again what
stands beside it, like a restart; and another turn that consists of this turn's own words.
"""


def render(result: Result, version: str, day: date) -> str:
    """The result as a Markdown page."""
    made = f"clearcall {version}, {day.isoformat()}, seed {result.seed}"
    head = f"{made}, {result.calls} calls, {result.held_calls} of them held"
    return "\n".join(
        [
            "# Faithful edits",
            "",
            head + ".",
            "The rules were tuned on the others; of the held ones some lines were read, their results never used.",
            "",
            _EXPLAINED,
            "## All calls",
            "",
            *_tables(result.rows),
            "## The held calls alone",
            "",
            *_tables(result.held_rows),
        ]
    )


def _tables(rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    for title, unit, faithful in (("False alarms, %", "fragments", True), ("Recall", "pairs", False)):
        chosen = [row for row in rows if row.faithful is faithful and row.units]
        if faithful:
            chosen.append(total(rows, faithful=True))
        head = [title, unit, *METHODS]
        body = [[row.kind, f"{row.units:,}", *[_rate(row, method) for method in METHODS]] for row in chosen]
        lines += [*table([head, *body]), ""]
    return lines


def _rate(row: Row, method: str) -> str:
    rate = row.rate(method)
    return f"{100 * rate:.2f}" if row.faithful else f"{rate:.3f}"
