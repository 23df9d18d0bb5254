"""TLS and users on a real Apache Kafka: our own clients, and Faust's."""

from collections.abc import AsyncIterator, Iterator

import pytest
from aiokafka.errors import KafkaError
from echo_agent import STAGE
from pydantic import SecretStr
from runtime_kafka import chunks, drafts, write
from secured_kafka import PASSWORD, SecuredKafka, secured_kafka

from clearcall.infra.kafka.errors import NoBroker
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic
from clearcall.streams.running_stage import StageFailed
from clearcall.streams.topics import create_topics, delete_topics, list_topics
from clearcall.streams.worker import running

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    try:
        with secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
            yield kafka
    except NoBroker as reason:
        pytest.skip(f"no Apache Kafka here: {reason}")


@pytest.fixture(
    params=["ssl", "sasl_ssl PLAIN", "sasl_ssl SCRAM-SHA-512", "sasl_plaintext PLAIN", "sasl_plaintext SCRAM-SHA-512"]
)
async def trusted(request: pytest.FixtureRequest, secured: SecuredKafka) -> AsyncIterator[Settings]:
    """Settings that the broker takes, with topics of the test's own."""
    security, _, mechanism = request.param.partition(" ")
    prefix = request.param.replace(" ", "-") + "."
    given = {"kafka_sasl_mechanism": mechanism} if mechanism else {}
    settings = secured.settings(security, topic_prefix=prefix, group_prefix=prefix, partitions=2, **given)
    await create_topics(settings)
    yield settings
    await delete_topics(settings)


async def test_a_stage_works_through_every_kind_of_listener(trusted: Settings) -> None:
    given = chunks(calls=3, each=3)
    await write(trusted, Topic.CHUNKS, given)
    async with running([STAGE], trusted):
        found = await drafts(trusted, given)
    assert {draft.chunk.message_id for draft in found} == {chunk.message_id for chunk in given}


@pytest.mark.parametrize("security", ["sasl_ssl", "sasl_plaintext"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_refused_and_shown_nowhere(
    secured: SecuredKafka, security: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "not the password"
    settings = secured.settings(security, kafka_sasl_mechanism=mechanism, kafka_password=SecretStr(wrong))
    with pytest.raises(KafkaError) as refusal:
        await list_topics(settings)
    with pytest.raises(StageFailed) as failure:
        async with running([STAGE], settings):
            raise AssertionError("it must not start")
    said = f"{refusal.value!r} {failure.value} {settings!r} {caplog.text}"
    assert wrong not in said
    assert PASSWORD not in said


async def test_a_broker_that_an_unknown_authority_signed_is_not_talked_to(secured: SecuredKafka) -> None:
    stranger = secured.settings("sasl_ssl", kafka_ca_file=secured.certificates.stranger)
    with pytest.raises(KafkaError):
        await list_topics(stranger)


async def test_a_client_without_a_certificate_is_refused_where_the_broker_asks_for_one(secured: SecuredKafka) -> None:
    nobody = secured.settings("ssl", kafka_cert_file=None, kafka_key_file=None)
    with pytest.raises(KafkaError):
        await list_topics(nobody)
