"""The benchmark's page, as Markdown that reads well as plain text."""

from collections.abc import Sequence
from datetime import date

from clearcall.agents.consultant.bench.quality import Quality
from clearcall.agents.consultant.bench.run import RULES, Flagged, Mode, Result
from clearcall.agents.consultant.bench.turns import FILE, LEAST_WORDS
from clearcall.agents.consultant.bench.view_speed import not_as_asked, shapes, speeds
from clearcall.scoring.bench.markdown import table

_PAPER = 85.5
"""Percent of its flagged fragments that the paper's loop of corrections mends."""

_KINDS = {"published": "published SS", "normalised": "normalised SS", "strict": "strict (SS and guards)"}

_EXPLAINED = f"""\
Every turn is asked for alone, with no earlier speech, at temperature 0. Turns are those of the calls of odd index in
`{FILE}` (the rules of what may be left out were developed on the calls of even index) with at least {LEAST_WORDS}
words and a gold whose words were all heard, evenly spread.

- *foreign*: turns with a word, or with a word more often, than was said. A number that is written in digits counts.
- *numbers*, *negations*: turns where one was lost, added or changed. *not allowed*: turns that clearcall's last check
  finds to be no allowed reduction of what was said.
- *coverage*: the share of gold words that are kept, in order.
- *deletions*: the words that were left out against those that people left out.
- *punctuation*: `, . ? !` after the same word as a writer has it, where one wrote the turn.
- *unusable*: answers that are none (cut, no such line, too long); they are in no other column.
- *rules* is no model. *constrained* writes what the rules leave, and may leave out more where it may go; *project*
  asks the very same as *free*.
"""


def render(result: Result, version: str, day: date) -> str:
    """The result as a page."""
    parts = ["# The consultant on a real model", "", *_head(result, version, day)]
    if len(result.modes) > 1:
        parts += ["", *_modes(result)]
    return "\n".join([*parts, *speeds(result), *shapes(result), ""])


def _modes(result: Result) -> list[str]:
    return [
        _EXPLAINED,
        "## Initial answers",
        "",
        *_qualities([(mode.name, mode.first) for mode in result.modes]),
        "",
        *not_as_asked(result.modes),
        "## After the loop: the best of the answer and at most two corrections",
        "",
        "Nothing is restored by rules here (policy `keep`), so that this is what the model did.",
        "",
        *_qualities([(mode.name, mode.final) for mode in result.modes if mode.name != RULES]),
        "",
        "## Flagged fragments",
        "",
        *_flagged(result),
    ]


def _head(result: Result, version: str, day: date) -> list[str]:
    machine = result.machine
    return [
        f"clearcall {version}, {day.isoformat()}. Model {result.model} on {result.server}, prompt {result.prompt}.",
        f"{len(result.turns.turns)} of {result.turns.eligible} turns of {result.turns.calls} held calls.",
        f"Machine: {machine.system}, {machine.cores} cores, shared by server, client and whatever else runs;",
        f"load average {machine.load[0]:.1f} before, {machine.load[1]:.1f} after.",
    ]


def _qualities(rows: Sequence[tuple[str, Quality]]) -> list[str]:
    head = [
        "mode", "turns", "unusable", "foreign", "numbers", "negations", "not allowed", "coverage",
        "deletions P", "R", "F1", "punctuation F1",
    ]  # fmt: skip
    body = [
        [
            name,
            str(each.turns),
            str(each.unanswered),
            str(each.foreign),
            str(each.numbers),
            str(each.negations),
            str(each.not_allowed),
            f"{each.coverage:.3f}",
            f"{each.deletions.precision:.2f}",
            f"{each.deletions.recall:.2f}",
            f"{each.deletions.f1:.2f}",
            f"{each.marks.f1:.2f}",
        ]
        for name, each in rows
    ]
    return table([head, *body])


def _flagged(result: Result) -> list[str]:
    modes = [mode for mode in result.modes if mode.name != RULES]
    rows = [["mode", "corrections", *_KINDS.values()]]
    mended = [["mended by the loop", *_KINDS.values()]]
    for mode in modes:
        rows.append([mode.name, str(mode.corrections), *(_change(mode, kind) for kind in _KINDS)])
        mended.append([mode.name, *(_mended(mode, kind) for kind in _KINDS)])
        if mode.as_published:  # nothing else is scored then
            own = mode.as_published
            rows.append([own.name, str(own.corrections), _change(own, "published"), "", ""])
            mended.append([own.name, _mended(own, "published"), "", ""])
    return [
        "Flagged fragments of initial answers, then of what the loop took; below 80 by the SS as published (case and",
        "punctuation count, so that short turns are flagged for a full stop), by that of normalised texts, and by all",
        "rules, which are what the loop goes by. *As published*: it goes by the published SS alone, as in the paper.",
        "",
        *table(rows),
        "",
        f"The paper's loop mends {_PAPER}% of what its SS flags.",
        "",
        *table(mended),
    ]


def _change(mode: Mode, kind: str) -> str:
    first, final = mode.first_flagged, mode.final_flagged
    return f"{_share(first, kind)} → {_share(final, kind)}"


def _share(flagged: Flagged, kind: str) -> str:
    count = getattr(flagged, kind)
    return f"{count} of {flagged.fragments} ({100 * count / max(1, flagged.fragments):.1f}%)"


def _mended(mode: Mode, kind: str) -> str:
    first, final = getattr(mode.first_flagged, kind), getattr(mode.final_flagged, kind)
    return f"{first} to {final}: {100 * (first - final) / first:.1f}%" if first else "none to mend"
