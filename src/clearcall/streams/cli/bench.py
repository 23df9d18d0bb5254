"""``clearcall bench``: benchmarks of the scoring on data of one's own."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from clearcall import __version__
from clearcall.streams.cli.errors import USAGE, Stop

app = typer.Typer(help="Benchmarks of the scoring.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Benchmarks of the scoring."""


@app.command("faithful-edits")
def faithful_edits(
    data: Annotated[Path, typer.Argument(help="Folder with calls_dev.jsonl and dstc10_dev.jsonl.")] = Path(
        "../shared/data/calls"
    ),
    *,
    seed: Annotated[int, typer.Option("--seed", help="Of every draw.")] = 1,
    most: Annotated[int, typer.Option("--most", min=1, help="Most pairs of one kind.")] = 600,
    out: Annotated[Path | None, typer.Option("--out", help="File to write to instead.", show_default=False)] = None,
) -> None:
    """Recall and false alarms of six ways of scoring, on labelled edits of real calls.

    Examples:
      clearcall bench faithful-edits ../shared/data/calls
      clearcall bench faithful-edits --out docs/benchmarks/faithful-edits.md
    """
    from clearcall.scoring import bench  # noqa: PLC0415 - only this command needs it

    try:
        result = bench.run(data, seed, most)
    except bench.NoCalls as error:
        raise Stop(str(error), "give the folder that has the calls", USAGE) from error
    page = bench.render(result, __version__, datetime.now(tz=UTC).date())
    if out is None:
        typer.echo(page)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8")
