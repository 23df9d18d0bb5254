"""The ClickHouse engine behind our HTTP front, with troubles on demand, and a way for the harness to look at it."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from chaos_proxy import Proxy
from pydantic import SecretStr

from clearcall.infra.clickhouse import Database, connect, migrate
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.settings import Settings
from clickhouse_http import PASSWORD, NoAnswer, clickhouse_over_http

TOO_MANY_PARTS = "Code: 252. DB::Exception: Too many parts (3000). Merges are slower than inserts (TOO_MANY_PARTS)"


class Trouble:
    """What the database does to inserts just now; any of these may hold at once."""

    def __init__(self) -> None:
        self.slow = 0.0
        """Seconds before each insert is run."""
        self.too_many_parts = False
        self.silent_after = 0.0
        """Seconds after an insert was stored, at whose end the connection is closed without an answer."""
        self._over = threading.Event()

    @contextmanager
    def around(self, statement: bytes) -> Iterator[None]:
        if not statement.startswith(b"INSERT"):
            yield
            return
        self._over.wait(self.slow)
        if self.too_many_parts:
            raise RuntimeError(TOO_MANY_PARTS)
        silent = self.silent_after
        yield
        if silent:
            self._over.wait(silent)
            raise NoAnswer

    def close(self) -> None:
        """Nothing waits any longer."""
        self._over.set()


class Rows:
    """What the harness reads, past every trouble."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stored(self) -> set[str]:
        """The chunks that have a row in ``cleaned``."""
        found = self._database.rows("SELECT DISTINCT call_id, chunk_id FROM cleaned")
        return {f"{row['call_id']}/{row['chunk_id']}" for row in found}

    def unmerged(self) -> int:
        """Rows of ``cleaned`` beyond the first of their chunk that the engine has not merged away yet."""
        [found] = self._database.rows("SELECT count() - uniqExact(call_id, chunk_id) AS n FROM cleaned")
        return int(found["n"])

    def statuses(self) -> dict[str, int]:
        """How many chunks ended in which way."""
        found = self._database.rows("SELECT status, count() AS n FROM cleaned FINAL GROUP BY status ORDER BY status")
        return {str(row["status"]): int(row["n"]) for row in found}

    def read(self, query: str) -> list[dict[str, Any]]:
        return self._database.rows(query)


class Store:
    """The engine; workers reach it by ``dsn``, through a proxy that can be cut."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        front, self._port = free_ports(2)
        self.proxy = Proxy(front, self._port)
        self.trouble = Trouble()
        self.dsn = f"http://127.0.0.1:{front}/calls"

    async def start(self) -> Rows:
        """Serve, migrated."""
        self._open.callback(self.trouble.close)
        self._open.enter_context(clickhouse_over_http(self._folder, self._port, self.trouble.around))
        settings = Settings(db=f"http://127.0.0.1:{self._port}/calls", db_password=SecretStr(PASSWORD))
        database = self._open.enter_context(closing(connect(settings)))
        migrate(database)
        await self.proxy.open()
        return Rows(database)

    async def stop(self) -> None:
        await self.proxy.refuse()
        self.trouble.close()
        self._open.close()


def now() -> float:
    """Seconds that only grow: every time that the harness notes."""
    return time.monotonic()
