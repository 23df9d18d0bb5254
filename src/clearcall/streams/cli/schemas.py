"""``clearcall schemas``: the JSON Schema of every topic."""

from pathlib import Path
from typing import Annotated

import typer

from clearcall.schemas.export import write_schemas

app = typer.Typer(help="The messages' JSON Schema.", no_args_is_help=True)


@app.callback()
def _group() -> None: ...


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; made where it is missing.")] = Path("schemas"),
) -> None:
    """Write the JSON Schema of every topic's messages, one file per topic.

    Example: [bold]clearcall schemas export --out schemas[/bold]
    """
    for path in write_schemas(out):
        typer.echo(path)
