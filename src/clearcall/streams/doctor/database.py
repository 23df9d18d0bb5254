"""ClickHouse: does it answer, are the migrations applied."""

import asyncio
from contextlib import closing

from clearcall.infra import clickhouse
from clearcall.infra.settings import Settings
from clearcall.streams.doctor.finding import Finding, State


async def check_database(settings: Settings) -> list[Finding]:
    """The database, then its migrations; an embedded one is not created by looking at it."""
    try:
        address = clickhouse.check(settings)
    except ValueError as error:
        return [Finding("ClickHouse", State.FAIL, str(error), "correct CLEARCALL_DB or --db")]
    except clickhouse.MissingExtra as error:
        what, _, todo = str(error).partition(": ")
        return [Finding("ClickHouse", State.FAIL, what, todo)]
    if isinstance(address, clickhouse.Embedded) and not address.path.is_dir():
        todo = "nothing: the first worker or run makes it"
        return [Finding("ClickHouse", State.WARN, f"{address} is not there yet", todo)]
    if isinstance(address, clickhouse.Server) and not await _answers(address, settings.connect_timeout):
        what = f"{address} accepts a connection and does not answer within {settings.connect_timeout:g} s"
        return [Finding("ClickHouse", State.FAIL, what, "look at the server's log, or correct CLEARCALL_DB or --db")]
    return await asyncio.to_thread(_look, settings)


async def _answers(address: clickhouse.Server, seconds: float) -> bool:
    """``False`` only where it takes a connection and stays silent, which the driver would wait out several times."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(address.host, address.port)
    except (OSError, TimeoutError):
        return True  # the driver's own error says more
    try:
        writer.write(b"GET /ping HTTP/1.0\r\n\r\n")
        async with asyncio.timeout(seconds):
            await reader.read(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    finally:
        writer.close()
    return True


def _look(settings: Settings) -> list[Finding]:
    try:
        with closing(clickhouse.connect(settings, settings.connect_timeout)) as database:
            states = clickhouse.status(database)
            home = str(database.address)
    except clickhouse.DatabaseAway as error:
        what, _, todo = str(error).partition(": set ")
        todo = f"set {todo}" if todo else "start it, or correct CLEARCALL_DB or --db"
        return [Finding("ClickHouse", State.FAIL, what, todo)]
    except clickhouse.DatabaseError as error:
        return [Finding("ClickHouse", State.FAIL, str(error), "clearcall db status")]
    pending = [f"{state.number:04}" for state in states if state.applied_at is None]
    answers = Finding("ClickHouse", State.OK, f"{home} answers")
    if pending:
        return [answers, Finding("migrations", State.FAIL, f"pending: {', '.join(pending)}", "clearcall db migrate")]
    return [answers, Finding("migrations", State.OK, f"all {len(states)} are applied")]
