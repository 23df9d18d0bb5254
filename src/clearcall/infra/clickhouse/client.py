"""One client for both homes of the performance database: a server by HTTP, and the engine in this process."""

import logging
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from clearcall.infra.clickhouse.address import Embedded, Server, parse, refuse_if_locked
from clearcall.infra.clickhouse.errors import DatabaseAway, MissingExtra, RowsRefused, translate
from clearcall.infra.settings import Settings

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

R = TypeVar("R")

_ANSWER_SECONDS = 60
"""Longest wait for an answer: a batch of 10,000 rows takes under a second, a report over millions several."""

_OTHER_FOLDER = "already initialized with path"


class Database:
    """An open database. Calls may come from any thread, one at a time; all may raise ``DatabaseError``."""

    def __init__(self, client: "Client", address: Server | Embedded) -> None:
        self._client = client
        self._lock = threading.Lock()
        self.address = address

    @property
    def embedded(self) -> bool:
        """Whether the engine runs in this process, so that no one else can prepare the database."""
        return isinstance(self.address, Embedded)

    def create(self) -> None:
        """Create the database where it is missing; where it is there no right to create one is needed."""
        if self.exists():
            return
        name = self.address.database
        self._client.database = None  # the server refuses any request within a database that is not there
        try:
            self.command(f"CREATE DATABASE IF NOT EXISTS {name}")
        finally:
            self._client.database = name

    def exists(self) -> bool:
        """Whether the database is there; its tables may not be."""
        self._client.database = None
        try:
            known = self.rows("SELECT 1 AS here FROM system.databases WHERE name = {name:String}", self._named())
        finally:
            self._client.database = self.address.database
        return bool(known)

    def command(self, statement: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Run a statement that returns no rows; parameters as ``{name:Type}`` in it."""
        self._call(lambda: self._client.command(statement, parameters=dict(parameters or {})))

    def rows(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of a query, by column name; parameters as ``{name:Type}`` in it, settings of the engine."""
        result = self._call(
            lambda: self._client.query(query, parameters=dict(parameters or {}), settings=dict(settings or {}))
        )
        return list(result.named_results())

    def insert(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Insert columns of equal length.

        Raises:
            RowsRefused: rows that can never be stored.
            DatabaseAway: anything else; the same rows may be inserted again.
        """
        names, data = list(columns), list(columns.values())
        self._call(
            lambda: self._client.insert(table, data, column_names=names, column_oriented=True),
            inserting=True,
        )

    def close(self) -> None:
        """Close the connection; the embedded engine ends with its last one."""
        with self._lock:
            self._client.close()

    def _named(self) -> dict[str, str]:
        return {"name": self.address.database}

    def _call(self, call: Callable[[], R], *, inserting: bool = False) -> R:
        with self._lock, _translated(str(self.address), inserting=inserting):
            return call()


def check(settings: Settings) -> Server | Embedded:
    """The address of ``settings.db``, whose client is installed and whose authority can be read.

    Raises:
        ValueError: the address cannot be read, or the authority.
        MissingExtra: what to install.
    """
    address = _usable(settings)
    if (problem := _authority_problem(address, settings)) is not None:
        raise ValueError(problem)
    return address


def _usable(settings: Settings) -> Server | Embedded:
    address = parse(settings.db)
    wanted, extra = (("clickhouse_connect", "clickhouse"), ("chdb", "embedded"))[isinstance(address, Embedded)]
    for module in ("clickhouse_connect", wanted):
        if find_spec(module) is None:
            raise MissingExtra(f"{module} is missing: pip install 'clearcall[{extra}]'")
    return address


def _authority_problem(address: Server | Embedded, settings: Settings) -> str | None:
    """What is wrong with ``db_ca_file`` where it counts: the driver would find out at every request, and try again."""
    if not (isinstance(address, Server) and address.secure and settings.db_ca_file):
        return None
    try:
        ssl.create_default_context(cafile=settings.db_ca_file)
    except OSError as error:
        return f"db_ca_file: {settings.db_ca_file} is no PEM of certificates: {error.strerror or error}"
    return None


def connect(settings: Settings, answer_seconds: float | None = None) -> Database:
    """Open the database of ``settings.db``; the embedded engine's folder is created.

    A server is waited for ``answer_seconds`` at each request, a minute where they are not given.

    Raises:
        ValueError, MissingExtra: as ``check``.
        DatabaseAway: down, locked, a wrong password or an authority that cannot be read; the text says what to do.
    """
    address = _usable(settings)
    # The driver logs what it also raises, with rows in it.
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
    client = _open_folder(address) if isinstance(address, Embedded) else _open_server(address, settings, answer_seconds)
    client.database = address.database  # set late: the handshake fails where the database is still to be created
    return Database(client, address)


def _open_folder(address: Embedded) -> "Client":
    import clickhouse_connect  # noqa: PLC0415 - an extra

    try:
        address.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseAway(f"cannot create {address.path}: {error.strerror}") from error
    refuse_if_locked(address.path)
    with _translated(str(address)):
        return clickhouse_connect.get_client(interface="chdb", path=str(address.path))


def _open_server(address: Server, settings: Settings, answer_seconds: float | None) -> "Client":
    import clickhouse_connect  # noqa: PLC0415 - an extra

    if (problem := _authority_problem(address, settings)) is not None:
        raise DatabaseAway(problem)
    with _translated(str(address)):
        return clickhouse_connect.get_client(
            interface="https" if address.secure else "http",
            host=address.host,
            port=address.port,
            username=settings.db_user,
            password=settings.db_password.get_secret_value(),
            connect_timeout=max(1, round(settings.connect_timeout)),
            send_receive_timeout=max(1, round(answer_seconds or _ANSWER_SECONDS)),
            ca_cert=str(settings.db_ca_file) if settings.db_ca_file else None,
            autogenerate_session_id=False,  # no temporary tables: without a session requests need no one's turn
            client_name="clearcall",
        )


@contextmanager
def _translated(home: str, *, inserting: bool = False) -> Iterator[None]:
    from clickhouse_connect.driver import exceptions as engine  # noqa: PLC0415 - an extra

    try:
        yield
    except engine.DataError as error:
        raise RowsRefused("a value does not fit its column") from error
    except engine.ClickHouseError as error:
        if _OTHER_FOLDER in str(error):
            raise DatabaseAway(f"{home}: this process has the embedded engine open in another folder") from error
        raise translate(getattr(error, "code", None), str(error), home, inserting=inserting) from error
    except (ValueError, TypeError, OverflowError) as error:
        if not inserting:
            raise
        raise RowsRefused(f"a value does not fit its column ({type(error).__name__})") from error
