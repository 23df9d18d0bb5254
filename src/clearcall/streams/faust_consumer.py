"""Faust's consumer with our commits: only what the ordered runtime has finished, never Faust's own reckoning.

Faust 0.15.3 can commit past a message that is still under way (faust-streaming/faust issue 606) and stops the app when
a commit fails. A test is pinned to that version and to the code that this file replaces.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import OffsetResetStrategy
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport
from faust.types import AppT
from faust.types.transports import ConsumerT, ProducerT

from clearcall.infra.kafka.header_names import tolerate_header_names
from clearcall.infra.uncaught import of_loop, place_of, types_of
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

    _thread: "GuardedThread"

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

    def _new_consumer_thread(self) -> "GuardedThread":
        return GuardedThread(self, loop=self.loop, beacon=self.beacon)

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

    async def seek_to_committed(self) -> Mapping[Any, Any]:
        """Go back to what is committed in every assigned partition, to the beginning where nothing is.

        Faust does this with what it has fetched and may not hand on, as a group forms anew, and aiokafka's own way
        leaves a partition of which nothing was committed yet where the fetching has got to: what was fetched is lost.
        """
        thread = self._thread
        committed: Mapping[Any, Any] = await thread.call_thread(_seek_back, thread._ensure_consumer())  # noqa: SLF001 - pinned by a test
        return committed

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
        records, active = await super()._wait_next_records(
            min(timeout, _WHILE_PAUSED_SECONDS) if self._buffered_partitions else timeout
        )
        return await self._kept_while_stopped(records), active

    async def _kept_while_stopped(self, records: Any) -> Any:
        """What was fetched, once it may be handed on: nothing, where it belongs to an assignment that is over.

        A fetch that waits while the group forms anew can bring records of the new assignment before Faust lets them
        flow. It would throw them away and seek back, and where that failed they would be lost.
        """
        if not self.flow_active:
            await self.wait(self.can_resume_flow)  # type: ignore[arg-type] # an asyncio.Event, as Faust itself waits for it
        return records if self._thread.fetched_under is self._thread.present_assignment() else {}

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
    def client(self) -> Any:
        """The Kafka client, which knows when Kafka last answered; ``None`` before the start."""
        try:
            return self._thread._ensure_consumer()._client  # noqa: SLF001 - pinned by a test
        except ConsumerNotStarted:
            return None

    @property
    def is_member(self) -> bool:
        """The worker belongs to its group, with or without partitions, as far as the client has heard."""
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
        assignment = self._thread.present_assignment()
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


class GuardedThread(AIOKafkaConsumerThread):
    """The thread of the Kafka client; knows under which assignment it fetched last."""

    fetched_under: Any = None

    async def on_start(self) -> None:
        """Start the client; what its loop finds uncaught is logged as ours is."""
        self.thread_loop.set_exception_handler(of_loop)
        await super().on_start()

    def on_crash(self, msg: str, *fmt: Any, **_: Any) -> None:  # noqa: ARG002 - Faust's signature
        """Faust prints a traceback to standard error here; the error itself ends the stage, and is told there."""
        log.warning("consumer.crashed", error=types_of(fmt[-1]), where=place_of(fmt[-1]))

    async def _fetch_records(self, consumer: AIOKafkaConsumer, *given: Any, **named: Any) -> Any:
        records = await super()._fetch_records(consumer, *given, **named)
        self.fetched_under = assignment_of(consumer)
        return records

    def present_assignment(self) -> Any:
        """The partitions that this worker has now, as the client holds them; ``None`` before the first ones."""
        try:
            return assignment_of(self._ensure_consumer())
        except ConsumerNotStarted:
            return None


def assignment_of(consumer: AIOKafkaConsumer) -> Any:
    """The client's present assignment; another object each time the group has formed anew."""
    subscription = consumer._subscription.subscription  # noqa: SLF001 - pinned by a test
    return subscription.assignment if subscription is not None else None


async def _seek_back(consumer: AIOKafkaConsumer) -> Mapping[Any, int | None]:
    """In the consumer's own thread. A position that is reset is found while nobody waits: Kafka may be away."""
    committed: Mapping[Any, int | None] = await consumer.seek_to_committed()
    assignment = assignment_of(consumer)
    fetcher = consumer._fetcher  # noqa: SLF001 - pinned by a test
    for tp, offset in committed.items():
        state = assignment.state_value(tp) if assignment is not None else None
        if offset or state is None:
            continue
        state.await_reset(OffsetResetStrategy.EARLIEST)
        fetcher._records.pop(tp, None)  # noqa: SLF001 - pinned by a test
    fetcher._notify(fetcher._wait_consume_future)  # noqa: SLF001 - pinned by a test
    return committed


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
