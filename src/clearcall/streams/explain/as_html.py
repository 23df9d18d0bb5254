"""An explanation as one HTML page with nothing outside it, light or dark as the reader's system is."""

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from clearcall import __version__
from clearcall.scoring import Flag
from clearcall.streams.explain.diff import Piece, visible
from clearcall.streams.explain.explanation import Explanation, ShownFragment, ShownTurn, title

_TAGS = {"same": "", "removed": "del", "added": "ins"}


def to_html(shown: Explanation) -> str:
    """The whole page."""
    flagged = shown.evaluation.flagged
    return _template().substitute(
        title="Flagged: what was said and what was written" if flagged else "Faithful: what was said and written",
        headline="What was said, what was written",
        pill=_pill("flagged" if flagged else "faithful", good=not flagged),
        settings=_settings(shown),
        tiles=_tiles(shown),
        flags=_flags(shown.evaluation.flags),
        turns=_turns(shown),
        fragments=_section("Fragments", (_fragment(shown, item) for item in shown.fragments)),
        version=_text(__version__),
    )


@cache
def _template() -> Template:
    return Template((files("clearcall.streams.explain") / "page.html").read_text("utf-8"))


def _settings(shown: Explanation) -> str:
    rules = shown.rules
    how = "Algorithm 1 alone" if rules.mode == "paper" else "similarity of the normalised texts, and guards"
    return _text(
        f"Mode {rules.mode}: {how}. Fragments of {rules.words} words overlapping by {rules.overlap}, "
        f"flagged below {rules.threshold:g}."
    )


def _tiles(shown: Explanation) -> str:
    tiles = {
        "fragments": str(len(shown.fragments)),
        "flagged": str(shown.flagged_count),
        "mean similarity": _number(shown.mean),
        "lowest similarity": _number(shown.lowest),
    }
    return "".join(f'<div class="tile"><dt>{name}</dt><dd>{value}</dd></div>' for name, value in tiles.items())


def _turns(shown: Explanation) -> str:
    if not shown.turns:
        return ""
    turns = "".join(_turn(shown, turn) for turn in shown.turns)
    return f'<section><h2>Difference</h2><div class="card turns">{turns}</div></section>'


def _turn(shown: Explanation, turn: ShownTurn) -> str:
    text = f'<div class="said-wrote" dir="auto">{_pieces(turn.difference)}</div>'
    if not shown.names:
        return f'<div class="turn alone">{text}</div>'
    return f'<div class="turn"><div class="who">{_text(shown.name(turn.speaker))}</div>{text}</div>'


def _fragment(shown: Explanation, item: ShownFragment) -> str:
    fragment = item.fragment
    state = "bad" if fragment.flagged else "good"
    below = [Flag("similarity", f"{fragment.score:.1f} is below {shown.rules.threshold:g}")]
    flags = (below if fragment.below_threshold else []) + list(fragment.flags)
    who = f'<span class="quiet">{_text(shown.name(fragment.speaker))}</span>' if shown.names else ""
    return (
        f'<article class="card {state}"><div class="head"><span class="number">{item.number}</span>{who}'
        f"{_pill('flagged' if fragment.flagged else 'ok', good=not fragment.flagged)}"
        f'<span class="quiet small">paper {fragment.paper_score:.1f}</span>'
        f"{_meter(fragment.score, shown.rules.threshold)}</div>"
        f'<dl class="pair"><dt>said</dt><dd dir="auto">{_side(item.difference, "removed")}</dd>'
        f'<dt>wrote</dt><dd dir="auto">{_wrote(item)}</dd></dl>{_flags(flags)}</article>'
    )


def _meter(score: float, threshold: float) -> str:
    return (
        f'<span class="meter"><span class="track"><span class="fill" style="display:block;width:{score:.1f}%"></span>'
        f'<span class="limit" style="left:{threshold:.1f}%" title="threshold {threshold:g}"></span></span>'
        f'<span class="score">{score:.1f}</span></span>'
    )


def _wrote(item: ShownFragment) -> str:
    """The fragment with what the guards point at underlined, or with what was added where they point at nothing."""
    if not item.marked:
        return _side(item.difference, "added")
    text, html, at = item.fragment.text, [], 0
    for start, end in item.marked:
        if start < at:
            continue
        html += [_text(text[at:start]), f"<mark>{_text(text[start:end])}</mark>"]
        at = end
    return "".join([*html, _text(text[at:])])


def _side(pieces: Iterable[Piece], kind: str) -> str:
    return _pieces(piece for piece in pieces if piece.kind in {"same", kind}) or '<span class="quiet">(nothing)</span>'


def _pieces(pieces: Iterable[Piece]) -> str:
    return " ".join(_tagged(_TAGS[piece.kind], piece.text) for piece in pieces)


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{_text(text)}</{tag}>" if tag else _text(text)


def _flags(flags: Iterable[Flag]) -> str:
    lines = [f'<li><b>{_text(title(flag))}</b> <span dir="auto">{_text(flag.reason)}</span></li>' for flag in flags]
    return f'<ul class="flags">{"".join(lines)}</ul>' if lines else ""


def _section(title: str, cards: Iterable[str]) -> str:
    found = "".join(cards) or '<p class="quiet">The cleaned text is empty: there is nothing to score.</p>'
    return f"<section><h2>{title}</h2>{found}</section>"


def _pill(text: str, *, good: bool) -> str:
    return f'<span class="pill {"good" if good else "bad"}">{text}</span>'


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"  # noqa: RUF001 - an en dash is how a table says "none"


def _text(text: str) -> str:
    return escape(visible(text), quote=True)
