"""What ``run`` and ``demo`` share: a broker if none is named, the pipeline with its progress, then the summary."""

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from aiokafka.errors import KafkaError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from clearcall.agents.consultant.preflight import require_ready
from clearcall.infra.clickhouse import Database
from clearcall.infra.clickhouse.report import summary
from clearcall.infra.kafka.embedded import Kind, choose
from clearcall.infra.kafka.errors import BrokerError
from clearcall.infra.logging import configure
from clearcall.infra.settings import Settings
from clearcall.streams import progress as counting
from clearcall.streams.calls import RawChunk
from clearcall.streams.cli.database import open_database, told
from clearcall.streams.cli.errors import Stop
from clearcall.streams.cli.options import console
from clearcall.streams.cli.report_view import render_summary
from clearcall.streams.run import Observer, Phase, RunResult, run_calls
from clearcall.streams.running_stage import StageFailed
from clearcall.streams.signals import cancelled_by_sigterm

_RUN_PARTITIONS = 4  # a run is one process: more partitions would only be more requests
_NAMED = 20  # chunks of those refused
_PLAIN_EVERY = 1000  # chunks between two lines of progress where there is no terminal


def clean_and_report(settings: Settings, chunks: Sequence[RawChunk], broker: Kind | None) -> int:
    """Clean ``chunks`` on the Kafka of the settings, or on a ``broker`` started for it; print what came of it.

    Returns how many chunks were not cleaned: in the dead letters, or too large for Kafka. SIGTERM ends it as Ctrl-C
    does.

    Raises:
        BadSettings: a prompt, a recording or a file of fillers cannot be used; nothing was started.
        Stop: with what to do about it.
    """
    require_ready(settings)
    configure(settings)
    screen = console()
    with closing(open_database(settings, migrated=False)) as database:  # one that cannot be opened is known at once
        with _kafka(settings, broker, screen) as own, _shown(screen, len(chunks)) as shown:
            result = _run(own, chunks, database, shown.observe)
        if result.progress.sent:  # else the database may have no tables yet
            with told(settings):
                render_summary(screen, summary(database))
    _closing(screen, settings, result)
    return result.progress.dead + len(result.progress.refused)


def _run(settings: Settings, chunks: Sequence[RawChunk], database: Database, observe: Observer) -> RunResult:
    async def run() -> RunResult:
        with cancelled_by_sigterm(settings.stop_timeout):
            return await run_calls(settings, chunks, database, observe)

    try:
        return asyncio.run(run())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    except StageFailed as failure:
        raise Stop(str(failure), "clearcall doctor looks closer; --debug shows where") from failure
    except KafkaError as error:
        raise Stop(f"Kafka {settings.kafka}: {error}", "clearcall doctor looks closer") from error


@contextmanager
def _kafka(settings: Settings, broker: Kind | None, screen: Console) -> Iterator[Settings]:
    """The settings with topics and groups of this run's own, on a cluster that answers."""
    prefix = f"{settings.topic_prefix}run-{secrets.token_hex(4)}."
    own = {
        "topic_prefix": prefix,
        "group_prefix": prefix + settings.group_prefix,
        "partitions": _RUN_PARTITIONS,
    }
    if broker is None:
        yield settings.model_copy(update=own)
        return
    try:
        chosen = choose(broker)
        screen.print(Text(f"starting {chosen.name} …", style="dim"))
        with chosen:
            embedded = {"kafka": chosen.bootstrap, "session_timeout": chosen.session_timeout, "replication": 1}
            yield settings.model_copy(update=own | embedded)
    except BrokerError as error:
        what, _, todo = str(error).partition("\n")
        raise Stop(what, todo or "name a Kafka with --kafka host:port") from error


class _Shown:
    """The progress on the screen: a bar at a terminal, a line now and then elsewhere."""

    def __init__(self, screen: Console, total: int) -> None:
        self._screen = screen
        self._total = total
        self._printed = -_PLAIN_EVERY
        self.bar = Progress(
            TextColumn("[cyan]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[ends]}"),
            TimeElapsedColumn(),
            console=screen,
            disable=not screen.is_terminal,
        )
        self._task = self.bar.add_task("", total=total, ends="")

    def observe(self, phase: Phase, progress: counting.Progress) -> None:
        """Called by the run."""
        ends = "  ".join(f"{status} {count}" for status, count in sorted(progress.statuses.items()))
        dead = f"  dead letters {progress.dead}" if progress.dead else ""
        self.bar.update(self._task, description=phase, completed=progress.ended, ends=ends + dead)
        if self._screen.is_terminal or progress.ended - self._printed < _PLAIN_EVERY:
            return
        self._printed = progress.ended
        self._screen.print(f"{phase}: {progress.ended} of {self._total} chunks  {ends}{dead}")


@contextmanager
def _shown(screen: Console, total: int) -> Iterator[_Shown]:
    shown = _Shown(screen, total)
    with shown.bar:
        yield shown


def _closing(screen: Console, settings: Settings, result: RunResult) -> None:
    """How long it took, and where everything is."""
    seconds, progress = result.cleaning_seconds, result.progress
    dead = f", {progress.dead} in the dead letters," if progress.dead else ""
    rate = progress.sent / seconds
    say = partial(screen.print, soft_wrap=True, markup=False)
    say()
    say(f"{progress.cleaned} chunks cleaned{dead} in {seconds:.1f} s ({rate:.0f} a second); stored in {settings.db}")
    say(f"  tables and views: clearcall report --db {settings.db}")
    if settings.db.startswith("chdb://"):
        path = settings.db.removeprefix("chdb://")
        say(f'  your own SQL:     clearcall db query --db {settings.db} "SELECT …"  (files in {path})')
    if progress.dead:
        say(f"  dead letters:     clearcall dead-letters list --db {settings.db}", style="yellow")
    for name, left in progress.shadows.left().items():
        say(f"  the shadow {name} did not answer {left} chunks: what it did is stored", style="yellow")
    if refused := progress.refused:
        named = ", ".join(name for name, _ in refused[:_NAMED]) + (" …" if len(refused) > _NAMED else "")
        what = "chunk is" if len(refused) == 1 else "chunks are"
        say(f"  {len(refused)} {what} too large for Kafka: {_printable(named)}", style="yellow")


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
