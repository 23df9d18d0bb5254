"""How fast the sink stores, on the embedded engine: ``python tests/benchmarks/bench_sink.py [--batches 20]``.

A batch is 10,000 messages, half evaluations of three fragments and half cleaned chunks: 25,000 rows.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psutil
import structlog
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))
from clearcall.agents import sink
from clearcall.infra.clickhouse import connect
from clearcall.infra.clickhouse.report import summary_and_tables
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import Incoming, Message
from clickhouse_samples import attempt, chunk, cleaned, evaluation, fragment

console = Console(highlight=False)

MESSAGES = 10_000
TEXT = "so um the brakes squeak when i when i stop at the lights " * 4


def batch(first: int) -> list[Incoming[Message]]:
    found: list[Incoming[Message]] = []
    for number in range(first, first + MESSAGES // 2):
        of = chunk(f"call{number // 20}", number % 20, TEXT)
        scored = attempt(0, [fragment(each, 70.0 + each * 8) for each in range(3)], cleaned=TEXT)
        found += [Incoming(evaluation(of, scored)), Incoming(cleaned(of))]
    return found


def megabytes() -> int:
    return round(psutil.Process().memory_info().rss / 1e6)


async def measure(settings: Settings, batches: int) -> None:
    store = sink.build(settings)
    await store([Incoming(cleaned(chunk("first")))])
    console.print(f"opened and migrated: {megabytes()} MB")
    storing, making, rows = 0.0, 0.0, 0
    for number in range(batches):
        messages = batch(number * MESSAGES // 2)
        started = time.perf_counter()
        tables = columns([incoming.message for incoming in messages])
        making += time.perf_counter() - started
        rows += sum(len(next(iter(values.values()))) for values in tables.values())
        started = time.perf_counter()
        await store(messages)
        storing += time.perf_counter() - started
    console.print(f"{batches} batches: {rows / storing:,.0f} rows/s, {batches * MESSAGES / storing:,.0f} messages/s")
    console.print(f"of that time making the rows took {making / storing:.0%}; {megabytes()} MB")
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    batches = parser.parse_args().batches
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=f"chdb://{folder}/db")
        asyncio.run(measure(settings, batches))
        with closing(connect(settings)) as database:
            started, cpu = time.perf_counter(), time.process_time()
            summary_and_tables(database)
            spent = time.perf_counter() - started
            console.print(f"report over it: {spent:.1f} s ({time.process_time() - cpu:.1f} s of CPU), {megabytes()} MB")


if __name__ == "__main__":
    main()
