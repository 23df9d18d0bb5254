"""vLLM in this process: the consultant's model without a server.

The engine starts with the first request, in a thread, so that the event loop goes on. An engine that dies is started
again here, by the next request, rather than by ending the worker: vLLM works in a process of its own, so nothing of
the broken one is left, and the worker's other stages and its place in the consumer group stay. Meanwhile, and while it
rests after several starts that failed, ``Unavailable`` comes at once. A request under way when it died has its grammar
no longer, since that may have been the reason, and its answer is projected.
"""

import asyncio
import math
import random
import time
from collections.abc import Callable, Sequence

import structlog

from clearcall.agents.consultant.backend import ChatMessage, Completion, Grammar, Slow
from clearcall.agents.consultant.breaker import Breaker
from clearcall.agents.consultant.engine import Engine, EngineFailed, GrammarRefused, Written
from clearcall.agents.consultant.limits import Limit, Places
from clearcall.agents.consultant.orphans import Orphans
from clearcall.agents.model_servers import Circuit, ServerState, observe
from clearcall.agents.protocol import Unavailable, show_life

_LOOK_SECONDS = 0.5
"""Between looks at an engine that starts: for processes to guard, and to show that something is under way."""

log = structlog.get_logger()


class InProcess:
    """A chat model whose engine runs under this process.

    Args:
        model: its name, as it stands on every row.
        start: starts an engine and returns when it takes requests; called in a thread.
        in_flight: most requests under way.
        request_timeout: seconds from a request to the end of its answer, the engine's start apart.
        clock: seconds that only grow.
        rng: jitter of the rest between starts that fail.
    """

    name = "vllm"

    def __init__(
        self,
        model: str,
        start: Callable[[], Engine],
        *,
        in_flight: int = 32,
        request_timeout: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        self.model = model
        self._start_engine = start
        self._request_timeout = request_timeout
        self._clock = clock
        self._places = Places(Limit(in_flight, math.inf))  # no limit learnt: vLLM itself chooses what it does at once
        self._breaker = Breaker(clock, rng or random.Random())  # noqa: S311 - jitter, no secret
        self._engine: Engine | None = None
        self._orphans: Orphans | None = None
        self._starting: asyncio.Task[Engine] | None = None
        self._was_tried = False
        self._closed = False
        self._suspects: set[str] = set()
        observe(self)

    def states(self) -> dict[str, ServerState]:
        """The engine's, for the metrics; one that is being started is half-open."""
        circuit = Circuit.HALF_OPEN if self._starting is not None else Circuit[self._breaker.state.name]
        state = ServerState(self._places.limit.size, self._places.held, self._places.waiting, circuit)
        return {f"in process: {self.model}": state}

    async def complete(
        self, messages: Sequence[ChatMessage], max_tokens: int, grammar: Grammar | None = None
    ) -> Completion:
        """One answer at temperature 0, by the grammar; the first one waits for the engine's start.

        Raises:
            TooLong, Rejected: the engine refuses this request.
            Slow: no answer within ``request_timeout``.
            Unavailable: the engine could not start, or died.
        """
        async with self._places:
            engine = await self._ready()
            try:
                async with asyncio.timeout(self._request_timeout):
                    return await self._ask(engine, messages, max_tokens, grammar)
            except TimeoutError as error:
                raise Slow("model_slow", f"no answer within {self._request_timeout:g} s") from error
            finally:
                show_life()

    async def close(self) -> None:
        """End the engine, in the middle of its start as well. A second call does nothing."""
        self._closed = True
        if self._starting is not None:
            await asyncio.wait((self._starting,))
        await self._end()

    async def _ask(
        self, engine: Engine, messages: Sequence[ChatMessage], max_tokens: int, grammar: Grammar | None
    ) -> Completion:
        ebnf = None if grammar is None else grammar.ebnf
        try:
            written, constrained = await self._write(engine, messages, max_tokens, ebnf)
        except EngineFailed as failed:
            if ebnf is not None:
                self._suspects.add(ebnf)
            log.warning("engine.failed", trouble=str(failed), alive=engine.alive)
            raise Unavailable("model_unavailable", f"the engine gave no answer: {failed}") from failed
        if ebnf is not None:
            self._suspects.discard(ebnf)
        cut = written.finish_reason == "length"
        return Completion(
            text=written.text,
            finish_reason=written.finish_reason,
            model=self.model,
            prompt_tokens=written.prompt_tokens,
            completion_tokens=written.completion_tokens,
            constrained=constrained and grammar is not None and (cut or grammar.accepts(written.text)),
        )

    async def _write(
        self, engine: Engine, messages: Sequence[ChatMessage], max_tokens: int, ebnf: str | None
    ) -> tuple[Written, bool]:
        """An answer, and whether it was asked for by the grammar."""
        if ebnf is not None and ebnf not in self._suspects:
            try:
                return await engine.write(messages, max_tokens, ebnf), True
            except GrammarRefused:
                log.warning("engine.refused_grammar")
        return await engine.write(messages, max_tokens, None), False

    async def _ready(self) -> Engine:
        """The engine, started if need be; only its first start is waited for."""
        if self._closed:
            raise Unavailable("model_unavailable", "the engine is closed", loggable=True)
        if self._engine is not None and self._engine.alive:
            return self._engine
        if self._starting is None:
            if not self._breaker.allows():
                rests = f"no start of the engine for {self._breaker.rests():.1f} s"
                raise Unavailable("model_unavailable", rests, loggable=True)
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(self._started)
        if self._was_tried:
            raise Unavailable("model_unavailable", "the engine is being started again", loggable=True)
        return await asyncio.shield(self._starting)

    def _started(self, task: asyncio.Task[Engine]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # whoever waited for it has it, and perhaps nobody did

    async def _start(self) -> Engine:
        await self._end()
        probe = self._breaker.begin()
        began = self._clock()
        log.info("engine.starting", model=self.model)
        orphans = self._orphans = Orphans()
        try:
            self._engine = await self._watched(orphans)
        except Exception as error:
            self._breaker.failed(probe=probe)
            if not self._closed:
                log.exception("engine.start_failed", model=self.model)
            raise Unavailable("model_unavailable", f"the engine did not start: {error!r}"[:500]) from error
        finally:
            self._was_tried = True
        self._breaker.succeeded()
        log.info("engine.started", model=self.model, seconds=round(self._clock() - began, 1))
        return self._engine

    async def _watched(self, orphans: Orphans) -> Engine:
        """Start the engine; its processes are guarded from their beginning, and killed where it is no longer wanted."""
        starting = asyncio.ensure_future(asyncio.to_thread(self._start_engine))
        try:
            while not starting.done():
                await asyncio.wait((starting,), timeout=_LOOK_SECONDS)
                orphans.watch()
                show_life()  # vLLM's own deadline ends it
                if self._closed:
                    orphans.kill()
            return starting.result()
        finally:
            if not starting.done():
                orphans.kill()

    async def _end(self) -> None:
        """End the engine that there is, alive or not."""
        engine, self._engine = self._engine, None
        orphans, self._orphans = self._orphans, None
        if engine is not None:
            try:
                await asyncio.to_thread(engine.close)
            except Exception:
                log.exception("engine.close_failed")
        if orphans is not None:
            await asyncio.to_thread(orphans.let_go)
