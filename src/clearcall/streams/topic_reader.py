"""A topic from its beginning to where it ended when the reading began."""

from collections.abc import AsyncIterator
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import UnknownTopicOrPartitionError

from clearcall.infra.kafka.header_names import tolerate_header_names
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic
from clearcall.streams.records import Partition, Record

_ANSWER_MS = 10_000
"""Longest wait for one answer of a broker; a command should not seem to hang before one that is silent."""

_POLL_MS = 1000
"""Only how often a partition whose last records are gone (deleted, or of a transaction) is looked at again."""


async def read_topic(settings: Settings, topic: Topic) -> AsyncIterator[Record]:
    """Every record of ``topic``, in order within a partition; in no group, so that no worker is disturbed.

    Raises:
        UnknownTopicOrPartitionError: the topic is missing.
        KafkaError: the cluster cannot be reached.
    """
    tolerate_header_names()
    name = settings.topic_prefix + topic
    consumer = AIOKafkaConsumer(
        name,
        **client_arguments(settings),
        request_timeout_ms=_ANSWER_MS,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    try:
        try:
            await consumer.start()
        except UnknownTopicOrPartitionError as error:
            raise UnknownTopicOrPartitionError(name) from error
        ends = await consumer.end_offsets(consumer.assignment())
        unread = {partition for partition, end in ends.items() if await consumer.position(partition) < end}
        while unread:
            for partition, records in (await consumer.getmany(*unread, timeout_ms=_POLL_MS)).items():
                for record in records:
                    if record.offset < ends[partition]:
                        yield _record(topic, record)
            unread = {partition for partition in unread if await consumer.position(partition) < ends[partition]}
    finally:
        await consumer.stop()


def _record(topic: Topic, found: Any) -> Record:
    return Record(
        topic=topic,
        partition=Partition(found.topic, found.partition),
        offset=found.offset,
        key=found.key,
        value=found.value,
        headers=tuple(found.headers),
        timestamp=found.timestamp / 1000,
    )
