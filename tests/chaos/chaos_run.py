"""Nothing lost, nothing doubled, under faults: three brokers, two workers of every stage, and a seed.

    python tests/chaos/chaos_run.py --minutes 10 --seed 7

``--recovery`` measures a few kinds of fault by themselves, ``--rolling`` restarts all workers one after the other.
Exits 1 where anything did not hold. The logs of the workers are kept only then, or with --keep.
"""

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from aiokafka.errors import KafkaError
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))  # the servers that all tests share

from chaos_cluster import SIDES, Cluster
from chaos_database import Store, now
from chaos_evidence import Reader, behind
from chaos_faults import Faults
from chaos_model import Model
from chaos_schedule import BY_NAME, KINDS, apart, schedule
from chaos_table import Run, show, write
from chaos_traffic import Traffic
from chaos_verify import verdict
from chaos_watch import Watch
from chaos_workers import Fleet

from clearcall.infra.settings import Settings
from clearcall.schemas import Topic
from clearcall.streams.topics import create_topics
from clickhouse_http import PASSWORD

PARTITIONS = 6
_WARM_UP_SECONDS = 90.0
_AFTERWARDS_SECONDS = 15.0
"""Of traffic behind the last fault, so that it too can be recovered from."""
_CATCH_UP_SECONDS = 300.0
_APART_SECONDS = 24.0
"""From one fault to the next where each is measured by itself: twice what any of them takes."""
_ROLLING_PAUSE_SECONDS = 2.0


async def run(given: argparse.Namespace, folder: Path, narrate: Callable[[str], None]) -> Run:
    """Start everything, break it, judge what is left."""
    source = random.Random(given.seed)
    cluster, store, model = Cluster(), Store(folder / "db"), Model(random.Random(source.random()))
    settings = Settings(kafka="x:1", topic_prefix="chaos.", group_prefix="chaos", partitions=PARTITIONS, replication=3)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.stop)
        await cluster.start()
        settings = settings.model_copy(update={"kafka": cluster.direct})
        await create_topics(settings)
        stack.push_async_callback(store.stop)
        rows = await store.start()
        await stack.enter_async_context(model.served())
        fleet = Fleet({side: _environment(settings, cluster.side(side), store, model) for side in SIDES}, folder)
        stack.push_async_callback(fleet.abandon)
        fleet.start()
        traffic = Traffic(settings.kafka, settings.topic_prefix, random.Random(source.random()), rate=given.rate)
        watch = Watch(settings.kafka, settings.topic_prefix, PARTITIONS, rows)
        following = asyncio.create_task(watch.follow())
        sending = asyncio.create_task(traffic.run())
        stack.callback(following.cancel)
        stack.callback(sending.cancel)
        await _until(lambda: len(watch.seen.stored) > given.rate, _WARM_UP_SECONDS, "the first chunks were stored")
        narrate("warm: the faults begin")

        letters = settings.topic_prefix + Topic.DEAD_LETTERS
        faults = Faults(fleet, cluster, store, model, letters=letters, narrate=narrate)
        await _break(faults, given)
        await asyncio.sleep(_AFTERWARDS_SECONDS)
        traffic.end()
        await sending
        narrate(f"all faults are healed; {len(traffic.sent.at)} chunks sent")
        last_sent = now()
        await _caught_up(settings, lambda: traffic.sent.at.keys() <= watch.seen.stored.keys(), narrate)
        catch_up = now() - last_sent
        stuck = await fleet.stop()
        following.cancel()
        evidence = await Reader(settings, frozenset(traffic.sent.poison)).gather(rows)
        return Run(
            seed=given.seed,
            minutes=given.minutes,
            rate=given.rate,
            date=datetime.now(timezone.utc).date().isoformat(),  # noqa: UP017 - datetime.UTC is the same
            done=faults.done,
            sent=traffic.sent,
            seen=watch.seen,
            ends=fleet.ends,
            catch_up=catch_up,
            verdict=verdict(traffic.sent, replace(evidence, stuck=stuck)),
            statuses=await asyncio.to_thread(rows.statuses),
        )


async def _break(faults: Faults, given: argparse.Namespace) -> None:
    if given.rolling:
        await faults.roll(given.rolling, _ROLLING_PAUSE_SECONDS)
    elif given.recovery:
        await faults.run(apart(given.seed, given.recovery, _APART_SECONDS))
    else:
        kinds = [BY_NAME[name] for name in given.faults] or KINDS
        await faults.run(schedule(given.seed, given.minutes * 60, kinds, given.pause, given.longest))


def _environment(settings: Settings, kafka: str, store: Store, model: Model) -> dict[str, str]:
    return {
        "CLEARCALL_KAFKA": kafka,
        "CLEARCALL_TOPIC_PREFIX": settings.topic_prefix,
        "CLEARCALL_GROUP_PREFIX": settings.group_prefix,
        "CLEARCALL_PARTITIONS": str(settings.partitions),
        "CLEARCALL_REPLICATION": str(settings.replication),
        "CLEARCALL_DB": store.dsn,
        "CLEARCALL_DB_PASSWORD": PASSWORD,
        "CLEARCALL_URLS": model.url,
        "CLEARCALL_REQUEST_TIMEOUT": "15",  # the fake model answers in under 10 s or never
        "CLEARCALL_DECODING": "free",  # what the model makes up must be flagged, or nothing would be corrected
        "CLEARCALL_LOG_FORMAT": "json",
    }


async def _until(held: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = now() + seconds
    while not held():
        if now() > deadline:
            raise TimeoutError(f"{seconds:g} s have passed before {what}")
        await asyncio.sleep(0.5)


async def _caught_up(settings: Settings, stored: Callable[[], bool], narrate: Callable[[str], None]) -> None:
    """Until all is stored and committed; what is not by then, the verdict will tell."""
    deadline = now() + _CATCH_UP_SECONDS
    lags: dict[str, int] = {}
    while now() < deadline:
        try:
            lags = await behind(settings)
        except (
            KafkaError,
            OSError,
            AttributeError,
        ) as error:  # the last is aiokafka's own, of a coordinator that moved
            narrate(f"the groups cannot be asked: {error!r}")
        else:
            if stored() and not any(lags.values()):
                return
        await asyncio.sleep(2)
    narrate(f"not caught up after {_CATCH_UP_SECONDS:g} s: {lags}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10, help="of faults")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rate", type=float, default=20, help="chunks a second")
    parser.add_argument("--faults", type=lambda text: text.split(","), default=[], help="kinds, comma separated")
    parser.add_argument("--pause", type=_two, default=(5.0, 11.0), help="seconds between two faults, as 5:11")
    parser.add_argument("--longest", type=float, default=60.0, help="seconds that a fault holds at most")
    parser.add_argument("--recovery", type=int, nargs="?", const=5, default=0, help="faults one by one, each so often")
    parser.add_argument(
        "--rolling", type=int, nargs="?", const=2, default=0, help="restart all workers, so many rounds"
    )
    parser.add_argument("--json", type=Path, help="write the figures there too")
    parser.add_argument("--keep", type=Path, help="keep the logs there")
    given = parser.parse_args()
    unknown = set(given.faults) - BY_NAME.keys()
    if unknown:
        parser.error(f"no fault {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    logging.disable(logging.CRITICAL)  # the harness's own Kafka clients complain of every fault
    console = Console(width=110, highlight=False)
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="clearcall-chaos-"))
    wrong = True
    try:
        finished = asyncio.run(
            run(given, folder, lambda text: console.print(f"{time.monotonic() - start:5.0f} s  {text}", markup=False))
        )
        wrong = bool(finished.verdict.faults)
        show(finished, console)
        if given.json:
            write(finished, given.json)
    finally:
        kept = given.keep or (Path("out/chaos") if wrong else None)
        if kept:
            kept.mkdir(parents=True, exist_ok=True)
            for log in folder.glob("*.log"):
                shutil.copy(log, kept)
            console.print(f"the workers' logs are in {kept}")
        shutil.rmtree(folder, ignore_errors=True)
    return int(wrong)


def _two(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    return float(low), float(high)


if __name__ == "__main__":
    sys.exit(main())
