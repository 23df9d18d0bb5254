"""Where the performance database is: a server or a folder of the embedded engine."""

import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from clearcall.infra.clickhouse.errors import DatabaseAway

DEFAULT_DATABASE = "clearcall"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FORMS = "http(s)://host:port/database or chdb://folder (chdb:///absolute/folder, ?database=name where it is another)"


@dataclass(frozen=True, slots=True)
class Server:
    """A ClickHouse server's HTTP interface."""

    host: str
    port: int
    secure: bool
    database: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}/{self.database}"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A folder of the embedded engine; one process at a time, and one folder at a time in a process."""

    path: Path
    database: str

    def __str__(self) -> str:
        return f"chdb://{self.path}"


def parse(dsn: str) -> Server | Embedded:
    """Read a DSN.

    Raises:
        ValueError: with what was wrong; never repeats a password.
    """
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme not in ("http", "https", "chdb"):
        raise ValueError(f"a database address is {_FORMS}")
    return _embedded(rest) if scheme == "chdb" else _server(dsn)


def _embedded(rest: str) -> Embedded:
    folder, _, query = rest.partition("?")
    if not folder:
        raise ValueError("chdb:// names no folder, as in chdb://./out/db")
    database = parse_qs(query).get("database", [DEFAULT_DATABASE])[0]
    try:
        path = Path(unquote(folder)).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{unquote(folder)}: no such home folder") from error
    return Embedded(path, _checked(database))


def _server(dsn: str) -> Server:
    parts = urlsplit(dsn)
    if parts.username or parts.password:
        raise ValueError("no user or password in a database address: set CLEARCALL_DB_USER and CLEARCALL_DB_PASSWORD")
    if not parts.hostname:
        raise ValueError(f"the address names no host: {_FORMS}")
    secure = parts.scheme == "https"
    port = parts.port or (8443 if secure else 8123)
    return Server(parts.hostname, port, secure, _checked(unquote(parts.path.strip("/")) or DEFAULT_DATABASE))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a database's name is letters, digits and underscores, not {name!r}")
    return name


def refuse_if_locked(folder: Path) -> None:
    """Raise ``DatabaseAway`` where another process has the engine open in ``folder``, or it is a file.

    Asked before opening, since the engine itself says why only on the process's own stderr.
    """
    other = holder(folder)
    if other is None:
        return
    by = f"process {other}" if other else "another process"
    raise DatabaseAway(
        f"{folder} is open in {by}: the embedded engine serves one process at a time; stop that one, "
        "or use a ClickHouse server for several"
    )


def holder(folder: Path) -> int | None:
    """The id of the other process that has the engine open in ``folder``; 0 if unknown, ``None`` where there is none.

    The engine holds a ``flock`` on ``status`` and writes its process id there. The id may be of another container,
    and the same as ours: whether the lock is our own is told by the files that this process has open.

    Raises:
        DatabaseAway: ``folder`` is a file.
    """
    import fcntl  # noqa: PLC0415 - not on Windows, where the embedded engine is not either

    with _ONE_AT_A_TIME:
        try:
            handle = os.open(folder / "status", os.O_RDWR)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise DatabaseAway(f"{folder} is a file, not a folder") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None if _is_ours(handle) else _written_id(handle)
        else:
            return None
        finally:
            os.close(handle)


_ONE_AT_A_TIME = threading.Lock()
"""A second look from another thread would be taken for the engine of this process."""


def _is_ours(handle: int) -> bool:
    """Whether this process has the handle's file open a second time."""
    wanted = os.fstat(handle)
    for number in (int(path.name) for path in Path("/dev/fd").iterdir()):
        with suppress(OSError):  # the listing's own is closed by now
            if number != handle and os.path.samestat(os.fstat(number), wanted):
                return True
    return False


def _written_id(handle: int) -> int:
    found = re.search(rb"PID: (\d+)", os.read(handle, 4096))
    return int(found[1]) if found else 0
