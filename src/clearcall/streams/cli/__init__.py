"""The command line. Exit codes: 0 done, 1 failed, 2 used wrongly, 130 interrupted.

One file per command or group of commands; modules here import heavy libraries (Faust, aiokafka, ClickHouse) only
inside their commands, so that ``clearcall --help`` is quick and ``clearcall score`` needs the base install alone.
"""

import logging
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from clearcall import __version__
from clearcall.streams.cli import (
    bench,
    config,
    db,
    dead_letters,
    demo,
    doctor,
    explain,
    prompt,
    record,
    replay,
    report,
    run,
    schemas,
    topics,
    vllm,
    worker,
)
from clearcall.streams.cli.errors import CommandGroup
from clearcall.streams.cli.options import Globals

app = typer.Typer(
    name="clearcall",
    cls=CommandGroup,
    help="Cleans live call transcripts without changing what was said.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clearcall {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    config_file: Annotated[
        Path | None,
        typer.Option("--config", envvar="CLEARCALL_CONFIG", help="TOML file of settings.", show_default=False),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    ctx.obj = Globals(config_file, debug)
    if not debug:
        for library in ("aiokafka", "kafka", "clickhouse_connect"):  # what they log, a command says in its own words
            logging.getLogger(library).setLevel(logging.CRITICAL)


app.add_typer(demo.app)
app.add_typer(run.app)
app.add_typer(worker.app)
app.add_typer(topics.app, name="topics")
app.add_typer(db.app, name="db")
app.add_typer(doctor.app)
app.add_typer(report.app)
app.add_typer(record.app)
app.add_typer(replay.app)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(explain.app)
app.add_typer(bench.app, name="bench")
app.add_typer(vllm.app, name="vllm")
app.add_typer(prompt.app, name="prompt")
app.add_typer(schemas.app, name="schemas")
app.add_typer(config.app, name="config")


def main() -> None:
    """The ``clearcall`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks is no error
    app()
