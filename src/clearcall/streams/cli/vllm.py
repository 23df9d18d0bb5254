"""``clearcall vllm``: how to serve a model."""

from typing import Annotated

import typer

from clearcall.infra.vllm import CannotServe, GpuName, Load, Speculation, serve_command
from clearcall.streams.cli.errors import USAGE, Stop

app = typer.Typer(help="Serving a model with vLLM.", no_args_is_help=True)


@app.callback()
def _vllm() -> None:
    """Serving a model with vLLM."""


@app.command()
def command(
    *,
    gpu: Annotated[GpuName, typer.Option("--gpu", help="What it runs on.", show_default=False)],
    model: Annotated[str, typer.Option("--model", help="Name on the hub, or a path.", show_default=False)],
    gpus: Annotated[int, typer.Option("--gpus", min=1, help="How many share the model.")] = 1,
    parameters: Annotated[
        float | None,
        typer.Option("--parameters", min=0.01, help="Billions, where the name does not tell.", show_default=False),
    ] = None,
    load: Annotated[Load, typer.Option("--load", help="What is usual.")] = Load.HIGH,
    speculation: Annotated[Speculation, typer.Option("--speculation", help="Of tokens.")] = Speculation.AUTO,
    shared_memory: Annotated[
        bool, typer.Option("--shared-memory", help="One call's tokens may be kept to guess another's.")
    ] = False,
    tool_parser: Annotated[
        str, typer.Option("--tool-parser", help="Of tool calls, for the evaluator agent: hermes for Qwen.")
    ] = "",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="Where it listens.")] = 8000,
) -> None:
    """Print the vllm serve command for a GPU, with the reason for each flag; the output is a shell script.

    Examples:
    [bold]clearcall vllm command --gpu l4 --model Qwen/Qwen2.5-7B-Instruct[/]

    [bold]clearcall vllm command --gpu l4 --model Qwen/Qwen2.5-1.5B-Instruct --tool-parser hermes --port 8001[/]
    """
    try:
        made = serve_command(
            gpu,
            model,
            gpus=gpus,
            billions=parameters,
            load=load,
            speculation=speculation,
            shared_memory=shared_memory,
            tool_parser=tool_parser,
            port=port,
        )
    except CannotServe as error:
        raise Stop(str(error), error.todo, USAGE) from error
    typer.echo(made.script())
