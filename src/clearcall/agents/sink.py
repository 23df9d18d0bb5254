"""The sink: what the other stages found, into the performance database, in large batches."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

from clearcall.agents.protocol import Poison, Unavailable
from clearcall.infra.clickhouse import (
    Database,
    DatabaseAway,
    DatabaseError,
    Embedded,
    NotMigrated,
    RowsRefused,
    check,
    connect,
    holder,
    migrate,
    require,
)
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Message, Outgoing

R = TypeVar("R")

log = structlog.get_logger()


class Sink:
    """The agent of cleaned, evaluations, alerts and dead letters; sends nothing.

    A server is opened by the first batch, so that a worker starts, and waits, while it is away. All work with the
    database is done on one thread of its own: the event loop stays free, and the embedded engine takes one call at a
    time.
    """

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open = open_database
        self._database: Database | None = None
        self._closed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clickhouse")

    def open(self) -> None:
        """Open the database now, and hold it; blocks until it is open.

        Raises:
            DatabaseError: it cannot be opened.
        """
        try:
            self._thread.submit(self._ready).result()
        except BaseException:
            self._thread.shutdown()
            raise

    async def __call__(self, batch: Sequence[Incoming[Message]]) -> Sequence[Outgoing]:
        """Insert the batch, one statement per table; inserted twice it leaves the same rows.

        Raises:
            Poison: the engine can never take these rows, or a message has no table.
            Unavailable: the database is away or not migrated.
        """
        try:
            await self._on_thread(lambda: self._store([incoming.message for incoming in batch]))
        except asyncio.CancelledError:
            log.warning(
                "insert.abandoned",
                messages=len(batch),
                reason="the worker gives up its partitions before the database has answered; all is delivered again",
            )
            raise
        return ()

    async def close(self) -> None:
        """Wait for the insert under way and close the database; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._on_thread(self._close)
        self._thread.shutdown()

    def _store(self, messages: Sequence[Message]) -> None:
        try:
            tables = columns(messages)
        except (TypeError, ValueError, OverflowError) as error:
            raise Poison("no_row", f"{type(error).__name__}: {error}") from error
        try:
            database = self._ready()
            for table, values in tables.items():
                database.insert(table, values)
        except RowsRefused as error:
            raise Poison("rows_refused", str(error), loggable=True) from error
        except NotMigrated as error:
            raise Unavailable("not_migrated", str(error), loggable=True) from error
        except DatabaseError as error:
            raise Unavailable("database_away", str(error), loggable=True) from error
        log.debug("rows.stored", **{table: len(next(iter(values.values()))) for table, values in tables.items()})

    def _ready(self) -> Database:
        if self._database is not None:
            return self._database
        database = self._open()
        try:
            # The embedded engine serves this process alone, so nobody else can migrate it, and nobody else's tables
            # change. A server is shared: its tables change when an operator says so, not when a worker restarts.
            if database.embedded:
                migrate(database)
            else:
                require(database)
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    async def _on_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def build(settings: Settings) -> Sink:
    """The sink that the settings describe. It opens and holds an embedded database, and no server yet.

    Raises:
        ValueError: the database's address cannot be read.
        MissingExtra: its client is not installed.
        DatabaseError: the embedded database cannot be opened, or another process has it open. Said at the start,
            since a sink that waited for it would hold partitions that the other one could store.
    """
    address = check(settings)
    sink = Sink(lambda: connect(settings))
    if isinstance(address, Embedded) and (other := holder(address.path)) is not None:
        raise DatabaseAway(
            f"another process (pid {other or 'unknown'}) has this database open: one sink per chdb folder; "
            "use a ClickHouse server for more"
        )
    if isinstance(address, Embedded):
        sink.open()
    return sink
