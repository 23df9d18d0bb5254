"""What the harness sees while it runs: when each chunk was first on ``cleaned``, and when it first had its row."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from chaos_database import Rows, now

from clearcall.schemas import Cleaned, DecodeError, Topic, decode

_LOOK_SECONDS = 1.0


@dataclass
class Seen:
    """First times, in seconds of the harness's clock."""

    cleaned: dict[str, float] = field(default_factory=dict)
    stored: dict[str, float] = field(default_factory=dict)
    most_unmerged: int = 0
    """The most rows at a time that a reader without ``FINAL`` would have seen beyond one a chunk."""


class Watch:
    """Follows the topic and the table."""

    def __init__(self, kafka: str, prefix: str, partitions: int, rows: Rows) -> None:
        self._kafka = kafka
        self._places = [TopicPartition(prefix + Topic.CLEANED, number) for number in range(partitions)]
        self._rows = rows
        self.seen = Seen()

    async def follow(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._topic())
            group.create_task(self._table())

    async def _topic(self) -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka, auto_offset_reset="earliest")
        await consumer.start()
        try:
            consumer.assign(self._places)
            while True:
                with suppress(KafkaError):
                    for records in (await consumer.getmany(timeout_ms=500)).values():
                        self._note(record.value for record in records)
        finally:
            await consumer.stop()

    def _note(self, values: Iterable[bytes]) -> None:
        for value in values:
            with suppress(DecodeError):
                self.seen.cleaned.setdefault(decode(Cleaned, value).message_id, now())

    async def _table(self) -> None:
        while True:
            for message_id in await asyncio.to_thread(self._rows.stored):
                self.seen.stored.setdefault(message_id, now())
            self.seen.most_unmerged = max(self.seen.most_unmerged, await asyncio.to_thread(self._rows.unmerged))
            await asyncio.sleep(_LOOK_SECONDS)


def recovery(moment: float, sent: Mapping[str, float], ended: Mapping[str, float]) -> float | None:
    """Seconds from ``moment`` until every chunk that was sent by then had ended; ``None`` where one never did."""
    ends = [ended.get(message_id) for message_id, at in sent.items() if at <= moment]
    if any(end is None for end in ends):
        return None
    return max((end - moment for end in ends if end is not None and end > moment), default=0.0)


def moves_again(
    moment: float, sent: Mapping[str, float], ended: Mapping[str, float], partitions: Mapping[str, int]
) -> float | None:
    """Seconds from ``moment`` until in every partition a chunk that was sent after it had ended.

    ``None`` where a partition was sent none, or none of them ended.
    """
    firsts: dict[int, float] = {}
    for message_id, at in sent.items():
        if at >= moment and message_id in ended:
            partition = partitions[message_id]
            firsts[partition] = min(firsts.get(partition, ended[message_id]), ended[message_id])
    if firsts.keys() < set(partitions.values()):
        return None
    return max(firsts.values()) - moment


def longest_stall(sent: Mapping[str, float], ended: Mapping[str, float], partitions: Mapping[str, int]) -> float:
    """The longest time for which chunks of a partition waited and none of them ended."""
    longest = 0.0
    for partition in set(partitions.values()):
        own = [message_id for message_id, number in partitions.items() if number == partition and message_id in ended]
        events = sorted([(sent[message_id], 1) for message_id in own] + [(ended[message_id], -1) for message_id in own])
        waiting, since = 0, 0.0
        for at, step in events:
            if step == 1 and waiting == 0:
                since = at
            if step == -1:
                longest = max(longest, at - since)
                since = at
            waiting += step
    return longest
