"""``clearcall topics``: create and list."""

import typer

app = typer.Typer(help="Create and list the topics.", no_args_is_help=True)
