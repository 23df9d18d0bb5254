"""The consultant of a later task: what the task before made of a chunk in, its first draft of it out."""

import time
from collections.abc import Callable, Sequence

from clearcall.agents.consultant.agent import carried, drafted, given_chunk
from clearcall.agents.consultant.asking import Asker, together
from clearcall.agents.consultant.backend import Request
from clearcall.agents.consultant.memory import earlier
from clearcall.agents.consultant.pieces import count_words, cut
from clearcall.schemas import MAX_ITERATION, ConsultantInfo, Draft, Handover, Incoming, Outcome, Outgoing, Topic
from clearcall.scoring import is_nothing_to_clean
from clearcall.scoring.lexicon import ENGLISH, Lexicon


class TaskConsultant:
    """Initial responses of a later task; arguments as those of the agent of chunks."""

    def __init__(
        self, asker: Asker, *, context_words: int, lexicon: Lexicon = ENGLISH, now: Callable[[], float] = time.time
    ) -> None:
        self._asker = asker
        self._context_words = context_words
        self._lexicon = lexicon
        self._now = now

    def weight(self, message: Handover) -> int:
        """Words, for the runtime's batching."""
        return max(1, count_words(message.given))

    async def __call__(self, batch: Sequence[Incoming[Handover]]) -> list[Outgoing]:
        """A draft for each chunk; raises as the consultant of chunks does."""
        drafts = await together(self._draft(incoming.message) for incoming in batch)
        return [
            Outgoing(Topic.DRAFTS, draft, incoming.headers.traceparent)
            for incoming, draft in zip(batch, drafts, strict=True)
        ]

    async def _draft(self, handover: Handover) -> Draft:
        if is_nothing_to_clean(handover.given, self._lexicon):
            return unchanged(handover, Outcome.NOTHING_TO_CLEAN, 0, self._asker.backend.info(0), self._now())
        chunk = given_chunk(handover)
        context = earlier(handover.context, chunk, self._context_words)
        requests = [Request(0, (line,), context=context) for line in cut(chunk, self._lexicon)]
        replies = await self._asker.ask_all(requests)
        return drafted(handover.chunk, 0, replies, self._now(), **carried(handover))


def unasked(handover: Handover, now: float) -> Draft:
    """The end of a chunk whose next task nobody here does: as it was handed over. ``now`` in seconds of the epoch."""
    nobody = ConsultantInfo(backend="none", model="none", prompt_version="none", decoding="none")
    return unchanged(handover, Outcome.BOUND_REACHED, MAX_ITERATION, nobody, now)


def unchanged(handover: Handover, outcome: Outcome, iteration: int, consultant: ConsultantInfo, now: float) -> Draft:
    """A draft that is what was given. ``now`` in seconds of the epoch."""
    return Draft(
        chunk=handover.chunk,
        iteration=iteration,
        outcome=outcome,
        cleaned=handover.given,
        consultant=consultant,
        drafted_at=now,
        **carried(handover),
    )
