"""One request and what to do when it is refused: ask for less, or let the rules answer."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from clearcall.agents.consultant.backend import Answer, Answers, Backend, Line, ModelError, Request, Slow
from clearcall.agents.consultant.pieces import count_words, shares
from clearcall.agents.protocol import Unavailable
from clearcall.schemas import ConsultantInfo, Failure, Outcome

log = structlog.get_logger()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """One line's answer with its share of the request's cost; ``latency_ms`` is the whole request's."""

    line: Line
    answer: Answer
    outcome: Outcome
    consultant: ConsultantInfo
    latency_ms: float
    prompt_tokens: int
    completion_tokens: int


class Asker:
    """Gets every line of a request answered, or raises ``Unavailable``.

    ``fallback`` answers while the backend is away (policy ``degrade``); without one, ``Unavailable`` goes on.
    ``clock`` gives seconds, for latencies only.
    """

    def __init__(
        self, backend: Backend, fallback: Backend | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.backend = backend
        self._fallback = fallback
        self._clock = clock

    async def ask(self, request: Request) -> list[Reply]:
        """A reply for each line, in order."""
        began = self._clock()
        try:
            answers = await self.backend.answer(request)
        except ModelError as error:
            return await self._ask_less(request, error)
        except Unavailable as error:
            if self._fallback is None and isinstance(error, Slow) and len(request.lines) > 1:
                return await self._ask_less(request, error)
            if self._fallback is None:
                raise
            log.warning(
                "consultant.degraded",
                call_id=request.lines[0].chunk.call_id,
                reason=error.reason,
                **({"detail": error.logged} if error.logged else {}),
            )
            answers = await self._fallback.answer(request)
            return self._replies(request, answers, Outcome.DEGRADED, began)
        return self._replies(request, answers, Outcome.ANSWERED, began)

    async def ask_all(self, requests: Iterable[Request]) -> list[Reply]:
        """The replies to requests that are under way together, in order; raises as ``ask`` does, for the first."""
        return [reply for replies in await together(map(self.ask, requests)) for reply in replies]

    async def close(self) -> None:
        """Close what is asked."""
        await self.backend.close()
        if self._fallback is not None:
            await self._fallback.close()

    async def _ask_less(self, request: Request, error: ModelError | Slow) -> list[Reply]:
        """Halve the window; a single line is asked again bare, then counts as refused."""
        first = request.lines[0].chunk
        log.warning(
            "consultant.refused",
            call_id=first.call_id,
            chunk_id=first.chunk_id,
            lines=len(request.lines),
            refusal=type(error).__name__,
        )
        if len(request.lines) > 1:
            middle = len(request.lines) // 2
            halves = [replace(request, lines=half) for half in (request.lines[:middle], request.lines[middle:])]
            return await self.ask_all(halves)
        if request.context:
            return await self.ask(replace(request, context=()))
        refused = Answers((Answer("", Failure.REJECTED),), self.backend.info(request.iteration))
        return self._replies(request, refused, Outcome.ANSWERED, self._clock())

    def _replies(self, request: Request, answers: Answers, outcome: Outcome, began: float) -> list[Reply]:
        latency_ms = max(0.0, (self._clock() - began) * 1000)
        weights = [count_words(line.text) for line in request.lines]
        prompt = shares(answers.prompt_tokens, weights)
        completion = shares(answers.completion_tokens, weights)
        return [
            Reply(line, answer, outcome, answers.consultant, latency_ms, prompt[at], completion[at])
            for at, (line, answer) in enumerate(zip(request.lines, answers.answers, strict=True))
        ]


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order; the first exception cancels what still runs and is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
