"""``clearcall run``: clean a file of calls, on a Kafka of your own or one that is started for it."""

from pathlib import Path
from typing import Annotated

import typer

from clearcall.streams.cli.options import (
    ConsultantFlag,
    DbFlag,
    KafkaFlag,
    ModelFlag,
    UrlFlag,
    settings_of,
)

app = typer.Typer()

DEFAULT_DB = "chdb://./out/db"


@app.command()
def run(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Calls, one JSON object a line.", show_default=False)],
    *,
    consultant: ConsultantFlag = None,
    url: UrlFlag = None,
    model: ModelFlag = None,
    db: DbFlag = None,
    kafka: KafkaFlag = None,
    calls: Annotated[
        int | None, typer.Option("--calls", min=1, help="Only the first calls, and what cannot be read among them.")
    ] = None,
) -> None:
    """Clean the calls of FILE, and keep every text and score in the database.

    Without --kafka (or CLEARCALL_KAFKA) a broker is started for the run: Apache Kafka where Java and Maven are,
    else the small one of the demo extra. Without --db the embedded ClickHouse keeps ./out/db.

    A line is a call, {"call_id": …, "chunks": [{"chunk_id": 0, "speaker": 0, "text": …, "start": …, "end": …}]},
    or one chunk with its call_id. Run it again and the same rows are written again.

    Exit codes: 0 every chunk was cleaned, 1 a chunk ended in the dead letters, is too large for Kafka, or a stage
    failed, 2 used wrongly, 130 interrupted (Ctrl-C or SIGTERM).

    Examples:
    [bold]clearcall run calls.jsonl --consultant rules[/]

    [bold]clearcall run calls.jsonl --url http://127.0.0.1:8000/v1 --model qwen --db chdb://./out/db[/]
    """
    from clearcall.streams.calls import CallFileError, read_calls  # noqa: PLC0415 - with the command
    from clearcall.streams.cli.errors import FAILED, USAGE, Stop  # noqa: PLC0415 - as above
    from clearcall.streams.cli.session import clean_and_report  # noqa: PLC0415 - loads Faust

    settings = settings_of(
        ctx, kafka=kafka, db=db, consultant=consultant and consultant.value, urls=url or None, model=model
    )
    try:
        chunks = read_calls(file, calls)
    except CallFileError as error:
        raise Stop(str(error), "one call a line: clearcall run --help shows its shape", USAGE) from error
    given = settings.model_fields_set
    quiet = {} if "log_level" in given else {"log_level": "warning"}  # the progress is shown instead of events
    home = {} if "db" in given else {"db": DEFAULT_DB}
    settings = settings.model_copy(update=quiet | home)
    dead = clean_and_report(settings, chunks, broker=None if "kafka" in given else "kafka")
    raise typer.Exit(FAILED if dead else 0)
