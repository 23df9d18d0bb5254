"""Consumer groups on Kafka: wait for their coordinators, delete those of a run."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import GroupIdNotFound, KafkaError, for_code
from aiokafka.protocol.admin import DeleteGroupsRequest

from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings

_LOOK_SECONDS = 0.1
_LOOKS = 100
"""A new cluster makes its table of groups when it is asked for the first time; more than seconds is a fault of it."""


def group_of(settings: Settings, stage: str) -> str:
    """The consumer group of a stage."""
    return f"{settings.group_prefix}-{stage}"


async def coordinated(settings: Settings, groups: Iterable[str]) -> None:
    """Return when each group has a coordinator, or a new cluster would have had the time to choose one.

    A consumer that joined before that would report errors which are none. One that lasts is for it to report.

    Raises:
        KafkaError: the cluster cannot be reached.
    """
    async with _client(settings) as client:
        await asyncio.gather(*(_coordinated(client, group) for group in groups))


async def _coordinated(client: AIOKafkaClient, group: str) -> None:
    for _ in range(_LOOKS):
        try:
            await client.coordinator_lookup(CoordinationType.GROUP, group)
        except KafkaError as error:
            if not error.retriable:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return


async def delete_groups(settings: Settings, groups: Sequence[str]) -> None:
    """Delete the groups with their offsets; one that is not there is no error.

    Raises:
        KafkaError: the cluster cannot be reached or refuses, as it does while a group has members.
    """
    async with _client(settings) as client:
        for group in groups:
            node = await client.coordinator_lookup(CoordinationType.GROUP, group)
            response = await client.send(node, DeleteGroupsRequest([group]))
            for name, code in response.results:
                if code not in (0, GroupIdNotFound.errno):
                    error: type[KafkaError] = for_code(code)
                    raise error(f"{name}: {error.description}")


@asynccontextmanager
async def _client(settings: Settings) -> AsyncIterator[AIOKafkaClient]:
    client = AIOKafkaClient(**client_arguments(settings))
    try:
        await client.bootstrap()
        yield client
    finally:
        await client.close()
