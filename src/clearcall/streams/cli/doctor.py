"""``clearcall doctor``: is everything there that the pipeline needs."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import orjson
import typer
from rich.markup import escape
from rich.table import Table

from clearcall.streams.cli.errors import FAILED
from clearcall.streams.cli.options import ConsultantFlag, DbFlag, KafkaFlag, ModelFlag, UrlFlag, console, settings_of

app = typer.Typer()

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

    findings = asyncio.run(examine(settings))
    if as_json:
        typer.echo(orjson.dumps([asdict(finding) for finding in findings], option=orjson.OPT_INDENT_2).decode())
    else:
        table = Table.grid(padding=(0, 2))
        for finding in findings:
            state = f"[{_STYLES[finding.state]}]{finding.state}[/]"
            table.add_row(state, finding.part, escape(finding.what))
            if finding.todo:
                table.add_row("", "", f"[bold]do:[/] {escape(finding.todo)}")
        console().print(table)
    if any(finding.state is State.FAIL for finding in findings):
        raise typer.Exit(FAILED)
