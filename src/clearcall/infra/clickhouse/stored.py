"""How much of a run has arrived in the database."""

import asyncio

from clearcall.infra.clickhouse.client import Database
from clearcall.infra.clickhouse.errors import DatabaseAway

_COUNTS = """
WITH fromUnixTimestamp64Milli({since:Int64}) AS moment
SELECT
    (SELECT count() FROM cleaned FINAL WHERE cleaned_at >= moment) AS cleaned,
    (SELECT count() FROM evaluations FINAL WHERE evaluated_at >= moment) AS evaluations,
    (SELECT count() FROM dead_letters FINAL WHERE died_at >= moment) AS dead_letters
"""


async def stored_since(database: Database, since: float) -> tuple[int, int, int]:
    """The rows of ``cleaned``, ``evaluations`` and ``dead_letters`` whose message was made at ``since`` or later.

    ``since`` is in seconds of the epoch. While the database is away, or its tables are still to come, nothing is
    stored: zeros.
    """
    return await asyncio.to_thread(_count, database, since)


def _count(database: Database, since: float) -> tuple[int, int, int]:
    try:
        row = database.rows(_COUNTS, {"since": int(since * 1000)})[0]
    except DatabaseAway:
        return 0, 0, 0
    return row["cleaned"], row["evaluations"], row["dead_letters"]
