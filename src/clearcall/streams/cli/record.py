"""``clearcall record``: keep a real model's answers, for the recorded consultant."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from clearcall.schemas import Chunk, DecodeError, decode
from clearcall.streams.cli.options import ModelFlag, UrlFlag, console, settings_of

app = typer.Typer()


@app.command()
def record(
    ctx: typer.Context,
    out: Annotated[Path, typer.Argument(help="The recording to write.", show_default=False)],
    *,
    quantisation: Annotated[
        str, typer.Option("--quantisation", help="For the recording's label: a server does not tell it.")
    ],
    file: Annotated[
        Path | None, typer.Option("--calls", help="Calls, one JSON object a line; else the sample calls.")
    ] = None,
    url: UrlFlag = None,
    model: ModelFlag = None,
    extend: Annotated[
        bool, typer.Option("--extend", help="Keep the answers that OUT has, ask only for those it lacks.")
    ] = False,
) -> None:
    """Ask a model server for every answer, initial and corrections, and keep them in OUT.

    The real consultant and evaluator run over whole calls without Kafka. What is kept can be replayed with
    --consultant recorded and the setting recording, whatever the batching.

    Example:
    [bold]clearcall record out/recording.jsonl --url http://127.0.0.1:8001/v1 --model qwen1.5b --quantisation bf16[/]
    """
    from clearcall.agents.consultant.preflight import require_ready  # noqa: PLC0415 - with the command
    from clearcall.agents.consultant.record import record as make  # noqa: PLC0415 - with the command
    from clearcall.agents.consultant.recording import UnreadableRecording  # noqa: PLC0415 - as above
    from clearcall.agents.protocol import Unavailable  # noqa: PLC0415 - as above
    from clearcall.infra.logging import configure  # noqa: PLC0415 - as above
    from clearcall.streams.calls import CallFileError  # noqa: PLC0415 - as above
    from clearcall.streams.cli.errors import USAGE, Stop  # noqa: PLC0415 - as above

    settings = settings_of(ctx, consultant="openai", urls=url or None, model=model)
    require_ready(settings)
    configure(settings)
    try:
        calls = _samples() if file is None else _read(file)
        loop = asyncio.run(make(settings, calls, out, quantisation=quantisation, extend=extend))
    except (CallFileError, DecodeError) as error:
        raise Stop(str(error), "one call a line: clearcall run --help shows its shape", USAGE) from error
    except UnreadableRecording as error:
        raise Stop(str(error), "record anew without --extend", USAGE) from error
    except Unavailable as error:
        raise Stop(str(error), "check --url; clearcall record … --extend goes on from what is kept") from error
    for rate in loop.rates():
        console().print(f"iteration {rate.iteration}: {rate.flagged} of {rate.fragments} fragments flagged")


def _read(file: Path) -> list[list[Chunk]]:
    from clearcall.streams.calls import read_calls  # noqa: PLC0415 - with the command

    calls: dict[str, list[Chunk]] = {}
    for raw in read_calls(file):
        chunk = decode(Chunk, raw.value)
        calls.setdefault(chunk.call_id, []).append(chunk)
    return list(calls.values())


def _samples() -> list[list[Chunk]]:
    from clearcall.samples import load_calls  # noqa: PLC0415 - with the command

    return [[sample.chunk for sample in call.chunks] for call in load_calls()]
