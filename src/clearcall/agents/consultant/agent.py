"""The consultant's two agents: chunks to drafts, and corrections to further drafts."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from clearcall.agents.consultant.asking import Asker, Reply, together
from clearcall.agents.consultant.backend import Request
from clearcall.agents.consultant.memory import CallMemory, around, earlier
from clearcall.agents.consultant.pieces import count_words, cut, windows
from clearcall.schemas import (
    MAX_ITERATION,
    Chunk,
    ContextTurn,
    Correction,
    Draft,
    Handover,
    Incoming,
    Outcome,
    Outgoing,
    Topic,
    Track,
)
from clearcall.scoring import is_nothing_to_clean
from clearcall.scoring.lexicon import ENGLISH, Lexicon


class ChunkConsultant:
    """Initial responses: queued chunks of one call in, a draft for each out.

    ``window_words`` bounds the new speech of one request, ``context_words`` the earlier speech shown with it,
    ``source_chars`` the neighbouring speech of each speaker that goes with a draft. ``lexicon`` says what is
    a filler, ``track`` whose chunks they are. ``now`` gives epoch seconds.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        window_words: int,
        context_words: int,
        source_chars: int,
        lexicon: Lexicon = ENGLISH,
        track: Track = Track(),  # noqa: B008 - frozen
        now: Callable[[], float] = time.time,
    ) -> None:
        self._asker = asker
        self._window_words = window_words
        self._context_words = context_words
        self._source_chars = source_chars
        self._lexicon = lexicon
        self._track = track
        self._now = now
        self._memory = CallMemory(source_chars)

    def weight(self, message: Chunk) -> int:
        """Words, for the runtime's batching; an empty chunk weighs something too."""
        return max(1, count_words(message.text))

    async def __call__(self, batch: Sequence[Incoming[Chunk]]) -> list[Outgoing]:
        """Handle the queued chunks of one call.

        Raises:
            Unavailable: no model answers, policy ``wait``.
            Poison: a recording has no answer to one of them.
        """
        chunks = [incoming.message for incoming in batch]
        turns = self._memory.hear(chunks)
        full = [chunk for chunk in dict.fromkeys(chunks) if not is_nothing_to_clean(chunk.text, self._lexicon)]
        lines = [line for chunk in full for line in cut(chunk, self._lexicon)]
        requests = [
            Request(0, window, context=earlier(turns, window[0].chunk, self._context_words))
            for window in windows(lines, self._window_words)
        ]
        replies: dict[Chunk, list[Reply]] = {}
        for reply in await self._asker.ask_all(requests):
            replies.setdefault(reply.line.chunk, []).append(reply)
        return [
            Outgoing(Topic.DRAFTS, self._draft(chunk, turns, replies.get(chunk, [])), headers.traceparent)
            for chunk, headers in ((incoming.message, incoming.headers) for incoming in batch)
        ]

    def _draft(self, chunk: Chunk, turns: Sequence[ContextTurn], replies: Sequence[Reply]) -> Draft:
        context = around(turns, chunk, self._source_chars)
        if replies:
            return drafted(chunk, 0, replies, self._now(), track=self._track, context=context)
        return Draft(
            chunk=chunk,
            track=self._track,
            iteration=0,
            outcome=Outcome.NOTHING_TO_CLEAN,
            cleaned="",
            consultant=self._asker.backend.info(0),
            context=context,
            drafted_at=self._now(),
        )


class CorrectionConsultant:
    """Corrections: flagged chunks of one call in, their next drafts out; arguments as those of the other agent."""

    def __init__(
        self, asker: Asker, *, context_words: int, lexicon: Lexicon = ENGLISH, now: Callable[[], float] = time.time
    ) -> None:
        self._asker = asker
        self._lexicon = lexicon
        self._context_words = context_words
        self._now = now

    def weight(self, message: Correction) -> int:
        """Words, for the runtime's batching."""
        return max(1, count_words(message.chunk.text))

    async def __call__(self, batch: Sequence[Incoming[Correction]]) -> list[Outgoing]:
        """Ask again for each flagged chunk; raises as the consultant of chunks does."""
        drafts = await together(self._correct(incoming) for incoming in batch)
        return [
            Outgoing(Topic.DRAFTS, draft, incoming.headers.traceparent)
            for incoming, draft in zip(batch, drafts, strict=True)
        ]

    async def _correct(self, incoming: Incoming[Correction]) -> Draft:
        correction, iteration = incoming.message, incoming.headers.iteration
        if iteration is None or is_nothing_to_clean(correction.source, self._lexicon):
            return bound_reached(correction, self._now())
        chunk = given_chunk(correction)
        context = earlier(correction.context, chunk, self._context_words)
        requests = [
            Request(iteration, (line,), context=context, attempts=correction.attempts)
            for line in cut(chunk, self._lexicon)
        ]
        replies = await self._asker.ask_all(requests)
        more = {"attempts": correction.attempts, **carried(correction)}
        return drafted(correction.chunk, iteration, replies, self._now(), **more)


def carried(message: Correction | Handover) -> dict[str, Any]:
    """What a draft has of the message that asked for it."""
    return {name: getattr(message, name) for name in ("track", "given", "context", "earlier")}


def given_chunk(message: Correction | Handover) -> Chunk:
    """The chunk as the task was given it."""
    return message.chunk if message.given is None else message.chunk.model_copy(update={"text": message.given})


def bound_reached(correction: Correction, now: float) -> Draft:
    """No further request: the last usable answer stands. ``now`` in seconds of the epoch."""
    attempts = correction.attempts
    last = next((attempt for attempt in reversed(attempts) if attempt.failure is None), attempts[-1])
    return Draft(
        chunk=correction.chunk,
        iteration=MAX_ITERATION,
        outcome=Outcome.BOUND_REACHED,
        failure=last.failure,
        cleaned=last.cleaned,
        consultant=last.consultant,
        attempts=attempts,
        drafted_at=now,
        **carried(correction),
    )


def drafted(chunk: Chunk, iteration: int, replies: Sequence[Reply], now: float, **more: object) -> Draft:
    """The draft of a chunk from the replies to its pieces: one piece without an answer fails the chunk.

    ``more`` are further fields of the draft.
    """
    failure = next((reply.answer.failure for reply in replies if reply.answer.failure), None)
    degraded = next((reply for reply in replies if reply.outcome is Outcome.DEGRADED), None)
    return Draft(
        chunk=chunk,
        iteration=iteration,
        outcome=Outcome.FAILED if failure else Outcome.DEGRADED if degraded else Outcome.ANSWERED,
        failure=failure,
        cleaned="" if failure else "".join(reply.line.glue + reply.answer.text for reply in replies),
        consultant=(degraded or replies[-1]).consultant,
        latency_ms=max(reply.latency_ms for reply in replies),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        drafted_at=now,
        **more,
    )
