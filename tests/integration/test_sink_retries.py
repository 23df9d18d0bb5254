"""Exactly one row after any retry, shown on the engine: inserts that landed and were made again, whole or in part."""

import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import pytest
from pydantic import SecretStr

from clearcall.agents import sink
from clearcall.agents.protocol import Unavailable
from clearcall.agents.sink import Sink
from clearcall.infra.clickhouse import Database, client, connect, migrate
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Message
from clickhouse_http import PASSWORD, NoAnswer, clickhouse_over_http
from clickhouse_samples import attempt, chunk, cleaned, dead_letter, evaluation, fragment

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration

TABLES = ("cleaned", "evaluations", "fragments", "dead_letters")
STORED, LANDED, REFUSED, LOST = "stored", "landed, no answer", "too many parts", "no answer, not landed"


class Fates:
    """What becomes of each insert; when they are used up, all is well."""

    def __init__(self, *fates: str, seconds: float = 0.0) -> None:
        self.left = deque(fates)
        self.armed = False
        """Only once the tables are there."""
        self._seconds = seconds

    @contextmanager
    def around(self, statement: bytes) -> Iterator[None]:
        due = self.armed and self.left and statement.startswith(b"INSERT")
        fate = self.left.popleft() if due else STORED
        if fate == REFUSED:
            raise RuntimeError("Code: 252. DB::Exception: Too many parts (TOO_MANY_PARTS)")
        if fate == LOST:
            raise NoAnswer
        yield
        if fate == LANDED:
            sleep(self._seconds)
            raise NoAnswer


@asynccontextmanager
async def home(fates: Fates) -> AsyncIterator[tuple[Callable[[], Sink], Database]]:
    """Makes sinks of one database, which is there to be looked at too; nothing is merged, so that doubles stay."""
    with TemporaryDirectory() as folder, clickhouse_over_http(Path(folder) / "db", around=fates.around) as address:
        at = Settings(db=f"http://{address}/calls", db_password=SecretStr(PASSWORD))
        built: list[Sink] = []

        def build() -> Sink:
            built.append(sink.build(at))
            return built[-1]

        with closing(connect(at)) as database:
            migrate(database)
            for table in TABLES:
                database.command(f"SYSTEM STOP MERGES calls.{table}")
            fates.armed = True
            try:
                yield build, database
            finally:
                for each in built:
                    await each.close()


async def persist(store: Sink, batch: Sequence[Incoming[Message]]) -> int:
    """Store a batch as the runtime does, however often it takes; how often it failed."""
    failures = 0
    while True:
        try:
            await store(batch)
        except Unavailable:
            failures += 1
        else:
            return failures


def messages(count: int, at: float = 1_700_000_000.0, call: str = "c1") -> list[Incoming[Message]]:
    """Each chunk with an evaluation of two fragments and its end, and a dead letter."""
    found: list[Incoming[Message]] = []
    for number in range(count):
        of, scored = chunk(call, number), attempt(0, [fragment(0, 90.0), fragment(1, 85.0)])
        found += [Incoming(evaluation(of, scored, at)), Incoming(cleaned(of, attempts=[scored], at=at))]
        found.append(Incoming(dead_letter(number)))
    return found


def counted(database: Database) -> dict[str, int]:
    """Rows that readers see."""
    return {table: database.rows(f"SELECT count() AS n FROM {table}_current")[0]["n"] for table in TABLES}


def raw(database: Database, table: str) -> int:
    return int(database.rows(f"SELECT count() AS n FROM {table}")[0]["n"])


def each_once(count: int) -> dict[str, int]:
    return {"cleaned": count, "evaluations": count, "fragments": 2 * count, "dead_letters": count}


async def test_an_insert_that_landed_and_was_not_answered_leaves_one_row_when_it_is_made_again() -> None:
    async with home(Fates(*[LANDED] * 8)) as (build, database):
        assert await persist(build(), messages(5)) > 0
        assert sum(raw(database, table) for table in TABLES) > 25
        assert counted(database) == each_once(5)
        tables = database.rows("SELECT fragments FROM table1_hallucination_rate WHERE scope = 'scored'")
        assert tables == [{"fragments": 10}]


async def test_an_insert_that_timed_out_after_it_had_landed_leaves_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_ANSWER_SECONDS", 1)
    async with home(Fates(LANDED, seconds=2.5)) as (build, database):
        with pytest.raises(Unavailable, match=r"[Tt]imed out"):
            await build()(messages(3))
        await persist(build(), messages(3))
        assert counted(database) == each_once(3)


async def test_a_batch_of_which_some_tables_were_stored_leaves_one_row_in_each() -> None:
    async with home(Fates(STORED, REFUSED)) as (build, database):
        assert await persist(build(), messages(4)) == 1
        assert counted(database) == each_once(4)


async def test_a_batch_formed_anew_after_a_crash_leaves_one_row_of_each_message_and_the_later_one() -> None:
    async with home(Fates()) as (build, database):
        first, again = messages(10), messages(14, at=1_700_000_500.0)
        await build()(first)
        after_the_crash = build()
        for start, end in ((0, 7), (7, 8), (8, 29), (29, 42)):
            await after_the_crash(again[start:end])
        assert raw(database, "cleaned") == 24
        assert counted(database) == each_once(14)
        newest = database.rows("SELECT min(toUnixTimestamp(cleaned_at)) AS at FROM cleaned_current")
        assert newest == [{"at": 1_700_000_500}]


async def test_any_order_of_failures_and_of_batches_ends_with_one_row_of_each() -> None:
    source, fates = random.Random(3), Fates()
    async with home(fates) as (build, database):
        for number in range(20):
            sent = messages(4, call=f"c{number}")
            fates.left.extend(source.choices((STORED, LANDED, REFUSED, LOST), k=source.randrange(12)))
            for _ in range(source.randrange(3)):
                start = source.randrange(len(sent))
                await persist(build(), sent[start : start + source.randint(1, len(sent))])
            await persist(build(), sent)
        assert counted(database) == each_once(80) | {"dead_letters": 4}
