import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError
from runtime_fakes import CHUNKS, bench, chunk, cleaned, echo, record, until
from structlog.testing import capture_logs

from clearcall import __version__
from clearcall.agents.protocol import Misconfigured, Poison, Unavailable, show_life
from clearcall.schemas import DeadLetter, Incoming, Outgoing, Topic, decode
from clearcall.streams.dead_letter import chain
from clearcall.streams.records import Partition


def failing(*failures: Exception) -> Any:
    """A handler that raises these, one a call, then echoes."""
    left = list(failures)

    async def handle(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        if left:
            raise left.pop(0)
        return await echo(batch)

    return handle


def letters(it: Any) -> list[DeadLetter]:
    return [decode(DeadLetter, value) for topic, _, value, _ in it.kafka.sent if topic == Topic.DEAD_LETTERS]


async def run(it: Any, *records: Any) -> None:
    for one in records:
        await it.ordered.take(one)
    await until(lambda: bool(it.counters.finished == len(records)))


async def test_a_handled_message_is_sent_with_its_headers_before_it_is_acked() -> None:
    it = bench()
    it.kafka.held = asyncio.Event()
    await it.ordered.take(record(0, headers=[("traceparent", b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01")]))
    for _ in range(50):
        await asyncio.sleep(0)
    assert it.ordered.committable() == {CHUNKS: 0}
    it.kafka.held.set()
    await until(lambda: it.counters.finished == 1)
    assert it.ordered.committable() == {CHUNKS: 1}
    [(topic, key, _, headers)] = it.kafka.sent
    assert (topic, key) == ("transcripts.cleaned", b"call")
    assert dict(headers) == {
        "message-id": b"call/0",
        "schema": b"clearcall.cleaned/2",
        "traceparent": b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01",
    }


async def test_what_an_agent_shows_of_life_while_it_waits_is_activity() -> None:
    seen: list[float] = []

    async def answered() -> None:
        show_life()

    async def waits(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        it.time.now += 100.0
        await asyncio.create_task(answered())
        seen.append(it.counters.active_at)
        return await echo(batch)

    it = bench(waits)
    began = it.time.now
    await run(it, record(0))
    assert seen == [began + 100.0]


async def test_a_dead_letter_holds_the_chain_of_errors_and_the_version() -> None:
    async def fails(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        cause = KeyError("the first cause")
        if batch[0].message.chunk_id == 0:
            raise RuntimeError("no row") from cause
        raise Poison("refused", "cannot be stored") from cause

    it = bench(fails, retries=0)
    await run(it, record(0), record(1))
    failed, refused = letters(it)
    assert failed.errors == ("RuntimeError: no row <- KeyError: 'the first cause'",)
    assert refused.errors == ("Poison: cannot be stored <- KeyError: 'the first cause'",)
    assert {failed.clearcall_version, refused.clearcall_version} == {__version__}


async def test_the_chain_of_one_message_does_not_name_the_errors_of_its_batch() -> None:
    async def fails(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        raise ValueError(f"batch of {len(batch)}")

    it = bench(fails, retries=0, limit=4)
    await run(it, *map(record, range(4)))
    assert {letter.errors for letter in letters(it)} == {("ValueError: batch of 1",)}


async def test_an_error_whose_text_is_no_text_is_dead_lettered_all_the_same() -> None:
    it = bench(failing(ValueError("\udce9" * 2000)), retries=0)
    await run(it, record(0))
    [letter] = letters(it)
    assert letter.detail.startswith("ValueError: ???")


async def test_errors_that_cause_each_other_in_a_circle_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert chain(one) == "ValueError: one <- ValueError: other"


async def test_a_failure_that_passes_is_retried_and_leaves_no_dead_letter() -> None:
    it = bench(failing(ValueError("once"), ValueError("twice")), retries=2)
    await run(it, record(0))
    assert letters(it) == []
    assert it.counters.retried == 2


async def test_after_the_last_retry_the_message_is_dead_lettered_with_every_error() -> None:
    it = bench(failing(*[ValueError(f"no {n}") for n in range(9)]), retries=2)
    await run(it, record(0))
    [letter] = letters(it)
    assert (letter.reason, letter.stage, letter.topic, letter.partition, letter.offset) == (
        "failed",
        "consultant",
        "transcripts.chunks",
        0,
        0,
    )
    assert letter.errors == ("ValueError: no 0", "ValueError: no 1", "ValueError: no 2")


async def test_poison_is_dead_lettered_at_once_with_the_original_bytes() -> None:
    it = bench(failing(Poison("no_recording", "nobody recorded this")))
    one = record(4, headers=[("x", b"\xff"), ("y", None)], timestamp=12.5)
    await run(it, one)
    [letter] = letters(it)
    assert (letter.reason, letter.detail) == ("no_recording", "nobody recorded this")
    assert base64.b64decode(letter.record_value or "") == one.value
    assert base64.b64decode(letter.record_key or "") == one.key
    assert letter.record_headers == (("x", base64.b64encode(b"\xff").decode()), ("y", None))
    assert letter.record_timestamp == 12.5
    assert it.time.slept == []


async def test_a_batch_with_one_bad_message_sends_the_others_in_order() -> None:
    async def handle(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        if any(one.message.chunk_id == 2 for one in batch):
            raise Poison("bad", "this one")
        return await echo(batch)

    it = bench(handle, limit=100)
    await run(it, *[record(offset) for offset in range(6)])
    sent = [orjson.loads(value)["chunk"]["chunk_id"] for topic, _, value, _ in it.kafka.sent if "cleaned" in topic]
    assert sent == [0, 1, 3, 4, 5]
    assert [letter.offset for letter in letters(it)] == [2]


async def test_an_outage_is_waited_for_beyond_the_retries_with_growing_bounded_waits() -> None:
    it = bench(failing(*[Unavailable("model", "refused")] * 30), retries=1)
    await run(it, record(0))
    assert letters(it) == []
    assert len(it.time.slept) == 30
    assert it.time.slept[0] <= 0.2
    assert 10 <= it.time.slept[-1] <= 20


async def test_an_answer_too_large_for_kafka_dead_letters_its_message_as_oversize() -> None:
    async def handle(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        return [cleaned(chunk(text="x" * 1_000_001)) for _ in batch]

    it = bench(handle)
    await run(it, record(0))
    assert [letter.reason for letter in letters(it)] == ["oversize"]


async def test_a_broker_that_refuses_the_size_dead_letters_the_message_as_oversize() -> None:
    it = bench()
    it.kafka.failures = [MessageSizeTooLargeError("too large")]
    await run(it, record(0))
    assert [letter.reason for letter in letters(it)] == ["oversize"]


async def test_a_send_that_fails_is_repeated_without_asking_the_agent_again() -> None:
    calls = []

    async def handle(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        calls.append(len(batch))
        return [cleaned(chunk(chunk_id=number)) for number in range(4)]

    it = bench(handle)
    it.kafka.failures = [None, KafkaConnectionError("gone"), None, None, KafkaConnectionError("gone")]
    await run(it, record(0))
    assert calls == [1]
    ids = [dict(headers)["message-id"] for *_, headers in it.kafka.sent]
    assert ids[-3:] == [b"call/1", b"call/2", b"call/3"]
    assert set(ids) == {b"call/0", b"call/1", b"call/2", b"call/3"}


async def test_a_dead_letter_that_cannot_be_written_acks_nothing_until_it_is() -> None:
    it = bench(failing(Poison("bad", "no")))
    it.kafka.failures = [KafkaConnectionError("gone")] * 12
    await it.ordered.take(record(0))
    await until(lambda: len(it.time.slept) == 10)
    assert it.ordered.committable() == {CHUNKS: 0}
    await until(lambda: it.counters.finished == 1)
    assert [letter.reason for letter in letters(it)] == ["bad"]


async def test_a_dead_letter_that_cannot_be_stored_is_counted_and_never_dead_lettered_again() -> None:
    it = bench()
    place = Partition("transcripts.dead-letters", 0)
    await run(it, record(0, topic=Topic.DEAD_LETTERS, partition=place, value=b"not json"))
    assert it.kafka.sent == []
    assert it.counters.dropped == 1
    assert it.ordered.committable() == {place: 1}


async def test_every_kind_of_unreadable_record_ends_in_the_dead_letters_with_its_reason() -> None:
    it = bench()
    bad: list[tuple[bytes | None, str]] = [
        (None, "tombstone"),
        (b"not json", "not_json"),
        (b'"\\ud800"', "not_json"),
        (b"[]", "wrong_shape"),
        (b'{"call_id":"","chunk_id":0,"speaker":0,"text":"x"}', "wrong_shape"),
        (b'{"call_id":"a","chunk_id":-1,"speaker":0,"text":"x"}', "wrong_shape"),
        (b"x" * 1_000_001, "oversize"),
    ]
    await run(it, *[record(offset, value=value) for offset, (value, _) in enumerate(bad)])
    found = {letter.offset: letter for letter in letters(it)}
    assert [found[offset].reason for offset in range(len(bad))] == [reason for _, reason in bad]
    assert found[0].record_value is None
    assert found[6].truncated
    assert not found[1].truncated


async def test_an_unknown_schema_version_is_dead_lettered() -> None:
    it = bench()
    await run(it, record(0, headers=[("schema", b"clearcall.chunk/99")]))
    assert [letter.reason for letter in letters(it)] == ["unknown_schema"]


async def test_a_message_without_key_or_with_odd_headers_is_handled() -> None:
    it = bench()
    await run(it, record(0, key=None, headers=[("traceparent", b"\xff"), ("iteration", None)]))
    [(_, key, _, headers)] = it.kafka.sent
    assert key == b"call"
    assert dict(headers)["traceparent"].startswith(b"00-")


async def test_huge_headers_and_keys_do_not_keep_a_dead_letter_from_being_written() -> None:
    it = bench()
    huge = [(f"h{number}", b"x" * 1000) for number in range(900)]
    await run(it, record(0, value=b"?", key=b"k" * 200_000, headers=huge))
    [letter] = letters(it)
    assert letter.truncated
    assert letter.record_headers == ()


@pytest.mark.parametrize(("refusals", "kept"), [(1, 60_000), (2, 0)])
async def test_a_dead_letter_that_kafka_refuses_for_its_size_is_written_with_less_of_the_message(
    refusals: int, kept: int
) -> None:
    it = bench()
    it.kafka.failures = [MessageSizeTooLargeError("too large")] * refusals
    await run(it, record(0, value=b"?" * 500_000, headers=[("h", b"x")]))
    [letter] = letters(it)
    assert (letter.reason, letter.truncated, letter.record_headers) == ("not_json", True, ())
    assert len(base64.b64decode(letter.record_value or "")) == kept
    assert it.ordered.committable() == {CHUNKS: 1}


async def test_a_dead_letter_that_kafka_refuses_at_its_smallest_is_counted_and_does_not_hold_up_what_follows() -> None:
    it = bench(failing(Poison("bad", "no")))
    it.kafka.failures = [MessageSizeTooLargeError("too large")] * 3
    await run(it, record(0), record(1))
    assert letters(it) == []
    assert (it.counters.dropped, it.counters.dead_lettered) == (1, 0)
    assert it.ordered.committable() == {CHUNKS: 2}


async def test_a_smaller_dead_letter_too_is_never_acked_before_it_is_written() -> None:
    it = bench()
    it.kafka.failures = [MessageSizeTooLargeError("too large"), *[KafkaConnectionError("gone")] * 12]
    await it.ordered.take(record(0, value=b"?" * 500_000))
    await until(lambda: len(it.time.slept) == 10)
    assert it.ordered.committable() == {CHUNKS: 0}
    await until(lambda: it.counters.finished == 1)
    assert len(letters(it)) == 1


async def test_a_hundred_thousand_empty_headers_do_not_keep_a_dead_letter_from_being_written() -> None:
    it = bench()
    await run(it, record(0, value=b"?", headers=[("", None)] * 100_000))
    [letter] = letters(it)
    assert (letter.truncated, letter.record_headers) == (True, ())


async def test_what_an_agent_says_in_its_own_words_is_logged_and_what_may_quote_somebody_is_not() -> None:
    ours = Misconfigured("model_misconfigured", "http://here answers HTTP 404", loggable=True)
    it = bench(failing(ours, Unavailable("away", "it said hello"), ValueError("hello")))
    with capture_logs() as events:
        await run(it, record(0))
    details = [(event["event"], event.get("detail")) for event in events if event["event"].startswith("agent.")]
    assert details == [
        ("agent.unavailable", "http://here answers HTTP 404"),
        ("agent.unavailable", None),
        ("agent.failed", None),
    ]
    assert "hello" not in str(events)


async def test_the_log_of_a_dead_letter_has_the_agents_own_words_and_no_others() -> None:
    it = bench(failing(Poison("refused", "no such table", loggable=True), Poison("refused", "no hello")))
    with capture_logs() as events:
        await it.ordered.take(record(0))
        await it.ordered.take(record(1))
        await until(lambda: it.counters.finished == 2)
    written = [event.get("detail") for event in events if event["event"] == "dead_letter.written"]
    assert written == ["no such table", None]


async def test_settings_count_as_refused_until_something_is_handled() -> None:
    seen: list[str] = []

    async def refuses_once(batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        seen.append(it.counters.misconfigured)
        if len(seen) == 1:
            raise Misconfigured("model_misconfigured", "check the key", loggable=True)
        return await echo(batch)

    it = bench(refuses_once)
    await run(it, record(0))
    assert seen == ["", "check the key"]
    assert it.counters.misconfigured == ""
