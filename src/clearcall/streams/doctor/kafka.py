"""Kafka: does it answer, are the topics there, do their partitions fit together."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clearcall.infra.settings import Settings
from clearcall.streams.doctor.finding import Finding, State

if TYPE_CHECKING:
    from clearcall.streams.topics import TopicState


async def check_kafka(settings: Settings) -> list[Finding]:
    """The broker, then its topics."""
    from aiokafka.errors import KafkaError  # noqa: PLC0415 - an extra

    from clearcall.streams.topics import list_topics  # noqa: PLC0415 - loads the Kafka client

    try:
        async with asyncio.timeout(settings.connect_timeout):
            topics = await list_topics(settings)
    except (KafkaError, TimeoutError, OSError):
        what = f"{settings.kafka} does not answer"
        return [Finding("Kafka", State.FAIL, what, "start it, or correct CLEARCALL_KAFKA or --kafka")]
    return [Finding("Kafka", State.OK, f"{settings.kafka} answers"), judge_topics(topics, settings)]


def judge_topics(topics: Sequence["TopicState"], settings: Settings) -> Finding:
    """One finding over all topics; a call's messages only stay together where all have the same partitions."""
    missing = [topic.name for topic in topics if topic.partitions is None]
    if missing:
        return Finding("topics", State.FAIL, f"missing: {', '.join(missing)}", "clearcall topics create")
    counts = {topic.partitions for topic in topics}
    if len(counts) > 1:
        listed = ", ".join(f"{topic.name} {topic.partitions}" for topic in topics)
        todo = "give all topics the same number: kafka-topics.sh --alter --partitions raises it"
        return Finding("topics", State.FAIL, f"different numbers of partitions: {listed}", todo)
    (partitions,) = counts
    what = f"all {len(topics)} are there, {partitions} partitions each"
    if partitions != settings.partitions:
        what += f"; the settings say {settings.partitions}"
        return Finding("topics", State.WARN, what, f"set CLEARCALL_PARTITIONS={partitions}")
    below = [topic.name for topic in topics if (topic.replication or 0) < settings.replication]
    if below:
        what += f"; fewer than {settings.replication} replicas: {', '.join(below)}"
        return Finding("topics", State.WARN, what, "kafka-reassign-partitions.sh raises it")
    return Finding("topics", State.OK, what)
