"""The deployment's topics on Kafka: create, list, delete."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic

_ALREADY_EXISTS = TopicAlreadyExistsError.errno
_LOOK_SECONDS = 0.05
_LOOKS = 200
_UNKNOWN = UnknownTopicOrPartitionError.errno


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as the cluster has it.

    ``partitions`` and ``replication`` are ``None`` where it does not exist; ``created`` tells that we just made it;
    ``matches`` that it has as many partitions as the settings say (all topics must have the same number).
    """

    topic: Topic
    name: str
    partitions: int | None
    replication: int | None
    matches: bool
    created: bool = False


async def list_topics(settings: Settings) -> list[TopicState]:
    """Every topic of this deployment, in the order of ``Topic``.

    Raises:
        KafkaError: the cluster cannot be reached.
    """
    async with _admin(settings) as admin:
        return await _states(admin, settings)


async def create_topics(settings: Settings) -> list[TopicState]:
    """Create what is missing; what exists is left as it is, and reported.

    Raises:
        KafkaError: the cluster cannot be reached or refuses.
    """
    async with _admin(settings) as admin:
        before = {state.name for state in await _states(admin, settings) if state.partitions is not None}
        missing = [name for name in names(settings).values() if name not in before]
        if missing:
            new = [NewTopic(name, settings.partitions, settings.replication) for name in missing]
            _check(await admin.create_topics(new), ignored=_ALREADY_EXISTS)
        await _seen(admin, settings, lambda state: state.partitions is not None)
        return await _states(admin, settings, created=frozenset(missing))


async def delete_topics(settings: Settings) -> None:
    """Delete the deployment's topics with all their messages; one that is not there is no error.

    Raises:
        KafkaError: the cluster cannot be reached or refuses.
    """
    async with _admin(settings) as admin:
        existing = [state.name for state in await _states(admin, settings) if state.partitions is not None]
        if existing:
            _check(await admin.delete_topics(existing), ignored=_UNKNOWN)
        await _seen(admin, settings, lambda state: state.partitions is None)


def names(settings: Settings) -> dict[Topic, str]:
    """The full name of every topic that is used: one task hands nothing over, and no evaluator agent checks nothing."""
    unused = set()
    if len(settings.tasks) <= 1:
        unused.add(Topic.TASKS)
    if settings.evaluator_agent == "off":
        unused.add(Topic.CHECKS)
    return {topic: settings.topic_prefix + topic for topic in Topic if topic not in unused}


async def _seen(admin: AIOKafkaAdminClient, settings: Settings, wanted: Callable[[TopicState], bool]) -> None:
    """Wait a little until the brokers' metadata tells what was done: they learn of it one after the other."""
    for _ in range(_LOOKS):
        if all(wanted(state) for state in await _states(admin, settings)):
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _states(
    admin: AIOKafkaAdminClient, settings: Settings, created: frozenset[str] = frozenset()
) -> list[TopicState]:
    described = await admin.describe_topics()  # asked for by name, a broker may create them
    found = {one["topic"]: one["partitions"] for one in described if not one["error_code"] and _led(one["partitions"])}
    return [
        _state(topic, name, found.get(name), settings, created=name in created)
        for topic, name in names(settings).items()
    ]


def _state(topic: Topic, name: str, partitions: list[Any] | None, settings: Settings, *, created: bool) -> TopicState:
    if partitions is None:
        return TopicState(topic, name, None, None, matches=False)
    replication = min((len(one["replicas"]) for one in partitions), default=0)
    return TopicState(topic, name, len(partitions), replication, len(partitions) == settings.partitions, created)


def _led(partitions: list[Any]) -> bool:
    """Every partition has a leader, so that it can be written and read."""
    return all(one["leader"] >= 0 for one in partitions)


def _check(response: Any, *, ignored: int) -> None:
    errors = getattr(response, "topic_errors", None) or getattr(response, "topic_error_codes", None) or ()
    for name, code, *message in errors:
        if code not in (0, ignored):
            error: type[KafkaError] = for_code(code)
            raise error(f"{name}: {message[0] if message and message[0] else error.description}")


@asynccontextmanager
async def _admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()
