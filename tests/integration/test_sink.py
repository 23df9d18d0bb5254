"""The sink on the real engine: embedded, and by the HTTP path of the driver."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from clearcall.agents import sink
from clearcall.agents.protocol import Poison, Unavailable
from clearcall.agents.sink import Sink
from clearcall.infra.clickhouse import DatabaseAway, LetterFilter, connect, migrate, status, stored_letters
from clearcall.infra.clickhouse.report import summary, tables
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Message, Status
from clickhouse_http import PASSWORD, clickhouse_over_http
from clickhouse_samples import alert, attempt, chunk, cleaned, dead_letter, evaluation, fragment

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration


@pytest.fixture
def embedded(tmp_path: Path) -> Settings:
    return Settings(db=f"chdb://{tmp_path}/db")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Settings]:
    with clickhouse_over_http(tmp_path / "server") as address:
        yield Settings(db=f"http://{address}/calls", db_password=SecretStr(PASSWORD))


@pytest.fixture(params=["embedded", "server"])
def home(request: pytest.FixtureRequest) -> Settings:
    settings: Settings = request.getfixturevalue(request.param)
    if request.param == "server":
        with closing(connect(settings)) as database:
            migrate(database)
    return settings


@pytest.fixture
async def build() -> AsyncIterator[Callable[[Settings], Sink]]:
    built: list[Sink] = []

    def make(settings: Settings) -> Sink:
        built.append(sink.build(settings))
        return built[-1]

    yield make
    for each in built:
        await each.close()


def incoming(*messages: Message) -> Sequence[Incoming[Message]]:
    return [Incoming(message) for message in messages]


def mixed() -> Sequence[Incoming[Message]]:
    flagged, better = (
        attempt(0, [fragment(0, 50.0), fragment(1, 90.0, guard="number")]),
        attempt(1, [fragment(0, 95.0)]),
    )
    ended = cleaned(chunk(text="nul\0 🚗"), Status.CORRECTED, [flagged, better])
    return incoming(evaluation(chunk(), flagged), evaluation(chunk(), better), ended, alert(), dead_letter())


async def test_a_mixed_batch_stored_twice_is_there_once(home: Settings, build: Callable[[Settings], Sink]) -> None:
    store = build(home)
    assert await store(mixed()) == ()
    await store(mixed())
    await store.close()
    with closing(connect(home)) as database:
        found = summary(database)
        assert (found.calls, found.chunks, found.fragments, found.dead_letters) == (1, 1, 3, 1)
        assert [row["iteration"] for row in tables(database, "c1")["table1"]] == [0, 1, 0, 1]
        assert stored_letters(database, LetterFilter(), 5) == [dead_letter()]
        assert database.rows("SELECT source_text FROM cleaned_current") == [{"source_text": "nul\0 🚗"}]


async def test_rows_that_can_never_be_stored_are_poison_and_the_rest_can_be_stored_alone(
    home: Settings, build: Callable[[Settings], Sink]
) -> None:
    bad = cleaned(chunk(text="half a pair: \ud83d"))
    store = build(home)
    with pytest.raises(Poison) as refused:
        await store(incoming(cleaned(chunk(number=1)), bad))
    assert refused.value.reason == "rows_refused"
    assert "half a pair" not in str(refused.value)
    await store(incoming(cleaned(chunk(number=1))))
    await store.close()
    with closing(connect(home)) as database:
        assert summary(database).chunks == 1


async def test_a_time_that_no_column_holds_is_poison(embedded: Settings, build: Callable[[Settings], Sink]) -> None:
    with pytest.raises(Poison):
        await build(embedded)(incoming(cleaned(chunk(), at=1e300)))


async def test_a_message_that_has_no_table_is_poison(embedded: Settings, build: Callable[[Settings], Sink]) -> None:
    with pytest.raises(Poison, match="Chunk has no table"):
        await build(embedded)(incoming(chunk()))


async def test_a_database_that_is_down_is_unavailable(build: Callable[[Settings], Sink]) -> None:
    with pytest.raises(Unavailable, match="Connection refused") as away:
        await build(Settings(db="http://127.0.0.1:9/calls"))(mixed())
    assert away.value.reason == "database_away"


async def test_a_database_that_went_down_and_came_back_takes_the_same_batch(
    tmp_path: Path, build: Callable[[Settings], Sink], unused_tcp_port: int
) -> None:
    home = Settings(db=f"http://127.0.0.1:{unused_tcp_port}/calls", db_password=SecretStr(PASSWORD))
    store = build(home)
    with clickhouse_over_http(tmp_path / "server", unused_tcp_port):
        with closing(connect(home)) as database:
            migrate(database)
        await store(mixed())
    with pytest.raises(Unavailable):
        await store(mixed())
    with clickhouse_over_http(tmp_path / "server", unused_tcp_port):
        await store(mixed())
        with closing(connect(home)) as database:
            assert summary(database).chunks == 1


async def test_a_server_is_never_migrated_by_a_worker(server: Settings, build: Callable[[Settings], Sink]) -> None:
    store = build(server)
    with pytest.raises(Unavailable, match="clearcall db migrate") as refused:
        await store(mixed())
    assert refused.value.reason == "not_migrated"
    with closing(connect(server)) as database:
        assert not any(state.applied_at for state in status(database))
        migrate(database)
    await store(mixed())


async def test_a_wrong_password_is_unavailable_and_names_the_variable(
    server: Settings, build: Callable[[Settings], Sink]
) -> None:
    wrong = server.model_copy(update={"db_password": SecretStr("hunter2")})
    with pytest.raises(Unavailable, match="CLEARCALL_DB_PASSWORD") as refused:
        await build(wrong)(mixed())
    assert "hunter2" not in str(refused.value)


def test_an_address_that_cannot_be_read_stops_the_worker_before_it_starts() -> None:
    with pytest.raises(ValueError, match="names no folder"):
        sink.build(Settings.model_construct(db="chdb://"))


def test_a_folder_that_another_process_has_open_is_refused_with_that_process(embedded: Settings) -> None:
    hold = "import sys, chdb; kept = chdb.connect(sys.argv[1]); print('open', flush=True); input()"
    folder = embedded.db.removeprefix("chdb://")
    with subprocess.Popen([sys.executable, "-c", hold, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        try:
            with pytest.raises(DatabaseAway, match=f"open in process {other.pid}"):
                connect(embedded)
            with pytest.raises(DatabaseAway, match=rf"another process \(pid {other.pid}\) has this database open"):
                sink.build(embedded)
        finally:
            other.communicate(b"\n")


def test_of_two_sinks_on_a_folder_the_second_is_refused_though_the_first_has_stored_nothing(embedded: Settings) -> None:
    hold = (
        "import sys; from clearcall.agents import sink; from clearcall.infra.settings import Settings\n"
        "kept = sink.build(Settings(db=sys.argv[1])); print('ready', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, embedded.db], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout
        assert first.stdout.readline() == b"ready\n"
        try:
            with pytest.raises(DatabaseAway, match=rf"another process \(pid {first.pid}\) has this database open"):
                sink.build(embedded)
        finally:
            first.communicate(b"\n")


async def test_a_sink_is_built_while_its_server_is_away() -> None:
    await sink.build(Settings(db="http://127.0.0.1:9/calls")).close()


async def test_a_sink_can_be_built_where_this_process_has_the_folder_open(embedded: Settings) -> None:
    with closing(connect(embedded)):
        await sink.build(embedded).close()


async def test_closing_a_sink_that_never_stored_is_fine(embedded: Settings) -> None:
    await sink.build(embedded).close()


STORE_UNTIL_KILLED = """
import asyncio, itertools, sys, structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
sys.path.insert(0, sys.argv[2])
from clickhouse_samples import attempt, chunk, cleaned, evaluation, fragment
from clearcall.agents import sink
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming

async def main():
    store = sink.build(Settings(db=sys.argv[1]))
    for number in itertools.cycle(range(50)):
        of = chunk("killed", number)
        await store([Incoming(evaluation(of, attempt(0, [fragment(0, 90.0)]))), Incoming(cleaned(of))])
        print(number, flush=True)

asyncio.run(main())
"""


def store_until_killed(home: Settings) -> list[int]:
    """The chunks that a worker said were stored before it was killed, in the middle of the next."""
    command = [sys.executable, "-W", "ignore", "-c", STORE_UNTIL_KILLED, home.db, str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        said = [int(worker.stdout.readline()) for _ in range(20)]
        worker.kill()
    return said


async def test_a_sink_killed_while_it_stores_loses_nothing_that_it_said_was_stored(
    embedded: Settings, build: Callable[[Settings], Sink]
) -> None:
    assert store_until_killed(embedded) == list(range(20))
    store = build(embedded)
    await store(incoming(*(cleaned(chunk("killed", number)) for number in range(10, 50))))
    await store.close()
    with closing(connect(embedded)) as database:
        assert summary(database).statuses == {"clean": 50}
        scored = database.rows("SELECT DISTINCT chunk_id FROM fragments_current WHERE chunk_id < 20")
        assert len(scored) == 20
