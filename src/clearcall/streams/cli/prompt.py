"""``clearcall prompt``: the consultant's prompts, as they are sent."""

from typing import Annotated

import typer

from clearcall.streams.cli.errors import USAGE, Stop

app = typer.Typer(help="The consultant's prompts.", no_args_is_help=True)


@app.callback()
def _group() -> None: ...


@app.command("list")
def list_() -> None:
    """Every prompt version that this release has, and what it is used for.

    Example: [bold]clearcall prompt list[/bold]
    """
    from clearcall.agents.consultant import prompt  # noqa: PLC0415 - with the command

    used = {prompt.CLEAN: "initial responses", prompt.CORRECT: "corrections"}
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
