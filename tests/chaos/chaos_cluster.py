"""Three brokers that the workers reach by two sides of the network, each of which can be cut alone."""

import asyncio
import json
from contextlib import suppress

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from chaos_proxy import Proxy
from typing_extensions import override

from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.kafka.ports import free_ports

BROKERS = 3
SIDES = ("A", "B")

_TRIES = 60


class SidedKafka(ApacheKafka):
    """Apache Kafka with a listener for each side, advertised at that side's proxy; brokers themselves use none."""

    def __init__(self) -> None:
        super().__init__(BROKERS)
        numbers = free_ports(2 * BROKERS * len(SIDES))
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        self.listeners = {side: pairs[at * BROKERS : (at + 1) * BROKERS] for at, side in enumerate(SIDES)}
        """Per side and broker: the port of the proxy, and the broker's own behind it."""

    @override
    def _properties(self, broker: int) -> dict[str, str]:
        ours = super()._properties(broker)
        for side, pairs in self.listeners.items():
            proxy, own = pairs[broker]
            ours["listeners"] += f",{side}://127.0.0.1:{own}"
            ours["advertised.listeners"] += f",{side}://127.0.0.1:{proxy}"
        names = ("PLAINTEXT", "CONTROLLER", *SIDES)
        ours["listener.security.protocol.map"] = ",".join(f"{name}:PLAINTEXT" for name in names)
        ours["inter.broker.listener.name"] = "PLAINTEXT"
        return ours

    def leader(self) -> int | None:
        """The broker that leads the controllers; ``None`` while that is open."""
        best = (-1, -1)
        for broker in self.pids:
            state = self._folder(broker) / "data" / "__cluster_metadata-0" / "quorum-state"
            with suppress(OSError, ValueError, KeyError):
                found = json.loads(state.read_text())
                best = max(best, (int(found["leaderEpoch"]), int(found["leaderId"])))
        return best[1] if best[1] in self.pids else None


class Cluster:
    """The brokers and their proxies, for use in an event loop."""

    def __init__(self) -> None:
        self._kafka = SidedKafka()
        self._proxies = {side: [Proxy(*pair) for pair in pairs] for side, pairs in self._kafka.listeners.items()}
        self.one_at_a_time = asyncio.Lock()
        """Of three brokers one may be away: without two there is no majority."""

    @property
    def direct(self) -> str:
        """Bootstrap servers that are never cut."""
        return self._kafka.bootstrap

    def side(self, side: str) -> str:
        """Bootstrap servers of a side."""
        return ",".join(f"127.0.0.1:{proxy.port}" for proxy in self._proxies[side])

    async def start(self) -> None:
        await asyncio.gather(*(proxy.open() for proxies in self._proxies.values() for proxy in proxies))
        await asyncio.to_thread(self._kafka.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self._kafka.stop)
        await asyncio.gather(*(proxy.refuse() for proxies in self._proxies.values() for proxy in proxies))

    @property
    def brokers(self) -> list[int]:
        """Those that run."""
        return sorted(self._kafka.pids)

    def leader(self) -> int | None:
        return self._kafka.leader()

    async def kill(self, broker: int) -> None:
        await asyncio.to_thread(self._kafka.kill, broker)

    async def restart(self, broker: int) -> None:
        await asyncio.to_thread(self._kafka.restart, broker)

    async def cut(self, sides: str, *, reset: bool) -> None:
        """Cut the network of each side: connections end, or stay open and carry nothing."""
        for proxy in (proxy for side in sides for proxy in self._proxies[side]):
            if reset:
                await proxy.refuse()
            else:
                proxy.freeze()

    async def mend(self, sides: str) -> None:
        await asyncio.gather(*(proxy.open() for side in sides for proxy in self._proxies[side]))

    async def let_writes_fail(self, topic: str, *, fail: bool) -> None:
        """Make every write to ``topic`` fail: it asks for more copies in sync than there are brokers."""
        wanted = {"min.insync.replicas": str(BROKERS + 1 if fail else BROKERS - 1)}
        for _ in range(_TRIES):
            admin = AIOKafkaAdminClient(bootstrap_servers=self.direct)
            try:
                await admin.start()
                responses = await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, wanted)])
            except (KafkaError, OSError):
                await asyncio.sleep(1)  # another fault's broker was asked
            else:
                if not any(resource[0] for response in responses for resource in response.resources):
                    return
                await asyncio.sleep(1)
            finally:
                await admin.close()
        raise TimeoutError(f"{topic} takes no other setting")
