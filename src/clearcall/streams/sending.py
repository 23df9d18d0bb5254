"""Messages to Kafka: encoded, with their headers, and there before anything is acked."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka.errors import MessageSizeTooLargeError, RecordListTooLargeError

from clearcall.schemas import Headers, Outgoing, Oversize, encode
from clearcall.schemas.codec import schema_of
from clearcall.streams.counters import Counters
from clearcall.streams.retry import Patience
from clearcall.streams.traceparent import kept_or_made

log = structlog.get_logger()

Produce = Callable[[str, bytes, bytes, list[tuple[str, bytes]]], Awaitable[Awaitable[Any]]]
"""Queue a topic, key, value and headers; the result resolves when Kafka has it."""

_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message as it is sent."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class Sender:
    """Sends the messages of a stage; ``topic_prefix`` is put before every topic's name."""

    def __init__(
        self, produce: Produce, topic_prefix: str, patience: Patience, source: random.Random, counters: Counters
    ) -> None:
        self._produce = produce
        self._prefix = topic_prefix
        self._patience = patience
        self._random = source
        self._counters = counters

    def encode(self, outgoing: Outgoing, traceparent: str | None = None) -> Encoded:
        """The message's bytes; ``traceparent`` is that of what caused it, for an agent that gave none.

        Raises:
            Oversize: it is larger than Kafka takes.
        """
        message = outgoing.message
        headers = Headers(
            message_id=message.message_id,
            schema=schema_of(type(message)),
            traceparent=kept_or_made(outgoing.traceparent or traceparent, self._random),
            iteration=outgoing.iteration,
        )
        return Encoded(self._prefix + outgoing.topic, message.key.encode(), encode(message), headers.raw())

    async def send(self, messages: Sequence[Encoded]) -> None:
        """Return when Kafka has every message; a broker that is away is waited for.

        After a failure what failed and all behind it is sent again, so that the order within a key is kept.

        Raises:
            Oversize: Kafka refuses one of them for its size.
            Abandoned: the assignment ended meanwhile.
        """
        failures = 0
        while messages:
            sent, error = await self._once(messages)
            self._counters.sent += sent
            if error is None:
                return
            if isinstance(error, _TOO_LARGE):
                raise Oversize("oversize", f"too large for Kafka, whose message.max.bytes is small: {error!r}"[:300])
            messages = messages[sent:]
            failures += 1
            log.warning("send.failed", error=repr(error)[:300], failures=failures, messages=len(messages))
            await self._patience.wait(failures)
            self._counters.retried += 1

    async def _once(self, messages: Sequence[Encoded]) -> tuple[int, Exception | None]:
        """How many Kafka has, counted from the first, and the error of the next one."""
        acks: list[Awaitable[Any]] = []
        refused: Exception | None = None
        try:
            for message in messages:
                acks.append(await self._produce(message.topic, message.key, message.value, message.headers))  # noqa: PERF401 - what was queued before an error counts
        except Exception as error:  # noqa: BLE001 - whatever the client raises, the message is not sent
            refused = error
        results = await asyncio.gather(*acks, return_exceptions=True)
        for sent, result in enumerate(results):
            if isinstance(result, Exception):
                return sent, result
            if isinstance(result, BaseException):
                raise result
        return len(results), refused
