"""``clearcall replay``: score history again under today's rules."""

import asyncio
from typing import Annotated

import typer

from clearcall.streams.cli.options import KafkaFlag, console, settings_of

app = typer.Typer()


@app.command()
def replay(
    ctx: typer.Context,
    *,
    kafka: KafkaFlag = None,
    mode: Annotated[str | None, typer.Option("--mode", help="paper or strict.", show_default=False)] = None,
    threshold: Annotated[float | None, typer.Option("--threshold", help="0 to 100.", show_default=False)] = None,
    policy: Annotated[str | None, typer.Option("--policy", help="restore or keep.", show_default=False)] = None,
    call: Annotated[str | None, typer.Option("--call", help="Only this call.", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Score, and send nothing.")] = False,
) -> None:
    """Score the kept drafts again with the current rules; asks no model.

    New evaluations and cleaned chunks go to their topics; the rows they make take the place of the old ones.

    Example: [bold]clearcall replay --threshold 85[/]
    """
    from clearcall.streams.replay import rescore  # noqa: PLC0415 - needs the worker extra

    settings = settings_of(ctx, kafka=kafka, mode=mode, threshold=threshold, policy=policy)
    done = asyncio.run(rescore(settings, call=call, dry_run=dry_run))
    verb = "would be sent" if dry_run else "sent"
    console().print(f"{done.drafts} drafts read, {done.superseded} not needed, {done.unreadable} unreadable")
    console().print(f"{done.evaluations} evaluations and {sum(done.statuses.values())} cleaned chunks {verb}")
    for status, chunks in sorted(done.statuses.items()):
        console().print(f"  {status}: {chunks}")
