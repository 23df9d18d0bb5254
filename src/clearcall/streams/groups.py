"""Consumer groups on Kafka: delete those of a run. The admin client cannot, so the request is ours."""

from collections.abc import Sequence

from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import GroupIdNotFound, KafkaError, for_code
from aiokafka.protocol.admin import DeleteGroupsRequest

from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import Settings


async def delete_groups(settings: Settings, groups: Sequence[str]) -> None:
    """Delete the groups with their offsets; one that is not there is no error.

    Raises:
        KafkaError: the cluster cannot be reached or refuses, as it does while a group has members.
    """
    client = AIOKafkaClient(**client_arguments(settings))
    try:
        await client.bootstrap()
        for group in groups:
            node = await client.coordinator_lookup(CoordinationType.GROUP, group)
            response = await client.send(node, DeleteGroupsRequest([group]))
            for name, code in response.results:
                if code not in (0, GroupIdNotFound.errno):
                    error: type[KafkaError] = for_code(code)
                    raise error(f"{name}: {error.description}")
    finally:
        await client.close()
