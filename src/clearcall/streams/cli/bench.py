"""``clearcall bench``: benchmarks of the scoring and of a model on data of one's own."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from clearcall import __version__
from clearcall.infra.logging import configure
from clearcall.streams.cli.errors import USAGE, Stop
from clearcall.streams.cli.options import ModelFlag, UrlFlag, settings_of

_MODES = "free,constrained,project"

app = typer.Typer(help="Benchmarks of the scoring and of a model.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Benchmarks of the scoring and of a model."""


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
    _write(bench.render(result, __version__, datetime.now(tz=UTC).date()), out)


@app.command("consultant")
def consultant(
    ctx: typer.Context,
    data: Annotated[Path, typer.Argument(help="Folder with calls_dev.jsonl.")] = Path("../shared/data/calls"),
    *,
    url: UrlFlag = None,
    model: ModelFlag = None,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Most turns in each mode.")] = 300,
    modes: Annotated[str, typer.Option("--modes", help="Of decoding, separated by commas.")] = _MODES,
    load_turns: Annotated[
        int, typer.Option("--load-turns", min=0, help="Requests for the speed at 32 in flight; 0 leaves it out.")
    ] = 64,
    load_modes: Annotated[
        str, typer.Option("--load-modes", help="Of --modes, those whose speed is measured; none named, all.")
    ] = "",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns of each side where speeds are measured.")] = 4,
    shapes: Annotated[
        str, typer.Option("--shapes", help="Of requests, to compare: window,chunk. Empty leaves it out.")
    ] = "",
    stretches: Annotated[int, typer.Option("--stretches", min=1, help="Of calls, for the shapes.")] = 24,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Keeps answers: a run broken off goes on.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File to write to instead.", show_default=False)] = None,
) -> None:
    """What a model makes of real turns in each decoding mode, and how fast, beside the bare server.

    Examples:
      clearcall bench consultant --url http://localhost:8000/v1 --turns 300
      clearcall bench consultant --modes free,project --out docs/benchmarks/consultant.md
      clearcall bench consultant --modes "" --shapes window,chunk
    """
    import httpx  # noqa: PLC0415 - only this command needs it

    from clearcall.agents.consultant import bench  # noqa: PLC0415 - only this command needs it
    from clearcall.agents.protocol import Unavailable  # noqa: PLC0415 - only this command needs it

    settings = settings_of(ctx, urls=url or None, model=model)
    names, shaped = _names(modes), _names(shapes)
    for name in names:
        settings_of(ctx, decoding=name)  # an unknown one is known before anything starts
    for name in shaped:
        settings_of(ctx, request_shape=name)
    configure(settings)
    run = bench.run(
        settings,
        data,
        names,
        turns=turns,
        load_turns=load_turns,
        load_modes=_names(load_modes),
        rounds=rounds,
        answers=answers,
        shapes=shaped,
        stretches=stretches,
    )
    try:
        result = asyncio.run(run)
    except bench.NoTurns as error:
        raise Stop(str(error), "give the folder that has the calls", USAGE) from error
    except bench.UnreadableAnswers as error:
        raise Stop(str(error), "give another --answers", USAGE) from error
    except (Unavailable, httpx.HTTPError) as error:
        raise Stop(f"the model server: {error}", "check --url; clearcall doctor looks closer") from error
    _write(bench.render(result, __version__, datetime.now(tz=UTC).date()), out)


@app.command("evaluator-agent")
def evaluator_agent(
    ctx: typer.Context,
    data: Annotated[Path, typer.Argument(help="Folder with calls_dev.jsonl.")] = Path("../shared/data/calls"),
    *,
    url: UrlFlag = None,
    model: ModelFlag = None,
    fragments: Annotated[int, typer.Option("--fragments", min=1, help="Most that it is shown.")] = 150,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 1,
    in_flight: Annotated[int, typer.Option("--in-flight", min=1, help="Requests under way together.")] = 8,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=1, help="Most; then what is answered counts.", show_default=False)
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Keeps answers: a run broken off goes on.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File to write to instead.", show_default=False)] = None,
) -> None:
    """How a model distorts real fragments when it calls the scoring function, and which flags that would change.

    The server must take tools: vLLM with --enable-auto-tool-choice --tool-call-parser (hermes for Qwen). Without --url
    it is that of evaluator_agent_urls, else the consultant's.

    Examples:
      clearcall bench evaluator-agent --url http://localhost:8000/v1 --model small
      clearcall bench evaluator-agent --fragments 300 --out docs/benchmarks/evaluator-agent.md
    """
    from clearcall.agents.consultant.backend import ModelError  # noqa: PLC0415 - only this command needs it
    from clearcall.agents.evaluator_agent import bench  # noqa: PLC0415 - only this command needs it
    from clearcall.agents.protocol import Unavailable  # noqa: PLC0415 - only this command needs it
    from clearcall.scoring.bench import NoCalls  # noqa: PLC0415 - only this command needs it

    settings = settings_of(ctx, evaluator_agent_urls=url or None, evaluator_agent_model=model)
    configure(settings)
    try:
        result = asyncio.run(
            bench.run(
                settings,
                data,
                fragments=fragments,
                seed=seed,
                in_flight=in_flight,
                most_seconds=seconds,
                answers=answers,
            )
        )
    except NoCalls as error:
        raise Stop(str(error), "give the folder that has the calls", USAGE) from error
    except ModelError as error:
        raise Stop(
            f"the model server takes no tools: {error} {error.said[:300]}".rstrip(),
            "vLLM needs --enable-auto-tool-choice --tool-call-parser hermes (or the model's own)",
        ) from error
    except Unavailable as error:
        raise Stop(f"the model server: {error}", "check --url; clearcall doctor looks closer") from error
    _write(bench.render(result, __version__, datetime.now(tz=UTC).date()), out)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _write(page: str, out: Path | None) -> None:
    if out is None:
        typer.echo(page)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8")
