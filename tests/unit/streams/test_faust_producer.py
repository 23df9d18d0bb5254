"""What waits for its broker stays in front, however long that takes."""

from aiokafka import TopicPartition
from aiokafka.errors import MessageSizeTooLargeError, NodeNotReadyError, NotEnoughReplicasError
from aiokafka.producer.message_accumulator import MessageBatch
from aiokafka.producer.sender import SendProduceReqHandler

from clearcall.infra.settings import Settings
from clearcall.streams.faust_app import StageApp
from clearcall.streams.faust_producer import PatientProducer

AN_HOUR = 3600.0


def handler_and_old_batch(made: PatientProducer) -> tuple[SendProduceReqHandler, MessageBatch]:
    """What the app's producer does with a batch that has waited for an hour."""
    producer = made._new_producer()
    producer._closed = True  # it was never started
    accumulator = producer._message_accumulator
    batch: MessageBatch = accumulator._append_batch(accumulator.create_builder(), P)
    batch._ctime -= AN_HOUR
    return SendProduceReqHandler(producer._sender, {P: batch}), batch


P = TopicPartition("t", 0)


async def test_a_batch_whose_broker_was_away_for_an_hour_is_sent_before_the_ones_behind_it() -> None:
    made = StageApp.build("consultant", Settings()).producer
    assert isinstance(made, PatientProducer)
    handler, batch = handler_and_old_batch(made)
    assert not batch.expired()
    assert handler._can_retry(NodeNotReadyError(), batch)
    assert handler._can_retry(NotEnoughReplicasError(), batch)


async def test_a_batch_that_kafka_refuses_for_good_is_an_error_at_once() -> None:
    made = StageApp.build("consultant", Settings()).producer
    assert isinstance(made, PatientProducer)
    handler, batch = handler_and_old_batch(made)
    assert not handler._can_retry(MessageSizeTooLargeError(), batch)
