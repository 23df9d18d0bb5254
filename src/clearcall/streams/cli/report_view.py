"""How a report looks: rich tables and colours at a terminal, plain aligned text elsewhere."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearcall.infra.clickhouse.report import Interval, Rate, Similarity, Summary, WorstFragment

_SCOPES = {"scored": "scored at it", "corpus": "whole corpus after it"}

Row = Sequence[str]


def render_summary(console: Console, summary: Summary) -> None:
    """A run at a glance: chunks by status, rates, similarity, the worst fragments with what the model changed."""
    render_statuses(console, summary)
    render_matrix(console, summary)
    _table(
        console,
        "Hallucination rate, with its Wilson 95% interval",
        ("consultant", "iteration", "fragments", "by the paper's SS", "by the run's rules"),
        [_rate(rate) for rate in summary.rates],
    )
    _table(
        console,
        "Similarity (SS, Algorithm 1) of the whole corpus",
        ("consultant", "after iteration", "mean SS (Algorithm 1)", "std", "min", "quartiles", "max"),
        [_similarity(each) for each in summary.similarities if each.measure == "ss_paper" and each.scope == "corpus"],
    )
    render_worst(console, summary)


def render_statuses(console: Console, summary: Summary) -> None:
    """The counts, and how the chunks ended."""
    _heading(console, f"{summary.chunks} chunks of {summary.calls} calls, {summary.fragments} fragments scored")
    ends = [(status, str(count), _percent(count / summary.chunks)) for status, count in summary.statuses.items()]
    _table(console, "Chunks by status", ("status", "chunks", "share"), ends)
    if summary.dead_letters:
        console.print(Text(f"dead letters: {summary.dead_letters} (clearcall dead-letters list)", style="yellow"))


def render_matrix(console: Console, summary: Summary) -> None:
    """Every consultant at every task, where there are several to compare."""
    if not summary.is_of_several:
        return
    header = (
        *("task", "consultant", "chunks", "fragments"),
        *("flagged at 0", "at 1", "at 2", "mean SS by the mode, at the end", "p50", "tokens"),
    )
    rows = [
        (
            each.task or "-",
            _consultant(each.agent, "", each.backend, each.model, each.prompt_version) + " (shadow)" * each.shadow,
            str(each.chunks),
            str(each.fragments),
            *("-" if rate is None else _percent(rate) for rate in (each.rate_0, each.rate_1, each.rate_2)),
            "-" if each.mean_ss is None else f"{each.mean_ss:.2f}",
            f"{each.p50_latency_ms:.0f} ms",
            f"{each.prompt_tokens} in, {each.completion_tokens} out",
        )
        for each in summary.matrix
    ]
    _table(
        console, "Consultants and tasks: fragments that the rules flag, as all stand after each iteration", header, rows
    )


def render_worst(console: Console, summary: Summary) -> None:
    """The worst fragments, each with its source and the difference in words."""
    if summary.worst:
        _heading(console, "Worst fragments: removed from the source (red), added by the model (green)")
    for worst in summary.worst:
        render_fragment(console, worst)


def render_fragment(console: Console, worst: WorstFragment) -> None:
    """One fragment, its source, and the difference in words."""
    track = _track(worst.agent, worst.task)
    place = f"{worst.call_id}/{worst.chunk_id}/{worst.iteration}/{worst.fragment_id}{track and f'  {track}'}"
    console.print(Text(f"{place}  SS {worst.ss:.1f} (Algorithm 1: {worst.ss_paper:.1f})", style="bold"), soft_wrap=True)
    console.print(Text.assemble("  said:  ", _shortened(worst.source_text)), soft_wrap=True)
    console.print(Text.assemble("  wrote: ", _shortened(worst.text)), soft_wrap=True)
    difference = word_difference(_shortened(worst.source_text), _shortened(worst.text), marks=not console.is_terminal)
    console.print(Text.assemble("  diff:  ", difference), soft_wrap=True)
    for reason in worst.reasons:
        console.print(Text(f"  guard: {_shortened(reason)}", style="yellow"), soft_wrap=True)


def render_tables(console: Console, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """The paper's Tables 1 to 5."""
    for name, (title, columns) in _PAPER.items():
        header = ("consultant", "iteration", "fragments", *columns)
        rows = [(*_key(row), *(_cell(row, column) for column in columns.values())) for row in tables[name]]
        _table(console, title, header, rows)


def render_rows(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows of any query."""
    if not rows:
        console.print("no rows")
        return
    _grid(console, list(rows[0]), [[str(value) for value in row.values()] for row in rows])


def word_difference(source: str, cleaned: str, *, marks: bool = False) -> Text:
    """What became of the source's words: removed in red, added in green; case and punctuation do not count.

    With ``marks``, for output without colour, as ``[-removed-]`` and ``{+added+}``.
    """
    said, wrote = _printable(source).split(), _printable(cleaned).split()
    matcher = SequenceMatcher(None, [_bare(word) for word in said], [_bare(word) for word in wrote], autojunk=False)
    parts: list[Text] = []
    for kind, said_from, said_to, wrote_from, wrote_to in matcher.get_opcodes():
        if kind == "equal":
            parts.append(Text(" ".join(wrote[wrote_from:wrote_to])))
            continue
        if said_to > said_from:
            removed = " ".join(said[said_from:said_to])
            parts.append(Text(f"[-{removed}-]" if marks else removed, style="red strike"))
        if wrote_to > wrote_from:
            added = " ".join(wrote[wrote_from:wrote_to])
            parts.append(Text(f"{{+{added}+}}" if marks else added, style="bold green"))
    return Text(" ").join(parts)


_Columns = Mapping[str, str]

_PAPER: Mapping[str, tuple[str, _Columns]] = {
    "table1": (
        "Table 1. Hallucination rate (Wilson 95% interval)",
        {"by the paper's SS": "rate_by_ss", "by the run's rules": "rate_by_rules"},
    ),
    "table2": ("Table 2. Mean similarity", {"mean SS (Algorithm 1)": "mean_ss_paper", "mean SS (mode)": "mean_ss"}),
    "table3": (
        "Table 3. Flagged fragments and chunks",
        {
            "by the paper's SS": "flagged_by_ss",
            "by the run's rules": "flagged_by_rules",
            "of these by guards alone": "flagged_by_guards_alone",
            "chunks": "chunks",
            "flagged chunks": "flagged_chunks",
            "without an answer": "failed_chunks",
        },
    ),
    "table4": (
        "Table 4. Distribution of similarity",
        {
            "measure": "measure",
            "std": "std",
            "min": "minimum",
            "25%": "lower_quartile",
            "median": "median",
            "75%": "upper_quartile",
            "max": "maximum",
        },
    ),
    "table5": (
        "Table 5. By size of the chunk",
        {
            "words": "size_class",
            "chunks": "chunks",
            "by the paper's SS": "rate_by_ss",
            "by the run's rules": "rate_by_rules",
            "mean SS (Algorithm 1)": "mean_ss_paper",
        },
    ),
}

_INTERVALS = ("rate_by_ss", "rate_by_rules")


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row[column]
    if column in _INTERVALS:
        return _interval(Interval(value, row[f"{column}_low"], row[f"{column}_high"]))
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _key(row: Mapping[str, Any]) -> Row:
    named = {name: row[name] for name in ("agent", "task", "backend", "model", "prompt_version")}
    return _consultant(**named), f"{row['iteration']}, {_SCOPES[row['scope']]}", str(row["fragments"])


def _consultant(agent: str, task: str, backend: str, model: str, prompt_version: str) -> str:
    track = _track(agent, task)
    return f"{track}{track and ': '}{backend} {model} {prompt_version}"


def _track(agent: str, task: str) -> str:
    """Names of a consultant and a task, such as ``canary, format-numbers``; empty where there is one of each."""
    return ", ".join(name for name in (agent, task) if name)


def _rate(rate: Rate) -> Row:
    return (
        _consultant(rate.agent, rate.task, rate.backend, rate.model, rate.prompt_version),
        f"{rate.iteration}, {_SCOPES[rate.scope]}",
        str(rate.fragments),
        _interval(rate.by_ss),
        _interval(rate.by_rules),
    )


def _similarity(each: Similarity) -> Row:
    std = "-" if each.std is None else f"{each.std:.2f}"
    quartiles = f"{each.lower_quartile:.1f} / {each.median:.1f} / {each.upper_quartile:.1f}"
    return (
        _consultant(each.agent, each.task, each.backend, each.model, each.prompt_version),
        str(each.iteration),
        f"{each.mean:.2f}",
        std,
        f"{each.minimum:.1f}",
        quartiles,
        f"{each.maximum:.1f}",
    )


def _interval(share: Interval) -> str:
    return f"{_percent(share.value)} ({_percent(share.low)} to {_percent(share.high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _bare(word: str) -> str:
    return re.sub(r"[^\w']", "", word.casefold())


def _printable(text: str) -> str:
    """The text without what would move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


_MOST_CHARS = 400
"""Of a text that is shown: 20 words of speech are shorter."""


def _shortened(text: str) -> str:
    """The text as a terminal takes it, without the middle of one that is longer than speech."""
    left_out = len(text) - _MOST_CHARS
    if left_out <= 0:
        return _printable(text)
    half = _MOST_CHARS // 2
    return _printable(f"{text[:half]} … {left_out} characters … {text[-half:]}")


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold cyan"), soft_wrap=True)


def _table(console: Console, title: str, header: Row, rows: Sequence[Row]) -> None:
    _heading(console, title)
    if not rows:
        console.print("  nothing yet")
        return
    _grid(console, header, rows)


def _grid(console: Console, header: Row, rows: Sequence[Row]) -> None:
    if console.is_terminal:
        table = Table(*header, box=SIMPLE_HEAD)
        for row in rows:
            table.add_row(*(Text(_printable(cell)) for cell in row))
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        line = "  ".join(_printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(Text(f"  {line}".rstrip()), soft_wrap=True)
