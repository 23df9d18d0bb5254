"""``clearcall topics``: create and list."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.table import Table

from clearcall.streams.cli.errors import FAILED
from clearcall.streams.cli.options import KafkaFlag, console, settings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearcall.streams.topics import TopicState

app = typer.Typer(help="Create and list the topics.", no_args_is_help=True)

PartitionsFlag = Annotated[
    int | None, typer.Option("--partitions", min=1, help="Partitions of every topic.", show_default=False)
]
ReplicationFlag = Annotated[
    int | None, typer.Option("--replication", min=1, help="Replicas of every topic.", show_default=False)
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def create(
    ctx: typer.Context,
    *,
    kafka: KafkaFlag = None,
    partitions: PartitionsFlag = None,
    replication: ReplicationFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Create the topics that are missing; what exists is left as it is.

    Exit code 1 where a topic exists with another number of partitions than the settings say.

    Example: [bold]clearcall topics create --partitions 12 --replication 3[/]
    """
    from clearcall.streams.topics import create_topics  # noqa: PLC0415 - loads the Kafka client

    settings = settings_of(ctx, kafka=kafka, partitions=partitions, replication=replication)
    _show(asyncio.run(create_topics(settings)), as_json=as_json)


@app.command(name="list")
def list_(ctx: typer.Context, *, kafka: KafkaFlag = None, as_json: JsonFlag = False) -> None:
    """List the topics with their partitions and replicas.

    Exit code 1 where one is missing or has another number of partitions than the settings say.

    Example: [bold]clearcall topics list --kafka localhost:9092[/]
    """
    from clearcall.streams.topics import list_topics  # noqa: PLC0415 - loads the Kafka client

    _show(asyncio.run(list_topics(settings_of(ctx, kafka=kafka))), as_json=as_json)


def _show(states: "Sequence[TopicState]", *, as_json: bool) -> None:
    if as_json:
        found = {
            state.name: {
                "partitions": state.partitions,
                "replication": state.replication,
                "matches": state.matches,
                "created": state.created,
            }
            for state in states
        }
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        table = Table("topic", "partitions", "replicas", "", box=None, pad_edge=False, header_style="bold")
        for state in states:
            table.add_row(state.name, _count(state.partitions), _count(state.replication), _remark(state))
        console().print(table)
    if not all(state.matches for state in states):
        raise typer.Exit(FAILED)


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _remark(state: "TopicState") -> str:
    if state.partitions is None:
        return "[red]missing: clearcall topics create[/]"
    if not state.matches:
        return "[red]not as many partitions as the settings say[/]"
    return "[green]created[/]" if state.created else ""
