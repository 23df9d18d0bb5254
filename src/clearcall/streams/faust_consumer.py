"""Faust's consumer with our commits: only what the ordered runtime has finished, never Faust's own reckoning.

Faust 0.15.3 can commit past a message that is still under way (faust-streaming/faust issue 606) and stops the app when
a commit fails. A test is pinned to that version and to the code that this file replaces.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers.aiokafka import Consumer, Transport
from faust.types import AppT
from faust.types.transports import ConsumerT, ProducerT

from clearcall.infra.kafka.header_names import tolerate_header_names
from clearcall.streams.faust_producer import PatientProducer
from clearcall.streams.records import Partition

log = structlog.get_logger()

Committable = Callable[[], dict[Partition, int]]
LowestUnfinished = Callable[[Partition], int | None]

_WHILE_PAUSED_SECONDS = 0.05
"""For one fetch while some partition is paused: it may be resumed, and have its messages here already."""

COMMIT_SECONDS = 10.0
"""A broker that answers no commit for this long is tried again at the next interval."""


class GuardedConsumer(Consumer):
    """Commits what ``committable`` of its transport says, and nothing else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        transport = self.transport
        assert isinstance(transport, GuardedTransport)
        self._committable: Committable = transport.committable
        self._lowest_unfinished: LowestUnfinished = transport.lowest_unfinished
        self._written: dict[Partition, int] = {}
        self._resumed = asyncio.Event()

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:  # noqa: ARG002 - Faust's signature
        """Commit now; ``False`` where there was nothing new or Kafka did not take it."""
        return await self._commit(self._committable())

    async def commit_within(self, seconds: float) -> bool:
        """As ``force_commit``, given up after ``seconds``."""
        return await self._commit(self._committable(), seconds)

    async def _commit(self, offsets: Mapping[Any, int], seconds: float = COMMIT_SECONDS) -> bool:
        """The one way to Kafka: whoever calls it, no offset goes past the lowest message under way."""
        due = within(offsets, self._committable(), self._written)
        assigned: set[Any] = self.assignment() if due else set()
        due = {partition: offset for partition, offset in due.items() if partition in assigned}
        if not due:
            return False
        values = {TopicPartition(*partition): OffsetAndMetadata(offset, "") for partition, offset in due.items()}
        thread = self._thread
        try:
            committing = thread.call_thread(thread._ensure_consumer().commit, values)  # noqa: SLF001 - pinned by a test
            await asyncio.wait_for(committing, seconds)
        except (KafkaError, IllegalStateError, ConsumerNotStarted, TimeoutError) as error:
            log.warning("commit.failed", error=repr(error)[:300], partitions=len(due))
            return False
        self._written.update(due)
        return True

    async def _wait_next_records(self, timeout: float) -> tuple[Any, Any]:  # noqa: ASYNC109 - Faust's signature
        """Fetch, and notice within a moment that a partition has been resumed.

        Faust sleeps a whole second where every partition is paused, and asks up to a second for those that were not
        paused when it began: a stage with a backlog on every partition would stand idle most of the time.
        """
        if self.flow_active and not self._get_active_partitions():
            self._resumed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._resumed.wait(), timeout)
            return {}, self._get_active_partitions()
        return await super()._wait_next_records(
            min(timeout, _WHILE_PAUSED_SECONDS) if self._buffered_partitions else timeout
        )

    def on_buffer_drop(self, tp: Any) -> None:
        """Fetch a partition again."""
        super().on_buffer_drop(tp)
        self._resumed.set()

    async def _add_gap(self, tp: Any, offset_from: int, offset_to: int) -> None:
        """Faust keeps every gap between offsets until its own commit; ours needs none."""

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Nothing: Faust counts acks that we do not make, and would warn of every healthy worker after 5 minutes."""

    def forget_commits(self) -> None:
        """The assignment is over: another worker may have committed further, or less."""
        self._written.clear()

    @property
    def is_member(self) -> bool:
        """The worker belongs to its group, with or without partitions."""
        try:
            consumer = self._thread._ensure_consumer()  # noqa: SLF001 - pinned by a test
        except ConsumerNotStarted:
            return False
        coordinator = consumer._coordinator  # noqa: SLF001 - aiokafka shows it nowhere else
        return coordinator is not None and bool(coordinator.generation >= 0)  # none until Kafka was reached

    def lag(self) -> int:
        """Messages of the assigned partitions that are not yet finished, as far as Kafka has told.

        Where none is under way the fetcher's position counts, which is past markers that are no messages.
        """
        subscription = self._thread._ensure_consumer()._subscription.subscription  # noqa: SLF001 - pinned by a test
        assignment = subscription.assignment if subscription is not None else None
        if assignment is None:
            return 0
        total = 0
        for tp in assignment.tps:
            state = assignment.state_value(tp)
            if state is None:
                continue
            if state.highwater is None or not state.has_valid_position:
                total += 1  # not known yet; a consumer that never learns it reads nothing, and must not look idle
                continue
            unfinished = self._lowest_unfinished(Partition(tp.topic, tp.partition))
            total += max(0, state.highwater - (state.position if unfinished is None else unfinished))
        return total


class GuardedTransport(Transport):
    """Faust's Kafka transport with the guarded consumer and the patient producer."""

    Consumer: ClassVar[type[ConsumerT]] = GuardedConsumer
    Producer: ClassVar[type[ProducerT]] = PatientProducer

    def __init__(self, url: Any, app: AppT, committable: Committable, lowest_unfinished: LowestUnfinished) -> None:
        tolerate_header_names()
        super().__init__(url, app)
        self.committable = committable
        self.lowest_unfinished = lowest_unfinished


def within(
    asked: Mapping[Any, int], committable: Mapping[Partition, int], written: Mapping[Partition, int]
) -> dict[Partition, int]:
    """What of ``asked`` may be committed: of known partitions only, not past ``committable``, not again."""
    allowed: dict[Partition, int] = {}
    for asked_partition, offset in asked.items():
        partition = Partition(*asked_partition)
        most = committable.get(partition)
        if most is None:
            continue
        bounded = min(offset, most)
        if bounded > written.get(partition, -1):
            allowed[partition] = bounded
    return allowed
