"""What can go wrong with the database.

DatabaseError
├── DatabaseAway      it cannot be used now (down, locked, wrong password, out of memory): the rows are fine, wait
│   └── NotMigrated   the database or a table is not there: ``clearcall db migrate``
├── MissingExtra      the client is not installed
├── RowsRefused       these rows can never be stored
└── QueryRefused      a statement of ours that the engine does not take
"""

import re


class DatabaseError(Exception):
    """The text says what was wrong and what to do; it never holds a row's content."""


class DatabaseAway(DatabaseError):
    """The database cannot be used now."""


class NotMigrated(DatabaseAway):
    """The database lacks tables that this clearcall needs."""


class MissingExtra(DatabaseError):
    """The client for this home is not installed."""


class RowsRefused(DatabaseError):
    """Rows that can never be stored."""


class QueryRefused(DatabaseError):
    """A statement that the engine does not take."""


_NOT_THERE = {60: "a table", 81: "the database"}

_PASSWORD = {192, 193, 194, 516}

# Refusals of what a row holds. All other codes (too many parts, memory, read-only, Keeper, a deploy half done …) may
# pass: a database in trouble must not empty a topic into the dead letters.
_OF_ROWS = {
    6,  # CANNOT_PARSE_TEXT
    26,  # CANNOT_PARSE_QUOTED_STRING
    27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
    33,  # CANNOT_READ_ALL_DATA
    53,  # TYPE_MISMATCH
    69,  # ARGUMENT_OUT_OF_BOUND
    70,  # CANNOT_CONVERT_TYPE
    72,  # CANNOT_PARSE_NUMBER
    117,  # INCORRECT_DATA
    131,  # TOO_LARGE_STRING_SIZE
    321,  # VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
    349,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
    469,  # VIOLATED_CONSTRAINT
}

_SHOWN = 300


def translate(code: int | None, text: str, home: str, *, inserting: bool) -> DatabaseError:
    """The engine's error as one of ours.

    Args:
        code: ClickHouse's number; ``None`` where nothing answered.
        text: the engine's message, shown cut, and not at all where it may quote a row.
        home: the database's address without secrets.
        inserting: whether rows were on their way.
    """
    if code in _NOT_THERE:
        return NotMigrated(f"{_NOT_THERE[code]} is missing in {home}: run `clearcall db migrate`")
    if code in _PASSWORD:
        return DatabaseAway(
            f"{home} does not accept the user or password: set CLEARCALL_DB_USER and CLEARCALL_DB_PASSWORD"
        )
    if code is None:
        return DatabaseAway(f"{home} does not answer: {_short(text)}")
    if inserting and code in _OF_ROWS:
        return RowsRefused(f"ClickHouse error {code} for these rows")
    if inserting:
        return DatabaseAway(f"{home} does not store rows now: {_short(text)}")
    return QueryRefused(f"{home}: {_short(text)}")


def _short(text: str) -> str:
    cause = re.search(r"\[Errno -?\d+\] [\w ]+|[Tt]imed out", text)
    if cause:
        return cause[0]
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
