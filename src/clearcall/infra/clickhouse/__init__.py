"""The performance database: one client for a ClickHouse server and the embedded engine, its tables and its report.

Importing this needs neither clickhouse-connect nor chdb; ``connect`` says which extra is missing.
"""

from clearcall.infra.clickhouse.address import Embedded, Server, holder, parse
from clearcall.infra.clickhouse.client import Database, check, connect
from clearcall.infra.clickhouse.dead_letters import LetterFilter, count_letters, drop_letters, stored_letters
from clearcall.infra.clickhouse.errors import (
    DatabaseAway,
    DatabaseError,
    MissingExtra,
    NotMigrated,
    QueryRefused,
    RowsRefused,
)
from clearcall.infra.clickhouse.migrations import ChangedMigration, Migration, State, migrate, require, status
from clearcall.infra.clickhouse.stored import stored_since

__all__ = [
    "ChangedMigration",
    "Database",
    "DatabaseAway",
    "DatabaseError",
    "Embedded",
    "LetterFilter",
    "Migration",
    "MissingExtra",
    "NotMigrated",
    "QueryRefused",
    "RowsRefused",
    "Server",
    "State",
    "check",
    "connect",
    "count_letters",
    "drop_letters",
    "holder",
    "migrate",
    "parse",
    "require",
    "status",
    "stored_letters",
    "stored_since",
]
