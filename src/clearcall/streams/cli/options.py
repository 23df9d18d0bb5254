"""What the commands share: settings from the global options, flags of the same meaning, the console."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from clearcall.infra.settings import BadSettings, Settings, load

KafkaFlag = Annotated[str | None, typer.Option("--kafka", help="Bootstrap servers, host:port.", show_default=False)]
DbFlag = Annotated[
    str | None, typer.Option("--db", help="http(s)://host:port/database or chdb://path.", show_default=False)
]


class Backend(StrEnum):
    """Who cleans."""

    OPENAI = "openai"
    VLLM = "vllm"
    RULES = "rules"
    RECORDED = "recorded"


ConsultantFlag = Annotated[Backend | None, typer.Option("--consultant", help="Who cleans.", show_default=False)]
UrlFlag = Annotated[
    list[str] | None,
    typer.Option("--url", help="OpenAI-compatible URL, as http://host:8000/v1; once for each.", show_default=False),
]
ModelFlag = Annotated[
    str | None,
    typer.Option("--model", help="As the server names it; without it the server is asked.", show_default=False),
]


_PLAIN_WIDTH = 160

_SHORTER = {
    "--fragment-words": "--words",
    "--fragment-overlap": "--overlap",
    "--urls": "--url",
    "--decoding": "--modes",
    "--evaluator-agent-urls": "--url",
    "--evaluator-agent-model": "--model",
}
"""Flags that are not called as the settings that they set."""


@dataclass(frozen=True, slots=True)
class Globals:
    """The options before the command's name."""

    config: Path | None = None
    debug: bool = False


def settings_of(ctx: typer.Context, **flags: Any) -> Settings:
    """The settings of this run: environment, then ``--config``, then those ``flags`` that are not ``None``.

    Raises:
        BadSettings: with one line per problem.
    """
    try:
        return load(globals_of(ctx).config, **flags)
    except BadSettings as error:
        raise BadSettings(map(_as_called, error.problems)) from error


def _as_called(problem: str) -> str:
    what, origin, flag = problem.rpartition(", from flag ")
    return f"{what}{origin}{_SHORTER.get(flag, flag)}"


def globals_of(ctx: typer.Context) -> Globals:
    """The options before the command's name; the defaults where a command runs without the root."""
    found = ctx.find_root().obj
    return found if isinstance(found, Globals) else Globals()


def console() -> Console:
    """The console for results, on stdout; plain, and wide enough for tables, where stdout is no terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)
