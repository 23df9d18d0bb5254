"""Numbered migrations: ``migrations/0001_name.sql`` …, applied in order, each once, each unchangeable afterwards."""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from clearcall import __version__
from clearcall.infra.clickhouse.client import Database
from clearcall.infra.clickhouse.errors import DatabaseError, NotMigrated

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")

_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number UInt32,
    name String,
    checksum String COMMENT 'SHA-256 of the file',
    clearcall_version String,
    applied_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY number
"""


class ChangedMigration(DatabaseError):
    """A migration's file is not what was applied: write a new migration instead."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file; its statements can be run again, so a migration cut in the middle is simply applied again."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements in order; each ends with a semicolon at a line's end."""
        code = "\n".join(line for line in self.sql.splitlines() if not line.lstrip().startswith("--"))
        return tuple(part.strip() for part in re.split(r";[ \t]*(?:\n|$)", code) if part.strip())


@dataclass(frozen=True, slots=True)
class State:
    """A migration and when it was applied (seconds of the epoch); ``None`` is not yet."""

    number: int
    name: str
    applied_at: float | None


def load() -> tuple[Migration, ...]:
    """The migrations of this clearcall, in order."""
    folder = files("clearcall.infra.clickhouse").joinpath("migrations")
    found = [(match, entry) for entry in folder.iterdir() if (match := _FILE.fullmatch(entry.name))]
    migrations = [Migration(int(match[1]), match[2], entry.read_text("utf-8")) for match, entry in found]
    return tuple(sorted(migrations, key=lambda migration: migration.number))


def migrate(
    database: Database,
    migrations: tuple[Migration, ...] | None = None,
    now: Callable[[], float] = time.time,
) -> tuple[Migration, ...]:
    """Create the database where it is missing and apply what is pending; returns what was applied.

    Two at a time do no harm: every statement can be run again.

    Raises:
        ChangedMigration: an applied file was changed; nothing is applied then.
        DatabaseError: the database is away, or refuses a statement.
    """
    migrations = load() if migrations is None else migrations
    database.create()
    database.command(_LEDGER)
    pending = _pending(migrations, _applied(database))
    for migration in pending:
        for statement in migration.statements:
            database.command(statement)
        database.insert(
            "schema_migrations",
            {
                "number": [migration.number],
                "name": [migration.name],
                "checksum": [migration.checksum],
                "clearcall_version": [__version__],
                "applied_at": [round(now() * 1000)],
            },
        )
    return pending


def status(database: Database, migrations: tuple[Migration, ...] | None = None) -> tuple[State, ...]:
    """Every migration of this clearcall and those that a newer one applied, in order; raises as ``migrate`` does."""
    migrations = load() if migrations is None else migrations
    applied = _applied(database) if database.exists() and _has_ledger(database) else {}
    _pending(migrations, applied)
    names = {number: name for number, (name, _, _) in applied.items()} | {each.number: each.name for each in migrations}
    return tuple(
        State(number, name, applied[number][2] if number in applied else None) for number, name in sorted(names.items())
    )


def require(database: Database) -> None:
    """Raise ``NotMigrated`` where a migration is pending."""
    pending = [state for state in status(database) if state.applied_at is None]
    if pending:
        raise NotMigrated(f"{database.address} lacks {len(pending)} migrations: run `clearcall db migrate`")


_Applied = dict[int, tuple[str, str, float]]


def _has_ledger(database: Database) -> bool:
    query = "SELECT 1 AS here FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'"
    return bool(database.rows(query, {"name": database.address.database}))


def _applied(database: Database) -> _Applied:
    query = """
        SELECT number, name, checksum, toUnixTimestamp64Milli(applied_at) / 1000 AS applied
        FROM schema_migrations FINAL
    """
    return {row["number"]: (row["name"], row["checksum"], row["applied"]) for row in database.rows(query)}


def _pending(migrations: tuple[Migration, ...], applied: _Applied) -> tuple[Migration, ...]:
    for migration in migrations:
        known = applied.get(migration.number)
        if known and known[1] != migration.checksum:
            raise ChangedMigration(
                f"migration {migration.number:04} {migration.name} was changed after it was applied: "
                "restore the file and write a new migration"
            )
    return tuple(migration for migration in migrations if migration.number not in applied)
