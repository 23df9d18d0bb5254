"""``clearcall dead-letters``: list, show, replay and drop."""

import asyncio
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.text import Text

from clearcall.streams.cli.errors import USAGE, Stop
from clearcall.streams.cli.options import DbFlag, KafkaFlag, console, settings_of

if TYPE_CHECKING:
    from clearcall.infra.clickhouse import LetterFilter
    from clearcall.infra.settings import Settings
    from clearcall.schemas import DeadLetter

app = typer.Typer(help="Look at what no stage could handle; send it again, or drop it.", no_args_is_help=True)


class Home(StrEnum):
    """Where dead letters are read."""

    DB = "db"
    KAFKA = "kafka"


FromFlag = Annotated[Home, typer.Option("--from", help="Read the database's table, or the topic itself.")]
StageFlag = Annotated[str | None, typer.Option("--stage", help="Only of this stage.", show_default=False)]
ReasonFlag = Annotated[str | None, typer.Option("--reason", help="Only for this reason.", show_default=False)]
TopicFlag = Annotated[str | None, typer.Option("--topic", help="Only from this topic (full name).", show_default=False)]
EverythingFlag = Annotated[bool, typer.Option("--all", help="Without any filter.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs.")]

_SHOWN_BYTES = 4000
_NO_MATCH = "no dead letter matches"


@app.command("list")
def list_letters(
    ctx: typer.Context,
    *,
    db: DbFlag = None,
    kafka: KafkaFlag = None,
    home: FromFlag = Home.DB,
    stage: StageFlag = None,
    reason: ReasonFlag = None,
    topic: TopicFlag = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many, the oldest first.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """List dead letters: id, stage, reason and what was wrong.

    Example: [bold]clearcall dead-letters list --db chdb://./out/db[/]
    """
    settings = settings_of(ctx, db=db, kafka=kafka)
    wanted = _filter((), stage, reason, topic)
    letters = _read(settings, home, wanted, limit)
    if not letters:
        _refuse_unheard_of(settings, wanted)
    if as_json:
        for letter in letters:
            typer.echo(orjson.dumps(letter.model_dump(mode="python")).decode())
        return
    for letter in letters:
        line = (
            f"{letter.message_id}  {_when(letter.died_at)}  {letter.stage}  {letter.reason}  {_one_line(letter.detail)}"
        )
        console().print(Text(line), soft_wrap=True)
    if not letters:
        console().print("no dead letters")
    elif len(letters) == limit:
        console().print(f"… the first {limit}; --limit shows more")


@app.command()
def show(
    ctx: typer.Context,
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="topic/partition/offset, as list prints it.")],
    db: DbFlag = None,
    kafka: KafkaFlag = None,
    home: FromFlag = Home.DB,
) -> None:
    """Show one dead letter: place, reason, errors, and the original message decoded.

    Example: [bold]clearcall dead-letters show transcripts.chunks/3/120[/]
    """
    letters = _read(settings_of(ctx, db=db, kafka=kafka), home, _filter((letter_id,), None, None, None), 10)
    if not letters:
        raise Stop(f"there is no dead letter {letter_id}", "clearcall dead-letters list")
    for letter in letters:
        for line in _described(letter):
            console().print(Text(line), soft_wrap=True)


@app.command()
def replay(
    ctx: typer.Context,
    *,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    db: DbFlag = None,
    kafka: KafkaFlag = None,
    home: FromFlag = Home.DB,
    stage: StageFlag = None,
    reason: ReasonFlag = None,
    topic: TopicFlag = None,
    everything: EverythingFlag = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Send at most this many, the oldest first.")] = 1000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")] = False,
) -> None:
    """Send the original messages to their topics again, byte for byte; sent twice they do no harm.

    Example: [bold]clearcall dead-letters replay --reason not_json[/]
    """
    from clearcall.streams.resend import resend  # noqa: PLC0415 - needs the worker extra

    settings = settings_of(ctx, db=db, kafka=kafka)
    wanted = _filter(tuple(ids or ()), stage, reason, topic)
    _refuse_all(wanted, everything=everything)
    letters = _read(settings, home, wanted, limit)
    if not letters:
        _refuse_unheard_of(settings, wanted)
    if dry_run:
        for letter in letters:
            what = "cannot be sent, truncated" if letter.truncated else f"would go to {letter.topic}"
            console().print(f"{letter.message_id}  {what}", soft_wrap=True)
        if len(letters) < limit:
            _refuse_unknown(wanted, letters)
        return
    resent = asyncio.run(resend(settings, letters))
    console().print(f"sent again: {len(resent.sent)}" if letters or wanted.ids else _NO_MATCH)
    if len(letters) == limit:
        console().print(f"stopped at {limit}; --limit sends more")
    if resent.truncated:
        raise Stop(
            f"truncated, so not sent: {', '.join(resent.truncated)}",
            "they were larger than a message may be; send them from their source",
        )
    if len(letters) < limit:
        _refuse_unknown(wanted, letters)


@app.command()
def drop(
    ctx: typer.Context,
    *,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    db: DbFlag = None,
    stage: StageFlag = None,
    reason: ReasonFlag = None,
    topic: TopicFlag = None,
    everything: EverythingFlag = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many would go, and delete nothing.")] = False,
) -> None:
    """Delete dead letters that are settled from the database, so that list shows what is open.

    The topic keeps its copy until its retention ends; a sink that reads it from its beginning stores them again.

    Example: [bold]clearcall dead-letters drop --reason not_json --dry-run[/]
    """
    from clearcall.infra.clickhouse import count_letters, drop_letters, stored_letters  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - as above

    wanted = _filter(tuple(ids or ()), stage, reason, topic)
    _refuse_all(wanted, everything=everything)
    settings = settings_of(ctx, db=db)
    with opened(settings) as database:
        number = count_letters(database, wanted)
        named = stored_letters(database, wanted, number) if wanted.ids else []
        if number and not dry_run:
            drop_letters(database, wanted)
    if not number:
        _refuse_unheard_of(settings, wanted)
    if not number and not wanted.ids:
        console().print(_NO_MATCH)
        return
    console().print(f"{'would drop' if dry_run else 'dropped'}: {number}")
    _refuse_unknown(wanted, named)


def _refuse_unknown(wanted: "LetterFilter", found: "list[DeadLetter]") -> None:
    """Ids that name nothing: the rest is done by then, as it would be without them."""
    known = {letter.message_id for letter in found}
    if missing := [letter_id for letter_id in wanted.ids if letter_id not in known]:
        raise Stop(f"there is no dead letter {', '.join(missing)}", "clearcall dead-letters list")


def _refuse_unheard_of(settings: "Settings", wanted: "LetterFilter") -> None:
    """What matches nothing may be misspelt. Asked only then: stages and reasons of before may have letters, too."""
    from clearcall.schemas import Topic  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.dead_letter import REASONS  # noqa: PLC0415 - as above
    from clearcall.streams.stages import stages_of  # noqa: PLC0415 - as above

    asked = {
        "stage": (wanted.stage, tuple(stages_of(settings))),
        "reason": (wanted.reason, REASONS),
        "topic": (wanted.topic, tuple(settings.topic_prefix + topic for topic in Topic)),
    }
    for what, (given, known) in asked.items():
        if given is not None and given not in known:
            raise Stop(f"{_NO_MATCH}, and there is no {what} {given}", f"give one of {', '.join(known)}", USAGE)


def _refuse_all(wanted: "LetterFilter", *, everything: bool) -> None:
    if wanted.takes_all and not everything:
        raise Stop("nothing says which dead letters", "give ids, --stage, --reason, --topic, or --all", USAGE)


def _filter(ids: tuple[str, ...], stage: str | None, reason: str | None, topic: str | None) -> "LetterFilter":
    from clearcall.infra.clickhouse import LetterFilter  # noqa: PLC0415 - heavy, and only here

    return LetterFilter(ids, stage, reason, topic)


def _read(settings: "Settings", home: Home, wanted: "LetterFilter", most: int) -> "list[DeadLetter]":
    if home is Home.KAFKA:
        from clearcall.streams.resend import letters_on_topic  # noqa: PLC0415 - needs the worker extra

        return asyncio.run(letters_on_topic(settings, wanted, most))
    from clearcall.infra.clickhouse import stored_letters  # noqa: PLC0415 - heavy, and only here
    from clearcall.streams.cli.database import opened  # noqa: PLC0415 - as above

    with opened(settings) as database:
        return stored_letters(database, wanted, most)


def _described(letter: "DeadLetter") -> list[str]:
    from clearcall.streams.resend import original  # noqa: PLC0415 - needs the worker extra

    lines = [
        f"id         {letter.message_id}",
        f"died       {_when(letter.died_at)} in {letter.stage} of clearcall {letter.clearcall_version}",
        f"reason     {letter.reason}: {_one_line(letter.detail)}",
        *(f"error      {_one_line(error)}" for error in letter.errors),
        f"truncated  {'yes: it cannot be sent again' if letter.truncated else 'no'}",
    ]
    if letter.record_timestamp is not None:
        lines.append(f"written    {_when(letter.record_timestamp)}")
    lines += [f"header     {name}: {readable(original(value))}" for name, value in letter.record_headers]
    lines += [
        f"key        {readable(original(letter.record_key))}",
        f"value      {readable(original(letter.record_value))}",
    ]
    return lines


def readable(content: bytes | None) -> str:
    """Bytes for a person: text where they are text, else hexadecimal; cut where they are long."""
    if content is None:
        return "(null)"
    shown, more = content[:_SHOWN_BYTES], len(content) - _SHOWN_BYTES
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        cut_inside = more > 0 and error.start > len(shown) - 4
        text = shown[: error.start].decode() if cut_inside else f"0x{shown.hex()}"
    text = "".join(letter if letter.isprintable() or letter == "\n" else f"\\x{ord(letter):02x}" for letter in text)
    return f"{text} … and {more} bytes more" if more > 0 else text


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
