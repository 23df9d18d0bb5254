"""One Faust app per stage: its topics as raw bytes into the ordered runtime, and the runtime's messages out."""

from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Self

import faust
import structlog
from faust.streams import Stream
from faust.types import TP, EventT, StreamT
from mode import ServiceT
from yarl import URL

from clearcall.infra.kafka.security import tls_context, with_tls, with_user
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic
from clearcall.streams.faust_consumer import COMMIT_SECONDS, GuardedConsumer, GuardedTransport
from clearcall.streams.groups import group_of
from clearcall.streams.ordered import Ordered
from clearcall.streams.records import Partition, Record
from clearcall.streams.silence import Silence

log = structlog.get_logger()

_POLL_INTERVAL_SECONDS = 7 * 24 * 3600.0
"""A worker that exceeds it leaves its group and never comes back, alive and silent; our watchdog judges instead."""

_COMMIT_INTERVAL_SECONDS = 1.0
_BUFFERED_EVENTS = 256
"""In Faust's queue before the runtime's own bound; small, since messages can be large."""

_POLLED_RECORDS = 250
"""Handed over at a time: a paused partition has at most so many still on their way."""

_FETCH_BYTES = 1_100_000
"""Per partition and fetch: a little above the largest message that a broker takes by default."""

_REQUEST_BYTES = 1_048_576
_BATCH_BYTES = 131_072

_LINGER_SECONDS = 0.005
"""Messages of as many calls as finish meanwhile go in one request: a third less time per message, measured."""

_SEND_SECONDS = 30.0
"""For an answer to what was sent, then it is sent again: a broker that went silent holds up no longer."""

_REQUEST_SECONDS = 90.0

_HEARTBEAT_SECONDS = 1.0
"""By its heartbeat a worker learns that its group forms anew: it adds to every hand-over. At most a third of the
session timeout, so that two lost heartbeats end nothing. They come from Faust's consumer thread, which needs the
interpreter for a moment and the event loop not at all: a handler that blocks the loop does not miss them."""

_REBALANCE_SLACK_SECONDS = 10.0
"""More than the drain needs, so that a worker is back in its group before Kafka gives up on it."""


def broker_credentials(settings: Settings) -> faust.SASLCredentials | faust.SSLCredentials | None:
    """The settings' TLS and user as Faust takes them; its driver hands them on to both of its clients.

    Raises:
        BadSettings: a certificate or key cannot be read.
    """
    context = tls_context(settings) if with_tls(settings) else None
    if with_user(settings):
        return faust.SASLCredentials(
            username=settings.kafka_user,
            password=settings.kafka_password.get_secret_value(),
            ssl_context=context,
            mechanism=settings.kafka_sasl_mechanism,
        )
    return faust.SSLCredentials(context) if context else None


class StageApp(faust.App):
    """A Faust app without tables, web server, leader topic or folders.

    ``ordered`` is set before the start; the runtime and the app need each other.
    """

    ordered: Ordered
    drain_timeout: float
    silence: Silence

    @classmethod
    def build(cls, stage: str, settings: Settings) -> Self:
        """The app of ``stage``; its group is the settings' prefix and the stage's name."""
        app = cls(
            group_of(settings, stage),
            broker=[URL(f"kafka://{address.strip()}") for address in settings.kafka.split(",")],
            broker_credentials=broker_credentials(settings),
            autodiscover=False,
            web_enabled=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            consumer_auto_offset_reset="earliest",
            consumer_max_fetch_size=_FETCH_BYTES,
            producer_acks=-1,
            producer_linger=_LINGER_SECONDS,
            producer_max_request_size=_REQUEST_BYTES,
            producer_max_batch_size=_BATCH_BYTES,
            producer_request_timeout=_SEND_SECONDS,
            broker_commit_interval=_COMMIT_INTERVAL_SECONDS,
            broker_max_poll_records=_POLLED_RECORDS,
            broker_max_poll_interval=_POLL_INTERVAL_SECONDS,
            broker_request_timeout=max(_REQUEST_SECONDS, settings.session_timeout + 1),
            broker_session_timeout=settings.session_timeout,
            broker_heartbeat_interval=min(_HEARTBEAT_SECONDS, settings.session_timeout / 3),
            broker_rebalance_timeout=settings.drain_timeout + _REBALANCE_SLACK_SECONDS,
            stream_wait_empty=False,
            stream_buffer_maxsize=_BUFFERED_EVENTS,
            cython_optimizations=True,
        )
        app.drain_timeout = settings.drain_timeout
        app.silence = Silence(stage, settings.session_timeout)
        app.transport = GuardedTransport(app.conf.broker_consumer, app, app.committable, app.lowest_unfinished)
        app.on_partitions_revoked.connect(app._revoked)
        return app

    def consume(self, topics: Iterable[Topic], prefix: str) -> None:
        """Read ``topics`` into the runtime, byte for byte."""
        by_name = {prefix + topic: topic for topic in topics}
        source = self.topic(
            *by_name, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw", internal=False
        )

        async def intake(stream: StreamT[Any]) -> None:
            assert isinstance(stream, Stream)
            partitions: dict[Any, Partition] = {}
            async for event in stream.noack().events():
                await self._take(event, by_name, partitions)

        self.agent(source, name=f"{self.conf.id}-intake")(intake)

    async def produce(self, topic: str, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> Awaitable[Any]:
        """Queue a message; what is returned resolves when Kafka has it."""
        return await self.producer.send(topic, key, value, None, None, headers)

    async def _take(self, event: EventT[Any], by_name: dict[str, Topic], partitions: dict[Any, Partition]) -> None:
        message = event.message
        if message.generation_id != self.consumer_generation_id:
            return  # fetched under an assignment that is over: Kafka delivers it again
        tp = message.tp
        partition = partitions.get(tp)
        if partition is None:
            partition = partitions[tp] = Partition(tp.topic, tp.partition)
        headers: Any = message.headers or ()
        await self.ordered.take(
            Record(by_name[tp.topic], partition, message.offset, message.key, message.value, headers, message.timestamp)
        )

    async def _revoked(self, _app: Any, /, *given: Any, **_: Any) -> None:
        """Finish what runs, commit it, forget the rest, before Kafka gives the partitions to anyone."""
        await self.settle_down(self.drain_timeout)
        log.info("partitions.revoked", group=self.conf.id, partitions=len(given[0]) if given else 0)

    async def settle_down(self, seconds: float, commit_seconds: float = COMMIT_SECONDS) -> None:
        """Drain for at most ``seconds``, commit for at most ``commit_seconds``, and forget the assignment."""
        await self.ordered.drain(seconds)
        consumer = self.guarded
        await consumer.commit_within(commit_seconds)
        self.ordered.revoke()
        consumer.forget_commits()

    def pause(self, partition: Partition) -> None:
        """Fetch no more of ``partition``; Faust does the same for its own full queues."""
        self.guarded.on_buffer_full(TP(*partition))

    def resume(self, partition: Partition) -> None:
        """Fetch ``partition`` again."""
        self.guarded.on_buffer_drop(TP(*partition))

    def pause_all(self) -> None:
        """Fetch nothing more."""
        for tp in self.guarded.assignment():
            self.guarded.on_buffer_full(tp)

    def resume_all(self, but: AbstractSet[Partition]) -> None:
        """Fetch every partition again that is not to stay paused."""
        for tp in self.guarded.assignment():
            if Partition(tp.topic, tp.partition) not in but:
                self.guarded.on_buffer_drop(tp)

    def committable(self) -> dict[Partition, int]:
        """What the runtime has finished, per partition."""
        return self.ordered.committable()

    def lowest_unfinished(self, partition: Partition) -> int | None:
        """The lowest offset of ``partition`` that is under way."""
        return self.ordered.lowest_unfinished(partition)

    @property
    def guarded(self) -> GuardedConsumer:
        """The consumer, by its type."""
        consumer = self.consumer
        assert isinstance(consumer, GuardedConsumer)
        return consumer

    @property
    def consumes(self) -> bool:
        """The app has got as far as to have a consumer."""
        return self._consumer is not None

    def silent_seconds(self) -> float:
        """Since Kafka last answered; 0 before the consumer is there."""
        return self.silence.seconds(self.guarded.client) if self.consumes else 0.0

    def is_member(self) -> bool:
        """The app is in its group and no rebalance is under way, as far as Kafka has answered."""
        return self.consumes and self.guarded.is_member and not self.rebalancing

    def lag(self) -> int:
        """Messages that wait, as far as known."""
        return self.guarded.lag() if self.consumes and self.guarded.is_member else 0

    def on_init_dependencies(self) -> Iterable[ServiceT]:
        """Faust's services without its monitor: we count ourselves."""
        return self.boot_strategy.server()

    def _create_directories(self) -> None:
        """Faust would make a folder for tables, and there are none."""
