"""Workers that are alive and useless: each state is made to happen, and the process ends with its code and a reason."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession
from aiokafka import AIOKafkaConsumer
from runtime_kafka import chunks, drafts, environment, write, written

from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.errors import NoBroker
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Status, Topic, encode
from clearcall.streams.last_resort import EXIT_STALLED
from clearcall.streams.topics import create_topics, delete_topics
from clearcall.streams.worker import EXIT_DEAD_LETTERS, EXIT_FAILED, EXIT_STOPPED
from clickhouse_samples import chunk, cleaned

pytestmark = pytest.mark.integration


@pytest.fixture
async def impatient(settings: Settings) -> AsyncIterator[Settings]:
    """A stall ends a worker after seconds instead of minutes; its web port is free."""
    given = {"stall_timeout": 6.0, "request_timeout": 5.0, "stop_timeout": 5.0, "session_timeout": 6.0}
    others = {"drain_timeout": 2.0, "retries": 0, "web_port": free_ports(1)[0]}
    settings = settings.model_copy(update=given | others)
    await create_topics(settings)
    yield settings
    await delete_topics(settings)


@contextmanager
def own_kafka() -> Iterator[ApacheKafka]:
    """A broker that a test may kill."""
    try:
        with ApacheKafka() as broker:
            yield broker
    except NoBroker as reason:
        pytest.skip(f"no Apache Kafka of our own here: {reason}")


@asynccontextmanager
async def worker(settings: Settings, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker of the stage that echoes, or what else Python is given."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(arguments or (str(Path(__file__).with_name("echo_agent.py")),)),
        env=os.environ | environment(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def end_of(process: asyncio.subprocess.Process, seconds: float = 90) -> tuple[int | None, str]:
    """The exit code, and what the last critical event said."""
    output, _ = await asyncio.wait_for(process.communicate(), seconds)
    text = re.sub(r"\x1b\[\d*m", "", output.decode())
    critical = [line for line in text.splitlines() if "critical" in line]
    assert critical, text
    return process.returncode, critical[-1]


async def ready(settings: Settings, *, wanted: int = 200) -> str:
    """Wait until ``/health/ready`` answers with that status; gives its body."""
    async with ClientSession() as session, asyncio.timeout(60):
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{settings.web_port}/health/ready") as answer:
                    if answer.status == wanted:
                        return await answer.text()
            except ClientError:
                pass
            await asyncio.sleep(0.05)


async def metrics(settings: Settings) -> str:
    async with ClientSession() as session, session.get(f"http://127.0.0.1:{settings.web_port}/metrics") as answer:
        return await answer.text()


async def test_a_worker_is_ready_once_it_is_in_its_group_and_shows_its_numbers(impatient: Settings) -> None:
    given = chunks(calls=2, each=3)
    await write(impatient, Topic.CHUNKS, given)
    async with worker(impatient) as process:
        assert '"ready":true' in await ready(impatient)
        await drafts(impatient, given)
        async with asyncio.timeout(60):
            page = ""
            while 'clearcall_messages_finished_total{stage="echo"} 6.0' not in page:
                page = await metrics(impatient)
        assert 'clearcall_lag_messages{stage="echo"}' in page
        assert "process_resident_memory_bytes" in page
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == EXIT_STOPPED


async def test_a_worker_that_gets_no_assignment_ends_itself_and_says_so(impatient: Settings) -> None:
    """Somebody else is in the group with a protocol of their own, so that the broker lets nobody of ours in."""
    other = AIOKafkaConsumer(
        impatient.topic_prefix + Topic.CHUNKS,
        bootstrap_servers=impatient.kafka,
        group_id=f"{impatient.group_prefix}-echo",
    )
    await other.start()
    try:
        async with worker(impatient) as process:
            code, said = await end_of(process)
    finally:
        await other.stop()
    assert code == EXIT_STALLED
    assert "echo: no assignment for" in said


async def test_a_worker_with_lag_and_no_progress_ends_itself_and_says_so(impatient: Settings) -> None:
    await write(impatient, Topic.CHUNKS, [Chunk(call_id="a", chunk_id=0, speaker=0, text="slow 3600")])
    async with worker(impatient) as process:
        code, said = await end_of(process)
    assert code == EXIT_STALLED
    assert "messages wait and nothing has happened for" in said


async def test_a_worker_whose_event_loop_is_blocked_ends_itself_and_says_so(impatient: Settings) -> None:
    await write(impatient, Topic.CHUNKS, [Chunk(call_id="a", chunk_id=0, speaker=0, text="block 3600")])
    async with worker(impatient) as process:
        code, said = await end_of(process)
    assert code == EXIT_STALLED
    assert "the event loop has not run for" in said


async def test_a_bad_deploy_leaves_its_messages_on_the_topic_and_ends_the_worker(impatient: Settings) -> None:
    given = [Chunk(call_id=f"c{number}", chunk_id=0, speaker=0, text="flaky 99") for number in range(300)]
    await write(impatient, Topic.CHUNKS, given)
    async with worker(impatient) as process:
        code, said = await end_of(process)
    assert code == EXIT_DEAD_LETTERS
    assert "messages in a row failed" in said
    assert await written(impatient, Topic.DEAD_LETTERS) == 0


@pytest.mark.parametrize("silent", [True, False], ids=["silent", "dead"])
async def test_a_worker_that_is_stopped_while_kafka_is_away_ends_with_zero_within_its_time(silent: bool) -> None:
    with own_kafka() as broker:
        settings = Settings(kafka=broker.bootstrap, partitions=2, web_port=free_ports(1)[0])
        await create_topics(settings)
        await write(settings, Topic.CHUNKS, chunks(calls=20, each=20, text="slow 0.05"))
        async with worker(settings) as process:
            await ready(settings)
            if silent:
                os.kill(broker.pids[0], signal.SIGSTOP)
            else:
                await asyncio.to_thread(broker.kill, 0)
            await asyncio.sleep(1)
            process.send_signal(signal.SIGTERM)
            output, _ = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == EXIT_STOPPED, output.decode()
    assert b"Traceback" not in output, output.decode()


async def test_an_idle_worker_whose_kafka_falls_silent_says_so_comes_back_with_it_and_ends_where_it_stays_away() -> (
    None
):
    with own_kafka() as broker:
        settings = Settings(
            kafka=broker.bootstrap, partitions=2, web_port=free_ports(1)[0], stall_timeout=25.0, request_timeout=5.0
        )
        await create_topics(settings)
        async with worker(settings) as process:
            await ready(settings)
            os.kill(broker.pids[0], signal.SIGSTOP)
            assert "Kafka has not answered for" in await ready(settings, wanted=503)
            assert 'clearcall_group_member{stage="echo"} 0.0' in await metrics(settings)
            while not re.search(r"clearcall_kafka_silent_seconds\S* ([89]|\d\d)\.", await metrics(settings)):  # noqa: ASYNC110 - another process is asked
                await asyncio.sleep(0.2)
            os.kill(broker.pids[0], signal.SIGCONT)
            await ready(settings)
            await asyncio.to_thread(broker.kill, 0)
            assert "Kafka has not answered for" in await ready(settings, wanted=503)
            output, _ = await asyncio.wait_for(process.communicate(), 90)
    said = re.sub(r"\x1b\[\d*m", "", output.decode())
    assert process.returncode == EXIT_STALLED, said
    assert "echo: Kafka has not answered for" in [line for line in said.splitlines() if "critical" in line][-1]
    assert (said.count("kafka.silent"), said.count("kafka.back")) == (2, 1)
    assert "Traceback" not in said


async def test_a_worker_that_is_stopped_while_the_database_answers_nothing_ends_in_time_and_says_why(
    settings: Settings,
) -> None:
    """What it could not store is not acked."""
    with socket.create_server(("127.0.0.1", 0)) as database:
        database.setblocking(False)
        dsn = f"http://127.0.0.1:{database.getsockname()[1]}/calls"
        settings = settings.model_copy(update={"stop_timeout": 8.0, "session_timeout": 6.0, "db": dsn})
        await create_topics(settings)
        await write(settings, Topic.CLEANED, [(b"a", encode(cleaned(chunk("hello"), Status.CLEAN, [])), [])])
        async with worker(settings, "-m", "clearcall", "worker", "--stage", "sink") as process:
            async with asyncio.timeout(60):
                connection, _ = await asyncio.get_running_loop().sock_accept(database)
            with connection:
                process.send_signal(signal.SIGTERM)
                output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == EXIT_STOPPED, output.decode()
    assert "insert.abandoned" in output.decode()
    await delete_topics(settings)


async def test_a_worker_whose_web_port_is_taken_says_so(impatient: Settings) -> None:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", impatient.web_port)
    async with server, worker(impatient) as process:
        code, said = await end_of(process)
    assert code == EXIT_FAILED
    assert f"the web port 127.0.0.1:{impatient.web_port} cannot be used" in said
