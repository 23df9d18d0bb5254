import asyncio
from collections.abc import Sequence
from typing import Any

from runtime_fakes import bench, chunk, echo, record, until

from clearcall.schemas import Incoming, Outgoing, Topic


class Gate:
    """A handler that waits to be let through, and remembers what it was given."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, int]]] = []
        self.open = asyncio.Event()

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        self.batches.append([(one.message.call_id, one.message.chunk_id) for one in batch])
        await self.open.wait()
        return await echo(batch)


async def test_while_a_keys_handler_runs_its_next_messages_queue_and_the_next_call_takes_them_all() -> None:
    gate = Gate()
    it = bench(gate, limit=100)
    for offset in range(5):
        await it.ordered.take(record(offset))
        if not offset:
            await until(lambda: bool(gate.batches))
    gate.open.set()
    await until(lambda: it.counters.finished == 5)
    assert gate.batches == [[("call", 0)], [("call", 1), ("call", 2), ("call", 3), ("call", 4)]]


async def test_a_batch_ends_before_its_weight_would_pass_the_limit() -> None:
    gate = Gate()
    it = bench(gate, weight=lambda message: len(message.text.split()), limit=5)
    texts = ["first", "one two", "three four five", "six", "seven eight nine ten eleven twelve", "last"]
    for offset, text in enumerate(texts):
        await it.ordered.take(record(offset, chunk(chunk_id=offset, text=text)))
        if not offset:
            await until(lambda: bool(gate.batches))
    gate.open.set()
    await until(lambda: it.counters.finished == len(texts))
    assert [[number for _, number in batch] for batch in gate.batches] == [[0], [1, 2], [3], [4], [5]]


async def test_different_keys_run_side_by_side() -> None:
    gate = Gate()
    it = bench(gate)
    for offset, call in enumerate("abc"):
        await it.ordered.take(record(offset, chunk(call)))
    await until(lambda: len(gate.batches) == 3)
    assert it.counters.finished == 0
    gate.open.set()
    await until(lambda: it.counters.finished == 3)


async def test_two_topics_of_one_call_do_not_wait_for_each_other() -> None:
    gate = Gate()
    it = bench(gate, limit=100)
    await it.ordered.take(record(0))
    await it.ordered.take(record(0, topic=Topic.CHUNKS))  # the same place again: not handled twice
    await until(lambda: len(gate.batches) == 1)
    assert it.counters.repeated == 1
    gate.open.set()
    await until(lambda: it.counters.finished == 1)


async def test_an_idle_key_leaves_nothing_behind() -> None:
    it = bench()
    for offset in range(50):
        await it.ordered.take(record(offset, chunk(f"call{offset}")))
    await until(lambda: it.counters.finished == 50)
    await until(lambda: not it.ordered._shape.tasks)
    assert not it.ordered._shape._queues  # type: ignore[attr-defined]


async def test_outputs_of_one_call_arrive_in_the_order_of_its_chunks() -> None:
    it = bench(limit=3)
    for offset in range(30):
        await it.ordered.take(record(offset, chunk(f"call{offset % 3}", offset)))
    await until(lambda: it.counters.finished == 30)
    for call in range(3):
        mine = [headers for _, key, _, headers in it.kafka.sent if key == f"call{call}".encode()]
        ids = [dict(headers)["message-id"].decode() for headers in mine]
        assert ids == [f"call{call}/{number}" for number in range(call, 30, 3)]
