"""``clearcall explain`` and ``clearcall score``: two texts, no Kafka, no database."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from clearcall.agents.evaluator import rules_of
from clearcall.scoring import Rules
from clearcall.streams.cli.errors import FAILED, USAGE, Stop
from clearcall.streams.cli.options import console, settings_of
from clearcall.streams.explain import BadInput, Explanation, explain_texts, read_transcripts
from clearcall.streams.explain.as_html import to_html
from clearcall.streams.explain.as_json import to_json
from clearcall.streams.explain.as_text import print_explanation, print_scores

app = typer.Typer()


class Format(StrEnum):
    """How an explanation is written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class ScoringMode(StrEnum):
    """The two ways of scoring."""

    STRICT = "strict"
    PAPER = "paper"


SourceArg = Annotated[str, typer.Argument(help="What was said: a file, - for standard input, or the text itself.")]
CleanedArg = Annotated[str, typer.Argument(help="What was written, in the same ways.")]
ModeFlag = Annotated[
    ScoringMode | None,
    typer.Option("--mode", help="strict, or paper: Algorithm 1 alone.", show_default=False),
]
ThresholdFlag = Annotated[
    float | None, typer.Option("--threshold", help="Similarity below it is flagged, 0 to 100.", show_default=False)
]
WordsFlag = Annotated[int | None, typer.Option("--words", help="Most words of a fragment.", show_default=False)]
OverlapFlag = Annotated[
    int | None, typer.Option("--overlap", help="Words that neighbouring fragments share.", show_default=False)
]
CheckFlag = Annotated[bool, typer.Option("--check", help="Exit 1 if anything is flagged.")]


@app.command()
def explain(
    ctx: typer.Context,
    source: SourceArg,
    cleaned: CleanedArg,
    *,
    form: Annotated[Format, typer.Option("--format", help="How to show it.")] = Format.TEXT,
    out: Annotated[Path | None, typer.Option("--out", help="File to write to instead.", show_default=False)] = None,
    mode: ModeFlag = None,
    threshold: ThresholdFlag = None,
    words: WordsFlag = None,
    overlap: OverlapFlag = None,
    check: CheckFlag = False,
) -> None:
    """Show how a cleaned text was scored against what was said: fragments, best windows, guards, differences.

    A text whose first line begins with [bold]0:[/], [bold]agent:[/] or [bold]caller:[/] has several turns.

    Examples:
    [bold]clearcall explain "um it costs one forty" "It costs 104."[/]

    [bold]clearcall explain said.txt cleaned.txt --format html --out page.html[/]
    """
    shown = _explained(source, cleaned, _rules(ctx, mode, threshold, words, overlap))
    if out is not None:
        with out.open("w", encoding="utf-8", errors="replace") as file:
            _write(shown, form, Console(file=file, highlight=False))
        typer.echo(out)
    else:
        _write(shown, form, console())
    if check and shown.evaluation.flagged:
        raise typer.Exit(FAILED)


@app.command()
def score(
    ctx: typer.Context,
    source: SourceArg,
    cleaned: CleanedArg,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    mode: ModeFlag = None,
    threshold: ThresholdFlag = None,
    words: WordsFlag = None,
    overlap: OverlapFlag = None,
    check: CheckFlag = False,
) -> None:
    """Score a cleaned text against what was said, one line for each fragment.

    Example: [bold]clearcall score said.txt cleaned.txt --check[/]
    """
    shown = _explained(source, cleaned, _rules(ctx, mode, threshold, words, overlap))
    if as_json:
        console().out(to_json(shown))
    else:
        print_scores(shown, console())
    if check and shown.evaluation.flagged:
        raise typer.Exit(FAILED)


def _rules(
    ctx: typer.Context, mode: ScoringMode | None, threshold: float | None, words: int | None, overlap: int | None
) -> Rules:
    settings = settings_of(
        ctx, mode=mode and mode.value, threshold=threshold, fragment_words=words, fragment_overlap=overlap
    )
    return rules_of(settings)


def _explained(source: str, cleaned: str, rules: Rules) -> Explanation:
    try:
        said, wrote = read_transcripts(source, cleaned)
    except BadInput as error:
        raise Stop(str(error), error.todo, USAGE) from error
    return explain_texts(said, wrote, rules)


def _write(shown: Explanation, form: Format, to: Console) -> None:
    if form is Format.TEXT:
        print_explanation(shown, to)
    else:
        to.out(to_json(shown) if form is Format.JSON else to_html(shown))
