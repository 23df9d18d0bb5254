"""``clearcall db``: migrate, status and query."""

from datetime import UTC, datetime
from typing import Annotated

import orjson
import typer

from clearcall.streams.cli.options import DbFlag, console, settings_of

app = typer.Typer(help="Prepare the performance database, and ask it.", no_args_is_help=True)


@app.command()
def migrate(ctx: typer.Context, db: DbFlag = None) -> None:
    """Create the database and apply the migrations that are pending.

    Example: [bold]clearcall db migrate --db http://localhost:8123/clearcall[/]
    """
    from clearcall.infra import clickhouse  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - as above

    with opened(settings_of(ctx, db=db), migrated=False) as database:
        applied = clickhouse.migrate(database)
        for migration in applied:
            console().print(f"applied {migration.number:04} {migration.name}")
        console().print(f"{database.address} is up to date")


@app.command()
def status(ctx: typer.Context, db: DbFlag = None) -> None:
    """List the migrations; exit code 1 where one is pending.

    Example: [bold]clearcall db status --db chdb://./out/db[/]
    """
    from clearcall.infra import clickhouse  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - as above

    with opened(settings_of(ctx, db=db), migrated=False) as database:
        states = clickhouse.status(database)
    for state in states:
        console().print(f"{state.number:04} {state.name}  {_when(state.applied_at)}")
    if any(state.applied_at is None for state in states):
        raise typer.Exit(1)


@app.command()
def query(
    ctx: typer.Context,
    sql: Annotated[str, typer.Argument(help="One statement of ClickHouse's SQL.")],
    db: DbFlag = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a row, for programs.")] = False,
) -> None:
    """Ask the database in SQL; the embedded one has no other client.

    Example: [bold]clearcall db query "SELECT status, count() FROM cleaned_current GROUP BY status"[/]
    """
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.report_view import render_rows  # noqa: PLC0415 - as above

    with opened(settings_of(ctx, db=db)) as database:
        rows = database.rows(sql)
    if not as_json:
        render_rows(console(), rows)
        return
    for row in rows:
        typer.echo(orjson.dumps(row, default=str).decode())


def _when(applied_at: float | None) -> str:
    if applied_at is None:
        return "pending: clearcall db migrate"
    return f"applied {datetime.fromtimestamp(applied_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
