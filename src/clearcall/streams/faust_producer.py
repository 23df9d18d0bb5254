"""Faust's producer with one change: a message that waits for its broker never expires."""

import math
from typing import Any

from aiokafka import AIOKafkaProducer
from faust.transport.drivers.aiokafka import Producer
from typing_extensions import override


class PatientProducer(Producer):
    """Keeps the order of a partition through an outage of any length.

    aiokafka gives up a batch that is older than the request timeout and still sends the younger one behind it: when
    the broker comes back in between, a call's later messages arrive before its earlier ones, which are then sent
    again. A batch that stays in front until Kafka has it lets nothing overtake. Each request keeps its timeout.
    """

    @override
    def _new_producer(self, *args: Any, **kwargs: Any) -> AIOKafkaProducer:
        producer = super()._new_producer(*args, **kwargs)
        producer._message_accumulator._batch_ttl = math.inf  # noqa: SLF001 - no setting of its own; pinned by a test
        return producer
