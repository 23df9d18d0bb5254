"""``clearcall doctor``: is everything there that the pipeline needs."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.markup import escape
from rich.table import Table

from clearcall.streams.cli.errors import FAILED
from clearcall.streams.cli.options import ConsultantFlag, DbFlag, KafkaFlag, ModelFlag, UrlFlag, console, settings_of

if TYPE_CHECKING:
    from clearcall.streams.doctor import Finding

app = typer.Typer()

_PART_WIDTH = 15
"""Of "evaluator agent"; a consultant's name may make it more."""

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@app.command()
def doctor(
    ctx: typer.Context,
    *,
    kafka: KafkaFlag = None,
    db: DbFlag = None,
    consultant: ConsultantFlag = None,
    url: UrlFlag = None,
    model: ModelFlag = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check Kafka, its topics, ClickHouse, its migrations and the model servers, and say what to do.

    Exit code 1 where a check fails.

    Example: [bold]clearcall doctor --kafka localhost:9092 --url http://localhost:8000/v1[/]
    """
    settings = settings_of(
        ctx, kafka=kafka, db=db, consultant=consultant and consultant.value, urls=url or None, model=model
    )
    from clearcall.streams.doctor import State, examine  # noqa: PLC0415 - loads the database client

    if as_json:
        findings = asyncio.run(examine(settings))
        typer.echo(orjson.dumps([asdict(finding) for finding in findings], option=orjson.OPT_INDENT_2).decode())
    else:
        findings = asyncio.run(examine(settings, _show))
    if any(finding.state is State.FAIL for finding in findings):
        raise typer.Exit(FAILED)


def _show(findings: "list[Finding]") -> None:
    """What one check found, as soon as it is known."""
    if not findings:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=len("fail"))
    table.add_column(min_width=_PART_WIDTH)
    for finding in findings:
        state = f"[{_STYLES[finding.state]}]{finding.state}[/]"
        table.add_row(state, finding.part, escape(finding.what))
        if finding.todo:
            table.add_row("", "", f"[bold]do:[/] {escape(finding.todo)}")
    console().print(table)
