"""The benchmark's page, as Markdown that reads well as plain text."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

from clearcall.agents.evaluator_agent.bench.run import LONGEST, Fragment, Result
from clearcall.agents.evaluator_agent.distortion import Compared
from clearcall.agents.evaluator_agent.tool import FUNCTION, VERSION
from clearcall.schemas import Distortion, FlagChange
from clearcall.scoring.bench.markdown import table
from clearcall.scoring.statistics import wilson

_EXPLAINED = f"""\
The paper has an agent call the scoring function. Here a model is shown a cleaned fragment and the turn that it was made
from, and may do nothing but call `{FUNCTION}` with both; what it hands over is compared with what it was shown.
clearcall scores with the true texts itself: a distorted argument costs nothing there. This is what it would cost where
a model's arguments are trusted.

Fragments (at most 20 words) are of real turns of at most {LONGEST} words: half of them faithfully cleaned, half with
one labelled edit, such as a changed number or a sentence that nobody said. White space does not count.

- *altered*: words, marks or case changed, added or moved, most words the true ones. *truncated*: a part of the text and
  nothing else. *swapped*: the call's other text. *invented*: most words are not the text's. *missing*: no call, or one
  that cannot be read.
- *either* is the worse of both.
"""


def render(result: Result, version: str, day: date) -> str:
    """The result as a page."""
    calls = [compared for _, compared in result.compared]
    return "\n".join(
        [
            "# The evaluator agent: a model that calls the scoring function",
            "",
            *_head(result, version, day),
            "",
            _EXPLAINED,
            "## Arguments",
            "",
            *_kinds(calls),
            "",
            "## Scores and flags",
            "",
            *_flags(result),
            "",
        ]
    )


def _head(result: Result, version: str, day: date) -> list[str]:
    calls = len(result.compared)
    exact = sum(compared.kind is Distortion.EXACT for _, compared in result.compared)
    refused = f" {result.refused} more were refused." if result.refused else ""
    left = result.drawn - calls - result.refused
    late = f" {left} more were drawn and not answered in time." if left else ""
    return [
        f"clearcall {version}, {day.isoformat()}. Model {result.model} on {result.server}, prompt {VERSION}.",
        f"{calls} calls, {_share(exact, calls)} exact (95% interval {_interval(exact, calls)}).{refused}{late}",
        f"Machine: {result.machine}, load average {result.load:.1f} before.",
        f"Seed {result.seed}, {result.seconds:.0f} s with {result.in_flight} in flight.",
    ]


def _kinds(calls: Sequence[Compared]) -> list[str]:
    fragments = Counter(call.fragment for call in calls)
    sources = Counter(call.source for call in calls)
    either = Counter(call.kind for call in calls)
    rows = [["", "fragment", "source", "either"]]
    rows += [
        [kind, *(_share(counted[kind], len(calls)) for counted in (fragments, sources, either))] for kind in Distortion
    ]
    return table(rows)


def _flags(result: Result) -> list[str]:
    rows = [["turns", "calls", "flagged", "hidden", "false", "unscored", "flags that would change", "score differs"]]
    for name, faithful in (("faithful", True), ("made wrong", False), ("all", None)):
        chosen = [(each, call) for each, call in result.compared if faithful in (None, each.faithful)]
        rows.append([name, *_changes(chosen)])
    return [
        f"Flagged is below {result.threshold:g} by the similarity of mode `{result.mode}`, without guards, of the",
        "fragment in its turn. *hidden*: flagged by the true arguments, not by those handed over; *false*: the other",
        "way round; *unscored*: there is nothing to score.",
        "",
        *table(rows),
    ]


def _changes(chosen: Sequence[tuple[Fragment, Compared]]) -> list[str]:
    calls = [call for _, call in chosen]
    changes = Counter(call.change for call in calls)
    scored = [call for call in calls if call.given is not None]
    differs = sum(call.given is not None and abs(call.given.ss - call.true.ss) > 0 for call in scored)
    return [
        str(len(calls)),
        str(sum(call.true.flagged for call in calls)),
        str(changes[FlagChange.HIDDEN]),
        str(changes[FlagChange.FALSE]),
        str(changes[FlagChange.UNSCORED]),
        _share(len(calls) - changes[FlagChange.NONE], len(calls)),
        _share(differs, len(scored)),
    ]


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f}%)" if total else "0"


def _interval(hits: int, trials: int) -> str:
    found = wilson(hits, trials)
    return f"{100 * found.low:.1f} to {100 * found.high:.1f}%"
