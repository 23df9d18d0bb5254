"""The consultant's engine in this process: it starts once, heals, and holds nothing up for ever."""

import asyncio
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from engine_fakes import FakeEngine, Starts

from clearcall.agents.consultant.backend import ChatMessage, Completion, Slow
from clearcall.agents.consultant.breaker import FAILURES
from clearcall.agents.consultant.build import build, engine_options
from clearcall.agents.consultant.engine import EngineOptions
from clearcall.agents.consultant.in_process import InProcess
from clearcall.agents.model_servers import Circuit, ServerState
from clearcall.agents.protocol import Unavailable, watch_life
from clearcall.infra.settings import Settings

ASK = [ChatMessage("user", "hello")]


@dataclass(frozen=True)
class Only:
    """A grammar of one text."""

    text: str

    @property
    def ebnf(self) -> str:
        return f'root ::= "{self.text}"'

    def accepts(self, text: str) -> bool:
        return text == self.text


GRAMMAR = Only("1 agent: Hello.")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def model_of(starts: Starts, clock: Clock | None = None, in_flight: int = 32, request_timeout: float = 60) -> InProcess:
    return InProcess(
        "m",
        starts,
        in_flight=in_flight,
        request_timeout=request_timeout,
        clock=clock or Clock(),
        rng=random.Random(1),
    )


async def until(seen: Callable[[], bool]) -> None:
    while not seen():  # noqa: ASYNC110 - the fakes have no event for every moment
        await asyncio.sleep(0)


async def back(model: InProcess) -> Completion:
    """The first answer after an outage."""
    while True:
        try:
            return await model.complete(ASK, 50, GRAMMAR)
        except Unavailable:
            await asyncio.sleep(0)


async def test_many_first_requests_start_one_engine_and_get_its_answers() -> None:
    starts = Starts(FakeEngine())
    model = model_of(starts)
    answers = await asyncio.gather(*(model.complete(ASK, 50, GRAMMAR) for _ in range(5)))
    assert answers == [Completion("1 agent: Hello.", "stop", "m", 12, 5, constrained=True)] * 5
    assert starts.number == 1
    await model.close()


async def test_the_event_loop_runs_and_shows_life_while_the_engine_starts() -> None:
    starts, go = Starts(FakeEngine()), threading.Event()
    starts.before = go.wait
    signs: list[str] = []
    watch_life(lambda: signs.append("alive"))
    model = model_of(starts)
    asking = asyncio.create_task(model.complete(ASK, 50))
    await until(lambda: bool(signs))
    assert not asking.done()
    assert model.states()["in process: m"].circuit is Circuit.HALF_OPEN
    go.set()
    assert (await asking).text
    await model.close()


async def test_an_answer_that_is_not_by_its_grammar_is_not_called_constrained() -> None:
    model = model_of(Starts(FakeEngine(text="Hi there.")))
    assert not (await model.complete(ASK, 50, GRAMMAR)).constrained
    assert not (await model.complete(ASK, 50)).constrained
    await model.close()


async def test_a_grammar_that_the_engine_refuses_is_left_out() -> None:
    engine = FakeEngine(takes_grammars=False)
    model = model_of(Starts(engine))
    assert not (await model.complete(ASK, 50, GRAMMAR)).constrained
    assert engine.asked == [GRAMMAR.ebnf, None]
    await model.close()


async def test_an_engine_that_dies_is_an_outage_until_another_has_started() -> None:
    first, second = FakeEngine(), FakeEngine()
    model = model_of(Starts(first, second))
    await model.complete(ASK, 50, GRAMMAR)
    first.gate = asyncio.Event()
    asking = asyncio.create_task(model.complete(ASK, 50, GRAMMAR))
    await until(lambda: first.under_way > 0)
    first.alive = False
    first.gate.set()
    with pytest.raises(Unavailable, match="EngineDeadError"):
        await asking
    with pytest.raises(Unavailable, match="started again"):
        await model.complete(ASK, 50, GRAMMAR)
    await back(model)
    assert first.closed
    await model.close()


async def test_a_request_under_way_when_the_engine_died_has_its_grammar_no_longer_until_it_is_answered() -> None:
    first, second = FakeEngine(), FakeEngine()
    model = model_of(Starts(first, second))
    await model.complete(ASK, 50)
    first.gate = asyncio.Event()
    asking = asyncio.create_task(model.complete(ASK, 50, GRAMMAR))
    await until(lambda: first.under_way > 0)
    first.alive = False
    first.gate.set()
    with pytest.raises(Unavailable):
        await asking
    assert not (await back(model)).constrained
    assert (await model.complete(ASK, 50, GRAMMAR)).constrained
    assert second.asked == [None, GRAMMAR.ebnf]
    await model.close()


async def test_an_engine_that_dies_idle_is_started_again_by_the_next_request() -> None:
    first = FakeEngine()
    starts = Starts(first, FakeEngine())
    model = model_of(starts)
    await model.complete(ASK, 50)
    first.alive = False
    assert (await back(model)).constrained
    assert starts.number == 2
    await model.close()


async def test_an_engine_that_does_not_start_is_left_alone_for_a_while_after_several_failures() -> None:
    starts, clock = Starts(OSError("no such model")), Clock()
    model = model_of(starts, clock)
    with pytest.raises(Unavailable, match="no such model"):
        await model.complete(ASK, 50)
    for _ in range(1000):
        with pytest.raises(Unavailable):
            await model.complete(ASK, 50)
        await asyncio.sleep(0.001)
        if starts.number == FAILURES and model._starting is None:
            break
    with pytest.raises(Unavailable, match="no start of the engine for"):
        await model.complete(ASK, 50)
    assert starts.number == FAILURES
    starts.script = [FakeEngine()]
    clock.now = 60
    assert (await back(model)).text
    await model.close()


async def test_no_more_requests_than_places_reach_the_engine() -> None:
    engine = FakeEngine(gate=asyncio.Event())
    model = model_of(Starts(engine), in_flight=3)
    asking = [asyncio.create_task(model.complete(ASK, 50)) for _ in range(10)]
    await until(lambda: engine.under_way == 3)
    assert model.states() == {"in process: m": ServerState(3, 3, 7, Circuit.CLOSED)}
    assert engine.gate is not None
    engine.gate.set()
    await asyncio.gather(*asking)
    assert engine.most == 3
    await model.close()


async def test_a_cancelled_request_is_written_no_further_and_gives_its_place_back() -> None:
    engine = FakeEngine(gate=asyncio.Event())
    model = model_of(Starts(engine), in_flight=1)
    asking = asyncio.create_task(model.complete(ASK, 50))
    await until(lambda: engine.under_way > 0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert engine.under_way == 0
    engine.gate = None
    assert (await model.complete(ASK, 50)).text
    await model.close()


async def test_a_request_without_an_answer_in_time_is_slow_and_ends_in_the_engine() -> None:
    engine = FakeEngine(gate=asyncio.Event())
    model = model_of(Starts(engine), request_timeout=0.01)
    with pytest.raises(Slow):
        await model.complete(ASK, 50)
    assert engine.under_way == 0
    await model.close()


async def test_a_closed_model_ends_its_engine_and_starts_no_other() -> None:
    engine = FakeEngine()
    starts = Starts(engine)
    model = model_of(starts)
    await model.complete(ASK, 50)
    await model.close()
    await model.close()
    assert engine.closed
    with pytest.raises(Unavailable, match="closed"):
        await model.complete(ASK, 50)
    assert starts.number == 1


async def test_a_model_that_is_closed_while_its_engine_starts_ends_it() -> None:
    starts, go, engine = Starts(FakeEngine()), threading.Event(), FakeEngine()
    starts.script, starts.before = [engine], go.wait
    model = model_of(starts)
    asking = asyncio.create_task(model.complete(ASK, 50))
    await until(lambda: model._starting is not None)
    closing = asyncio.create_task(model.close())
    await asyncio.sleep(0)
    go.set()
    await closing
    assert engine.closed
    await asyncio.gather(asking, return_exceptions=True)


def test_without_vllm_the_consultant_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'clearcall\[vllm\]'"):
        build(Settings(consultant="vllm", model="m"))


def test_the_engine_is_started_as_the_settings_say() -> None:
    settings = Settings(
        consultant="vllm", model="m", requests_in_flight=7, vllm_dtype="float16", vllm_quantization="fp8"
    )
    options = engine_options(settings)
    assert options == EngineOptions("m", 4096, 7, dtype="float16", quantization="fp8")
