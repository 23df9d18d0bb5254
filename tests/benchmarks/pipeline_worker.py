"""One process of the pipeline's benchmark: a stage, a bare Faust agent or a bare aiokafka loop; it reports on itself.

Every tenth of a second it prints a line ``sample {…}``: seconds, messages finished, processor seconds in all, and of
them those spent in what is not the pipeline's own (model, scoring, database).
"""

import asyncio
import importlib
import json
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import faust
import psutil
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from clearcall.infra.logging import configure
from clearcall.infra.settings import Settings, load
from clearcall.schemas import Topic
from clearcall.streams.worker import running

SAMPLE_SECONDS = 0.1
BARE_TOPIC = "bare-"
# Not the pipeline's own: module, and the functions in it whose time is taken off.
FOREIGN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "consultant": (
        ("clearcall.agents.consultant.rules", "rule_clean"),
        ("clearcall.agents.consultant.agent", "is_nothing_to_clean"),
    ),
    "evaluator": (
        ("clearcall.agents.evaluator", "evaluate_turn"),
        ("clearcall.agents.evaluator", "restore"),
        ("clearcall.agents.evaluator", "rule_clean"),
    ),
    "sink": (),
}


class Reporter:
    """Prints samples until the process is told to end."""

    def __init__(self) -> None:
        self.finished = 0
        self.foreign = 0.0
        self.count: Callable[[], int] = lambda: self.finished
        self._process = psutil.Process()

    def take_off(self, module: str, name: str) -> None:
        """Count the processor time of a function as foreign."""
        holder = importlib.import_module(module)
        inner = getattr(holder, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            before = time.thread_time()
            try:
                return inner(*args, **kwargs)
            finally:
                self.foreign += time.thread_time() - before

        setattr(holder, name, timed)

    async def until_told(self) -> None:
        """Return on SIGTERM."""
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
        while not told.is_set():
            self._print()
            await asyncio.sleep(SAMPLE_SECONDS)
        self._print()

    def _print(self) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        sample = {
            "seconds": time.monotonic(),
            "finished": self.count(),
            "cpu": usage.ru_utime + usage.ru_stime,
            "foreign": self.foreign,
            "rss": self._process.memory_info().rss,
        }
        print("sample", json.dumps(sample), flush=True)  # noqa: T201 - the parent reads it


async def stage(name: str, settings: Settings, reporter: Reporter) -> None:
    """A stage as ``clearcall worker`` runs it."""
    for module, function in FOREIGN[name]:
        reporter.take_off(module, function)
    async with running([name], settings) as (one,):
        reporter.count = lambda: one.counters.finished
        await reporter.until_told()


async def sink_without_database(settings: Settings, reporter: Reporter) -> None:
    """The sink with a database that takes everything at once."""
    database = mock.Mock(embedded=False, insert=lambda _table, _columns: None)
    with (
        mock.patch("clearcall.agents.sink.connect", return_value=database),
        mock.patch("clearcall.agents.sink.require"),
    ):
        await stage("sink", settings, reporter)


async def bare_faust(settings: Settings, reporter: Reporter) -> None:
    """The least that Faust needs to move messages: no decoding, no guarantee on failure."""
    app = faust.App(
        f"{settings.group_prefix}-bare-faust",
        broker=f"kafka://{settings.kafka}",
        autodiscover=False,
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
    )
    raw: dict[str, Any] = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}
    source = app.topic(settings.topic_prefix + Topic.CHUNKS, internal=False, **raw)
    target = app.topic(settings.topic_prefix + BARE_TOPIC + "faust", internal=False, **raw)

    async def move(stream: Any) -> None:
        async for event in stream.events():
            await target.send(key=event.key, value=event.value, headers=event.headers)
            reporter.finished += 1

    app.agent(source)(move)
    await app.start()
    await reporter.until_told()
    await app.stop()


async def bare_aiokafka(settings: Settings, reporter: Reporter) -> None:
    """The least that aiokafka needs for at least once: send a batch, wait, commit."""
    consumer = AIOKafkaConsumer(
        settings.topic_prefix + Topic.CHUNKS,
        bootstrap_servers=settings.kafka,
        group_id=f"{settings.group_prefix}-bare-aiokafka",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    target = settings.topic_prefix + BARE_TOPIC + "aiokafka"
    async with consumer, AIOKafkaProducer(bootstrap_servers=settings.kafka, acks="all") as producer:
        moving = asyncio.create_task(_move(consumer, producer, target, reporter))
        await reporter.until_told()
        moving.cancel()
        await asyncio.wait((moving,))


async def _move(consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, target: str, reporter: Reporter) -> None:
    while True:
        batches = await consumer.getmany(timeout_ms=200, max_records=500)
        records = [record for batch in batches.values() for record in batch]
        sends = [await producer.send(target, one.value, one.key, headers=list(one.headers)) for one in records]
        await asyncio.gather(*sends)
        if records:
            await consumer.commit()
        reporter.finished += len(records)


async def main(role: str, settings: Settings) -> None:
    """Play ``role`` until SIGTERM."""
    reporter = Reporter()
    if role == "faust":
        await bare_faust(settings, reporter)
    elif role == "aiokafka":
        await bare_aiokafka(settings, reporter)
    elif role == "sink-dry":
        await sink_without_database(settings, reporter)
    else:
        await stage(role, settings, reporter)


if __name__ == "__main__":
    chosen = load(**json.loads(sys.argv[2]))
    configure(chosen)
    asyncio.run(main(sys.argv[1], chosen))
