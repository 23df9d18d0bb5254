"""``clearcall demo``: the sample calls through the whole pipeline, with a real model's recorded answers."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from clearcall.streams.cli.options import settings_of

app = typer.Typer()

_FOLDER = Path("out/demo")


@app.command()
def demo(
    ctx: typer.Context,
    *,
    apache: Annotated[
        bool, typer.Option("--apache", help="On Apache Kafka (needs Java and Maven) instead of the small broker.")
    ] = False,
) -> None:
    """See the correction loop work on sample calls: no GPU, no Docker, nothing to set up.

    A Kafka-protocol broker and an embedded ClickHouse are started for it and stopped at its end; the consultant's
    answers were recorded from a real model, hallucinations included. The database stays in ./out/demo and is made
    anew by the next demo.

    Examples:
    [bold]clearcall demo[/]

    [bold]clearcall report --db chdb://./out/demo/db[/]
    """
    from clearcall.agents.consultant.recording import read  # noqa: PLC0415 - with the command
    from clearcall.samples import load_calls  # noqa: PLC0415 - as above
    from clearcall.schemas import encode  # noqa: PLC0415 - as above
    from clearcall.streams.calls import RawChunk  # noqa: PLC0415 - as above
    from clearcall.streams.cli.options import console  # noqa: PLC0415 - as above
    from clearcall.streams.cli.session import clean_and_report  # noqa: PLC0415 - loads Faust

    calls = load_calls()
    chunks = [
        RawChunk(call.call_id, encode(sample.chunk), sample.chunk.message_id)
        for call in calls
        for sample in call.chunks
    ]
    shutil.rmtree(_FOLDER, ignore_errors=True)
    with as_file(files("clearcall.samples") / "recording.jsonl") as recording:
        header, _ = read(recording)
        console().print(
            f"{len(calls)} sample calls, {len(chunks)} chunks. The consultant's answers were recorded from "
            f"{header.model} ({header.server}, {header.quantisation}, {header.decoding}) on {header.recorded_at[:10]}.",
            soft_wrap=True,
        )
        settings = settings_of(ctx, consultant="recorded", recording=recording, db=f"chdb://./{_FOLDER}/db")
        if "log_level" not in settings.model_fields_set:
            settings = settings.model_copy(update={"log_level": "warning"})
        dead = clean_and_report(settings, chunks, broker="kafka" if apache else "tansu")
    raise typer.Exit(1 if dead else 0)
