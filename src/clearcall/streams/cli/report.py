"""``clearcall report``: the paper's Tables 1 to 5 and the worst fragments, from the performance database."""

from dataclasses import asdict
from typing import Annotated

import orjson
import typer

from clearcall.streams.cli.options import DbFlag, console, settings_of

app = typer.Typer()

CallFlag = Annotated[str | None, typer.Option("--call", help="Only this call.", show_default=False)]


@app.command()
def report(
    ctx: typer.Context,
    db: DbFlag = None,
    call: CallFlag = None,
    worst: Annotated[int, typer.Option("--worst", min=0, max=1000, help="How many of the worst fragments.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """Rates, similarities and the worst fragments, by the paper's names.

    Exit codes: 0 done, 1 failed or no such --call, 2 used wrongly.

    Example: [bold]clearcall report --db chdb://./out/db --worst 10[/]
    """
    from clearcall.infra.clickhouse import report as reading  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - as above
    from clearcall.streams.cli.errors import Stop  # noqa: PLC0415 - as above
    from clearcall.streams.cli.report_view import (  # noqa: PLC0415 - as above
        render_matrix,
        render_statuses,
        render_tables,
        render_worst,
    )

    with opened(settings_of(ctx, db=db)) as database:
        summary, tables = reading.summary_and_tables(database, call, worst)
    if call is not None and not summary.chunks and not summary.fragments:
        raise Stop(f"no call {call} in the database", "clearcall report without --call says how many there are")
    if as_json:
        found = {"summary": asdict(summary), **tables}
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    render_statuses(console(), summary)
    render_matrix(console(), summary)
    render_tables(console(), tables)
    render_worst(console(), summary)
