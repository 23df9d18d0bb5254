"""An explanation for a terminal: coloured there, with ``[-removed-]`` and ``{+added+}`` where there is no colour."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearcall.scoring import Flag
from clearcall.streams.explain.diff import Piece, visible
from clearcall.streams.explain.explanation import Explanation, ShownFragment, title

_STYLES = {"same": "", "removed": "bright_black strike", "added": "bold cyan"}
_NARROWEST = 20
_MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}


def print_explanation(shown: Explanation, console: Console) -> None:
    """The difference of the turns, every fragment with its best window, then the sum."""
    for turn in shown.turns:
        pieces = [_word(piece, console) for piece in turn.difference]
        _print_hanging(shown.name(turn.speaker), Text(" ").join(pieces), console, width=_name_width(shown))
    if shown.turns:
        console.print()
    for item in shown.fragments:
        _print_fragment(shown, item, console)
    for flag in shown.evaluation.flags:
        console.print(_flag_line(flag, "whole text: "))
    if shown.evaluation.flags:
        console.print()
    console.print(summary(shown))


def print_scores(shown: Explanation, console: Console) -> None:
    """One line for each fragment, then the sum."""
    table = Table("", "score", "paper", "", "fragment", box=None, pad_edge=False, header_style="dim")
    for item in shown.fragments:
        fragment = item.fragment
        why = Text(", ".join(_reasons(item)), style="red") if fragment.flagged else Text("ok", style="green")
        number = f"{item.number} {shown.name(fragment.speaker)}".strip()
        table.add_row(number, f"{fragment.score:.1f}", f"{fragment.paper_score:.1f}", why, Text(visible(fragment.text)))
    if shown.fragments:
        console.print(table)
    for flag in shown.evaluation.flags:
        console.print(_flag_line(flag, "whole text: "))
    console.print(summary(shown))


def summary(shown: Explanation) -> Text:
    """The verdict in one line."""
    rules, fragments = shown.rules, len(shown.fragments)
    settings = f"{rules.mode}, threshold {rules.threshold:g}"
    if shown.mean is None or shown.lowest is None:
        scores = f"nothing to score ({settings})"
    else:
        scores = (
            f"{shown.flagged_count} of {fragments} fragments flagged, "
            f"similarity mean {shown.mean:.1f}, lowest {shown.lowest:.1f} ({settings})"
        )
    verdict = ("FLAGGED", "bold red") if shown.evaluation.flagged else ("FAITHFUL", "bold green")
    return Text.assemble(verdict, "  ", scores)


def _print_fragment(shown: Explanation, item: ShownFragment, console: Console) -> None:
    fragment = item.fragment
    who = f"  {shown.name(fragment.speaker)}" if shown.names else ""
    state = Text("flagged", style="bold red") if fragment.flagged else Text("ok", style="green")
    scores = f"  similarity {fragment.score:.1f}  paper {fragment.paper_score:.1f}  "
    console.print(Text.assemble((f"fragment {item.number}", "bold"), who, scores, state))
    _print_hanging("  said", _side(item.difference, "removed", console), console)
    _print_hanging("  wrote", _side(item.difference, "added", console), console)
    if fragment.below_threshold:
        reason = f"{fragment.score:.1f} is below {shown.rules.threshold:g}"
        console.print(_flag_line(Flag("similarity", reason)))
    for flag in fragment.flags:
        console.print(_flag_line(flag))
    console.print()


def _print_hanging(label: str, text: Text, console: Console, *, width: int = 8) -> None:
    """A label and the text beside it; on a terminal its further lines are indented, elsewhere it is one line."""
    if not console.is_terminal:
        console.print(Text.assemble(label.ljust(width), text), soft_wrap=True)
        return
    for number, line in enumerate(text.wrap(console, max(console.width - width, _NARROWEST))):
        console.print(Text.assemble((("" if number else label).ljust(width), "dim"), line))


def _name_width(shown: Explanation) -> int:
    return max((len(shown.name(turn.speaker)) + 2 for turn in shown.turns), default=0) if shown.names else 0


def _side(pieces: Iterable[Piece], kind: str, console: Console) -> Text:
    """One side of the difference: what is the same, and what only this side has."""
    words = [_word(piece, console) for piece in pieces if piece.kind in {"same", kind}]
    return Text(" ").join(words) if words else Text("(nothing)", style="dim italic")


def _word(piece: Piece, console: Console) -> Text:
    if console.is_terminal and not console.no_color:
        return Text(visible(piece.text), style=_STYLES[piece.kind])
    before, after = _MARKS[piece.kind]
    return Text(f"{before}{visible(piece.text)}{after}")


def _flag_line(flag: Flag, prefix: str = "") -> Text:
    return Text.assemble(("  ! ", "bold red"), (prefix + title(flag), "red"), f": {visible(flag.reason)}")


def _reasons(item: ShownFragment) -> list[str]:
    below = ["below threshold"] if item.fragment.below_threshold else []
    return below + [f"{title(flag)} ({visible(flag.reason)})" for flag in item.fragment.flags]
