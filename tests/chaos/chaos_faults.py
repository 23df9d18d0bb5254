"""Makes each fault happen, and heals it."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from chaos_cluster import SIDES, Cluster
from chaos_database import Store, now
from chaos_model import Model
from chaos_schedule import ROLLING, Fault
from chaos_workers import STAGES, Fleet, Worker

_CLOCK_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that was made: when it began, and when it was over."""

    kind: str
    what: str
    began: float
    over: float


class Faults:
    """Everything that can be broken. ``narrate`` is told what happens."""

    def __init__(
        self,
        fleet: Fleet,
        cluster: Cluster,
        store: Store,
        model: Model,
        *,
        letters: str,
        narrate: Callable[[str], None],
    ) -> None:
        self._fleet = fleet
        self._cluster = cluster
        self._store = store
        self._model = model
        self._letters = letters
        self._narrate = narrate
        self.done: list[Done] = []
        self._ways: dict[str, Callable[[Fault, random.Random], Awaitable[str]]] = {
            "worker killed": self._worker_killed,
            "worker terminated": self._worker_terminated,
            "worker frozen": self._worker_frozen,
            "worker added and removed": self._worker_added,
            "clock jumps": self._clock_jumps,
            "broker killed": self._broker_killed,
            "controller killed": self._controller_killed,
            "network to Kafka cut": self._network_cut,
            "database down": self._database_down,
            "database slow": self._database_slow,
            "database has too many parts": self._too_many_parts,
            "database silent after inserting": self._silent_after_inserting,
            "model down": self._model_down,
            "model slow": lambda fault, _: self._model_is("slow", fault),
            "model hanging": lambda fault, _: self._model_is("hanging", fault),
            "model answers 429 or 500": lambda fault, source: self._model_is(source.choice(("busy", "failing")), fault),
            "model answers garbage": lambda fault, _: self._model_is("garbage", fault),
            "model answers cut": lambda fault, _: self._model_is("cut", fault),
            "dead letters refused": self._letters_refused,
        }

    async def run(self, faults: Sequence[Fault]) -> None:
        """Each at its time; returns when all are healed."""
        start = now()
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await asyncio.sleep(max(0.0, start + fault.at - now()))
                group.create_task(self._make(fault))

    async def roll(self, rounds: int, pause: float) -> None:
        """End every worker in order and start it anew, one after the other: what a new version does."""
        for worker in [*self._fleet.workers] * rounds:
            began = now()
            code, seconds = await worker.restart()
            what = f"{worker.name}, ended with {code} after {seconds:.1f} s"
            self.done.append(Done(ROLLING.name, what, began, now()))
            self._narrate(f"{ROLLING.name}: {what}, its successor works after {now() - began:.1f} s")
            await asyncio.sleep(pause)

    async def _make(self, fault: Fault) -> None:
        began = now()
        what = await self._ways[fault.kind](fault, random.Random(fault.seed))
        self.done.append(Done(fault.kind, what, began, now()))
        self._narrate(f"{fault.kind}: {what}, {now() - began:.0f} s")

    def _worker(self, source: random.Random) -> Worker:
        return source.choice(self._fleet.workers)

    async def _worker_killed(self, _fault: Fault, source: random.Random) -> str:
        worker = self._worker(source)
        worker.signal(signal.SIGKILL)
        return worker.name

    async def _worker_terminated(self, _fault: Fault, source: random.Random) -> str:
        worker = self._worker(source)
        worker.signal(signal.SIGTERM)
        return worker.name

    async def _worker_frozen(self, fault: Fault, source: random.Random) -> str:
        worker = self._worker(source)
        worker.signal(signal.SIGSTOP)
        await asyncio.sleep(fault.seconds)
        worker.signal(signal.SIGCONT)
        return worker.name

    async def _worker_added(self, fault: Fault, source: random.Random) -> str:
        worker = self._fleet.add(source.choice(STAGES), source.choice(SIDES))
        await asyncio.sleep(fault.seconds)
        await self._fleet.remove(worker)
        return worker.name

    async def _clock_jumps(self, fault: Fault, source: random.Random) -> str:
        worker = self._worker(source)
        seconds = source.uniform(-_CLOCK_SECONDS, _CLOCK_SECONDS)
        worker.skew(seconds)
        await asyncio.sleep(fault.seconds)
        worker.skew(0)
        return f"{worker.name} by {seconds:+.0f} s"

    async def _broker_killed(self, fault: Fault, source: random.Random) -> str:
        async with self._cluster.one_at_a_time:
            return await self._kill(source.choice(self._cluster.brokers), fault)

    async def _controller_killed(self, fault: Fault, source: random.Random) -> str:
        async with self._cluster.one_at_a_time:
            leader = self._cluster.leader()
            return await self._kill(source.choice(self._cluster.brokers) if leader is None else leader, fault)

    async def _kill(self, broker: int, fault: Fault) -> str:
        await self._cluster.kill(broker)
        await asyncio.sleep(fault.seconds)
        await self._cluster.restart(broker)
        return f"broker {broker}"

    async def _network_cut(self, fault: Fault, source: random.Random) -> str:
        sides = source.choice(("A", "B", "AB"))
        reset = source.random() < 0.5
        await self._cluster.cut(sides, reset=reset)
        await asyncio.sleep(fault.seconds)
        await self._cluster.mend(sides)
        return f"side {sides}, connections {'reset' if reset else 'silent'}"

    async def _database_down(self, fault: Fault, source: random.Random) -> str:
        silent = source.random() < 0.5
        if silent:
            self._store.proxy.freeze()
        else:
            await self._store.proxy.refuse()
        await asyncio.sleep(fault.seconds)
        await self._store.proxy.open()
        return "silent" if silent else "refusing"

    async def _database_slow(self, fault: Fault, source: random.Random) -> str:
        self._store.trouble.slow = source.uniform(1, 5)
        await asyncio.sleep(fault.seconds)
        self._store.trouble.slow = 0.0
        return "inserts wait"

    async def _too_many_parts(self, fault: Fault, _source: random.Random) -> str:
        self._store.trouble.too_many_parts = True
        await asyncio.sleep(fault.seconds)
        self._store.trouble.too_many_parts = False
        return "code 252"

    async def _silent_after_inserting(self, fault: Fault, source: random.Random) -> str:
        self._store.trouble.silent_after = source.uniform(0.1, 5)
        await asyncio.sleep(fault.seconds)
        self._store.trouble.silent_after = 0.0
        return "rows land, no answer"

    async def _model_down(self, fault: Fault, _source: random.Random) -> str:
        await self._model.proxy.refuse()
        await asyncio.sleep(fault.seconds)
        await self._model.proxy.open()
        return "refusing"

    async def _model_is(self, mode: str, fault: Fault) -> str:
        self._model.mode = mode
        await asyncio.sleep(fault.seconds)
        if self._model.mode == mode:
            self._model.mode = "well"
        return mode

    async def _letters_refused(self, fault: Fault, _source: random.Random) -> str:
        await self._cluster.let_writes_fail(self._letters, fail=True)
        await asyncio.sleep(fault.seconds)
        await self._cluster.let_writes_fail(self._letters, fail=False)
        return "every write fails"
