"""``clearcall config``: what is set, and where it came from."""

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clearcall.infra.settings import describe, unknown_in_environment
from clearcall.infra.settings_example import example_toml
from clearcall.streams.cli.options import console, globals_of

app = typer.Typer(help="Show the settings.", no_args_is_help=True)


@app.command()
def show(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print every setting, its value and where it came from. Secrets are masked.

    Example: [bold]clearcall --config clearcall.toml config show[/bold]
    """
    settings = describe(globals_of(ctx).config)
    for line in unknown_in_environment():
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]warning:[/] {escape(line)}")
    if as_json:
        found = {item.name: {"value": item.value, "origin": item.origin} for item in settings}
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="bold")
    for item in settings:
        style = "dim" if item.origin == "default" else ""
        table.add_row(item.name, escape(item.value), escape(item.origin), style=style)
    console().print(table)


@app.command()
def example() -> None:
    """Print a TOML file with every setting, its default and its meaning.

    Example: [bold]clearcall config example > clearcall.toml[/]
    """
    typer.echo(example_toml(), nl=False)
