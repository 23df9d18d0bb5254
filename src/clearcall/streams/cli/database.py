"""What the commands that read the database share."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from clearcall.infra.clickhouse import (
    Database,
    DatabaseError,
    Embedded,
    MissingExtra,
    NotMigrated,
    QueryRefused,
    check,
    connect,
    require,
)
from clearcall.infra.settings import Settings
from clearcall.streams.cli.errors import USAGE, Stop


@contextmanager
def opened(settings: Settings, *, migrated: bool = True) -> Iterator[Database]:
    """As ``open_database``, closed at the end; errors within become what a person can act on, too."""
    with told(settings), closing(open_database(settings, migrated=migrated)) as database:
        yield database


def open_database(settings: Settings, *, migrated: bool = True) -> Database:
    """The database of the settings, with its tables where ``migrated``.

    Raises:
        Stop: with what to do about it.
    """
    with told(settings):
        address = check(settings)
        if isinstance(address, Embedded) and address.path.is_file():
            raise Stop(f"{address.path} is a file, not a folder", "give --db chdb:// and a folder")
        if migrated and isinstance(address, Embedded) and not address.path.is_dir():
            raise Stop(f"there is no database in {address.path}", "clearcall run FILE --db … makes one")
        database = connect(settings)
        try:
            if migrated:
                require(database)
        except BaseException:
            database.close()
            raise
        return database


@contextmanager
def told(settings: Settings) -> Iterator[None]:
    """The database's errors within the block, as what a person can act on."""
    try:
        yield
    except ValueError as error:
        raise Stop(str(error), "correct --db or CLEARCALL_DB", USAGE) from error
    except NotMigrated as error:
        raise Stop(str(error).partition(": run")[0], f"clearcall db migrate --db {settings.db}") from error
    except MissingExtra as error:
        what, _, todo = str(error).partition(": ")
        raise Stop(what, todo) from error
    except QueryRefused as error:
        raise Stop(str(error), 'correct the statement; clearcall db query "SHOW TABLES" lists what there is') from error
    except DatabaseError as error:
        raise Stop(str(error), "check --db or CLEARCALL_DB; clearcall doctor looks closer") from error
