"""``clearcall worker``: one stage of the pipeline, or all of them in one process."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from clearcall.streams.cli.options import ConsultantFlag, DbFlag, KafkaFlag, ModelFlag, UrlFlag, settings_of

app = typer.Typer()


class StageName(StrEnum):
    """What a worker can run."""

    CONSULTANT = "consultant"
    EVALUATOR = "evaluator"
    SINK = "sink"
    SHADOW = "shadow"
    EVALUATOR_AGENT = "evaluator-agent"
    ALL = "all"


_ASKING = {StageName.CONSULTANT, StageName.SHADOW, StageName.ALL}
"""Those that read prompts and recordings; another stage's machine need not have the files."""


@app.command()
def worker(
    ctx: typer.Context,
    *,
    stage: Annotated[list[StageName], typer.Option("--stage", help="What to run; may be given several times.")],
    kafka: KafkaFlag = None,
    db: DbFlag = None,
    consultant: ConsultantFlag = None,
    url: UrlFlag = None,
    model: ModelFlag = None,
) -> None:
    """Run a stage until SIGTERM or Ctrl-C; work in flight is finished first.

    Exit codes: 0 after a signal, 1 where a stage failed, 3 where the watchdog ended a stalled stage, 4 where stopping
    took too long, 5 where so much failed that a fault of this version is likely. Start it again after all but 0; after
    5 look first, and start the version before. No message is lost.

    Examples:
    [bold]clearcall worker --stage consultant --url http://gpu:8000/v1[/]

    [bold]clearcall worker --stage all --consultant rules --db chdb://./out/db[/]
    """
    settings = settings_of(
        ctx, kafka=kafka, db=db, consultant=consultant and consultant.value, urls=url or None, model=model
    )
    from clearcall.agents.consultant.preflight import require_ready  # noqa: PLC0415 - with the worker
    from clearcall.infra.logging import configure  # noqa: PLC0415 - so that errors above print plainly
    from clearcall.infra.uncaught import into_events  # noqa: PLC0415 - the same
    from clearcall.streams.worker import run_worker  # noqa: PLC0415 - loads Faust

    if set(stage) & _ASKING:
        require_ready(settings)
    configure(settings)
    if not ctx.obj.debug:
        into_events()
    raise typer.Exit(asyncio.run(run_worker([name.value for name in stage], settings)))
