"""Apache Kafka in KRaft mode on this machine, one broker or a cluster, for tests and for ``clearcall run``."""

import base64
import signal
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from clearcall.infra.kafka import maven
from clearcall.infra.kafka.errors import StartFailed
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.kafka.processes import Processes, log_tail
from clearcall.infra.kafka.readiness import wait_until_ready

_JVM = (
    "-Xms64m",
    "-Xmx320m",
    "-XX:+UseSerialGC",  # fewest threads: brokers share the machine with what they serve
    "-XX:TieredStopAtLevel=1",  # a third less work until it serves; these brokers never live long enough for more
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)
_FORMAT_TIMEOUT = 60.0  # seconds; a cold disk and busy cores: it takes one
_START_TIMEOUT = 90.0  # seconds; the same: it takes two to four
_STOP_TIMEOUT = 30.0  # seconds for a broker to hand over its partitions after SIGTERM


class ApacheKafka:
    """Brokers that live as long as this object, or its process, and keep nothing afterwards.

    Every call blocks; from an event loop use ``asyncio.to_thread``.

    Args:
        brokers: how many, each a broker and a controller; three survive the death of one.
        properties: Kafka's own broker settings, over ours.
        listeners: further ones, each by its security protocol (``SSL``, ``SASL_SSL``, …).
        scram: passwords by user, for SCRAM-SHA-512. They are on a command line while the brokers are made.
    """

    name: ClassVar[str] = "Apache Kafka"
    session_timeout: ClassVar[float] = 10.0

    def __init__(
        self,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        *,
        listeners: Sequence[str] = (),
        scram: Mapping[str, str] | None = None,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster of {brokers} brokers")
        self._given = dict(properties or {})
        self._listeners = tuple(listeners)
        self._scram = dict(scram or {})
        self._brokers = brokers
        self._ports: list[int] = []
        self._pids: dict[int, int] = {}
        self._processes: Processes | None = None
        self._java: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """``host:port`` of every broker, comma separated."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports[: self._brokers])

    def bootstrap_of(self, listener: str) -> str:
        """``host:port`` of every broker at one of the further ``listeners``."""
        return ",".join(f"localhost:{port}" for port in self._ports_of(listener))

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each running broker, by its number from 0."""
        return dict(self._pids)

    def start(self) -> None:
        """Fetch Kafka if need be, format the folders, start every broker and return when all serve.

        Raises:
            NoBroker: no Java, or no Kafka and no way to fetch it.
            StartFailed: a broker did not come up.
        """
        self._java = [maven.java(), *_JVM, "-cp", f"{maven.jars()}/*"]
        self._processes = Processes("clearcall-kafka-")
        try:
            self._ports = free_ports((2 + len(self._listeners)) * self._brokers)
            self._write_properties()
            self._format()
            for broker in range(self._brokers):
                self._launch(broker)
            for broker in range(self._brokers):
                self._wait_for(broker, self._brokers)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill every broker and remove its data: nothing of it is kept anyway. A second call does nothing."""
        self._pids.clear()
        if self._processes is not None:
            self._processes.close()

    def kill(self, broker: int) -> None:
        """End one broker as a crash would."""
        self._end(broker, signal.SIGKILL)

    def terminate(self, broker: int) -> None:
        """End one broker in order: it hands its partitions over first."""
        self._end(broker, signal.SIGTERM)

    def restart(self, broker: int) -> None:
        """Start a broker that was ended, on its old port and data, and return when it serves.

        Raises:
            StartFailed: it did not come up.
        """
        if broker in self._pids:
            raise ValueError(f"broker {broker} runs")
        self._launch(broker)
        self._wait_for(broker, len(self._pids))

    def _end(self, broker: int, number: signal.Signals) -> None:
        pid = self._pids.pop(broker)
        self._running().signal(pid, number)
        self._running().wait(pid, _STOP_TIMEOUT)

    def _running(self) -> Processes:
        if self._processes is None:
            raise StartFailed("the broker was not started")
        return self._processes

    def _folder(self, broker: int) -> Path:
        return self._running().folder / f"broker-{broker}"

    def _ports_of(self, listener: str) -> list[int]:
        first = (2 + self._listeners.index(listener)) * self._brokers
        return self._ports[first : first + self._brokers]

    def _launch(self, broker: int) -> None:
        folder = self._folder(broker)
        argv = [*self._java, "kafka.Kafka", str(folder / "server.properties")]
        self._pids[broker] = self._running().start(argv, folder / "log")

    def _wait_for(self, broker: int, brokers: int) -> None:
        pid, log = self._pids[broker], self._folder(broker) / "log"

        def check() -> None:
            code = self._running().exit_code(pid)
            if code is not None:
                raise StartFailed(f"Kafka broker {broker} ended with {code}:\n{log_tail(log)}")

        try:
            wait_until_ready(self._ports[broker], brokers, _START_TIMEOUT, check)
        except StartFailed as error:
            raise StartFailed(f"{error}\n{log_tail(log)}") from error

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        running: dict[int, int] = {}
        for broker in range(self._brokers):
            folder = self._folder(broker)
            storage = [
                "kafka.tools.StorageTool",
                "format",
                "-t",
                f"A{cluster[1:]}",
            ]  # a leading dash would be an option
            users = [f"SCRAM-SHA-512=[name={user},password={word}]" for user, word in self._scram.items()]
            scram = [part for user in users for part in ("--add-scram", user)]
            argv = [*self._java, *storage, "-c", str(folder / "server.properties"), *scram]
            running[broker] = self._running().start(argv, folder / "log")
        for broker, pid in running.items():
            if self._running().wait(pid, _FORMAT_TIMEOUT):
                log = log_tail(self._folder(broker) / "log")
                raise StartFailed(f"the data folder of Kafka broker {broker} cannot be formatted:\n{log}")

    def _write_properties(self) -> None:
        for broker in range(self._brokers):
            folder = self._folder(broker)
            folder.mkdir()
            lines = [f"{key}={value}" for key, value in (self._properties(broker) | self._given).items()]
            (folder / "server.properties").write_text("\n".join(lines) + "\n")

    def _properties(self, broker: int) -> dict[str, str]:
        control = self._ports[self._brokers : 2 * self._brokers]
        further = [f"{listener}://localhost:{self._ports_of(listener)[broker]}" for listener in self._listeners]
        clients = ",".join([f"PLAINTEXT://127.0.0.1:{self._ports[broker]}", *further])
        copies = min(self._brokers, 3)
        return {
            "process.roles": "broker,controller",
            "node.id": str(broker),
            "controller.quorum.voters": ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(control)),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{control[broker]}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", *(f"{kind}:{kind}" for kind in self._listeners)]
            ),
            "log.dirs": str(self._folder(broker) / "data"),
            "num.partitions": "4",
            "default.replication.factor": str(copies),
            "min.insync.replicas": str(max(copies - 1, 1)),
            "offsets.topic.replication.factor": str(copies),
            "offsets.topic.num.partitions": "4",  # 50 by default: most of a group's first start goes into making them
            "transaction.state.log.replication.factor": str(copies),
            "transaction.state.log.min.isr": str(max(copies - 1, 1)),
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": str(copies),
            "share.coordinator.state.topic.min.isr": str(max(copies - 1, 1)),
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",  # tests of dead workers need not wait for 6 s
            "log.index.size.max.bytes": "1048576",  # 10 MB a partition is allocated by default
            "log.segment.bytes": "67108864",
            "auto.create.topics.enable": "false",  # a topic's number of partitions is ours to decide
            "broker.session.timeout.ms": "6000",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "log.cleaner.dedupe.buffer.size": "2097152",
        }
