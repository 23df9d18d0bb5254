"""``clearcall prompt``: the consultant's prompts, as they are sent, and what comes of one."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearcall.streams.cli.errors import USAGE, Stop
from clearcall.streams.cli.options import ModelFlag, UrlFlag, console, settings_of

if TYPE_CHECKING:
    from clearcall.agents.consultant.prompt import Prompt

app = typer.Typer(help="The consultant's prompts.", no_args_is_help=True)


@app.callback()
def _group() -> None: ...


@app.command("list")
def list_() -> None:
    """Every prompt version that this release has, and what it is used for.

    Example: [bold]clearcall prompt list[/bold]
    """
    from clearcall.agents.consultant import prompt  # noqa: PLC0415 - with the command

    used = {
        prompt.CLEAN: "initial responses",
        prompt.CORRECT: "corrections",
        prompt.FORMAT_NUMBERS: "a task of its own: numbers as digits",
    }
    for version in prompt.versions():
        typer.echo(f"{version}  {used.get(version, 'of an earlier release')}")


@app.command()
def show(
    version: Annotated[str, typer.Argument(help="As [bold]clearcall prompt list[/bold] names it.")],
) -> None:
    """A prompt file: its constant opening, then the templates that a request is written into.

    Example: [bold]clearcall prompt show correct-2[/bold]
    """
    from clearcall.agents.consultant import prompt  # noqa: PLC0415 - with the command

    if version not in prompt.versions():
        raise Stop(f"no prompt {version}", f"there are {', '.join(prompt.versions())}", USAGE)
    typer.echo(prompt.text_of(version), nl=False)


class Decoding(StrEnum):
    """How the model is held to what was said."""

    CONSTRAINED = "constrained"
    PROJECT = "project"
    FREE = "free"


@app.command("try")
def try_(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(help="A prompt file, or a version of [bold]clearcall prompt list[/bold].")],
    *,
    lines: Annotated[
        str | None,
        typer.Option("--lines", help="A file of turns, one a line, - for standard input.", show_default=False),
    ] = None,
    calls: Annotated[
        Path | None, typer.Option("--calls", help="A file of calls, as run takes it.", show_default=False)
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Turns at most.")] = 10,
    decoding: Annotated[Decoding | None, typer.Option("--decoding", help="Of answers.", show_default=False)] = None,
    url: UrlFlag = None,
    model: ModelFlag = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the requests, and send nothing.")] = False,
) -> None:
    """Try a prompt on some turns: what the model makes of them, scored, beside what was said.

    Without --lines and --calls it is tried on the samples. A line may begin with who speaks (agent: or caller:). A
    prompt for corrections needs the answer that it corrects: behind the turn, after a tab.

    Examples:
    [bold]clearcall prompt try clean-1 --url http://localhost:8000/v1[/]

    [bold]clearcall prompt show clean-1 > mine.txt; clearcall prompt try mine.txt --calls calls.jsonl --most 20[/]

    [bold]echo "caller: um the part is one forty" | clearcall prompt try mine.txt --lines - --dry-run[/]
    """
    from clearcall.agents.consultant.trial import requests, tried  # noqa: PLC0415 - only this command needs it
    from clearcall.agents.protocol import Unavailable  # noqa: PLC0415 - only this command needs it
    from clearcall.infra.logging import configure  # noqa: PLC0415 - with the command, so that errors print plainly
    from clearcall.streams.cli.prompt_turns import turns_of  # noqa: PLC0415 - only this command needs it
    from clearcall.streams.cli.prompt_view import show_answers, show_requests  # noqa: PLC0415 - the same

    settings = settings_of(ctx, urls=url or None, model=model, decoding=decoding and decoding.value)
    chosen = _prompt(prompt)
    turns = turns_of(lines, calls, most, corrects=bool(chosen.findings.template))
    if dry_run:
        show_requests(console(), asyncio.run(requests(settings, chosen, turns)))
        return
    configure(settings)
    try:
        answers = asyncio.run(tried(settings, chosen, turns))
    except Unavailable as error:
        raise Stop(f"the model server: {error}", "check --url, or see the requests with --dry-run") from error
    show_answers(console(), answers, settings.threshold)


def _prompt(given: str) -> "Prompt":
    from clearcall.agents.consultant import prompt  # noqa: PLC0415 - with the command

    if given in prompt.versions():
        return prompt.load(given)
    path = Path(given)
    if not path.is_file():
        raise Stop(f"no prompt file {given}, and no version of that name", "clearcall prompt list names them", USAGE)
    try:
        return prompt.read_prompt(path.stem, path.read_text(encoding="utf-8"))
    except prompt.UnreadablePrompt as error:
        raise Stop(f"{given} is no prompt: {error}", "clearcall prompt show clean-1 prints one", USAGE) from error
    except UnicodeDecodeError as error:
        raise Stop(f"{given}: not UTF-8 at byte {error.start}", "write it as UTF-8", USAGE) from error
