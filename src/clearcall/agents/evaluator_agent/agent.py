"""The evaluator agent in the pipeline: a stage of its own behind the evaluator, which holds nobody up.

It reads what was scored, shows a model the fragments of a share of it, and sends what came of that. The scores are the
evaluator's own and gone on already. What the model cannot take now is let go and counted: no message waits for it, a
model that is away is no outage, and a stage that is behind catches up at once.
"""

import time
from collections.abc import Callable, Sequence
from hashlib import sha256

import structlog

from clearcall import __version__
from clearcall.agents.consultant.backend import ModelError
from clearcall.agents.evaluator_agent.caller import ToolCaller
from clearcall.agents.evaluator_agent.counts import observed
from clearcall.agents.evaluator_agent.distortion import Compared
from clearcall.agents.evaluator_agent.tool import VERSION
from clearcall.agents.protocol import Unavailable
from clearcall.schemas import Distortion, Evaluation, FragmentCheck, FragmentScore, Incoming, Outgoing, ToolCheck, Topic

LATE = 60.0
"""Seconds since its scoring after which an answer is let go: the stage is behind, or has just been started."""

LONGEST = 2400
"""Characters of a chunk that is shown: a small model copies no more, and few chunks are as long."""

log = structlog.get_logger()


class EvaluatorAgent:
    """The agent of ``transcripts.evaluations``.

    ``share`` of the answers are shown, the same ones whenever they are delivered; ``in_flight`` at once, each by one
    fragment after the other. ``now`` gives epoch seconds.
    """

    def __init__(
        self, caller: ToolCaller, *, share: float, in_flight: int, now: Callable[[], float] = time.time
    ) -> None:
        self._caller = caller
        self._share = share
        self._in_flight = in_flight
        self._now = now
        self._under_way = 0
        self._refused = False
        self.counts = observed()

    async def __call__(self, batch: Sequence[Incoming[Evaluation]]) -> list[Outgoing]:
        """A message for each answer that was shown; raises nothing of the model's."""
        outgoing = []
        for incoming in batch:
            found = await self._look_at(incoming.message)
            if found is not None:
                outgoing.append(Outgoing(Topic.CHECKS, found, incoming.headers.traceparent))
        return outgoing

    async def close(self) -> None:
        """Close the connections to the model."""
        await self._caller.close()

    async def _look_at(self, evaluation: Evaluation) -> ToolCheck | None:
        fragments = evaluation.attempt.fragments
        if not fragments or not chosen(evaluation.message_id, self._share):
            return None
        if len(evaluation.source) > LONGEST:
            self.counts.calls["too_long"] += len(fragments)
            return None
        if self._under_way >= self._in_flight or self._now() - evaluation.evaluated_at > LATE:
            self.counts.calls["dropped"] += len(fragments)
            return None
        self._under_way += 1
        try:
            checks = await self._checks(fragments, evaluation.source)
        finally:
            self._under_way -= 1
        return self._message(evaluation, checks) if checks else None

    async def _checks(self, fragments: Sequence[FragmentScore], source: str) -> list[FragmentCheck]:
        """Those that the model answered, up to the first that it did not."""
        checks = []
        for fragment in fragments:
            try:
                found = await self._caller.check(fragment.text, source)
            except ModelError as error:
                self._count_refusal(error)
                break
            except Unavailable:
                self.counts.calls["unanswered"] += 1
                break
            self._refused = False
            if found is not None:
                self.counts.calls[found.kind] += 1
                self.counts.flags[found.change] += 1
                checks.append(_check(fragment, found))
        return checks

    def _count_refusal(self, error: ModelError) -> None:
        self.counts.calls["refused"] += 1
        if not self._refused:
            log.warning("evaluator_agent.refused", refusal=str(error), hint="the server has to take tools")
            self._refused = True

    def _message(self, evaluation: Evaluation, checks: Sequence[FragmentCheck]) -> ToolCheck:
        return ToolCheck(
            call_id=evaluation.chunk.call_id,
            chunk_id=evaluation.chunk.chunk_id,
            iteration=evaluation.attempt.iteration,
            track=evaluation.track,
            consultant=evaluation.attempt.consultant,
            model=self._caller.model,
            prompt_version=VERSION,
            checks=tuple(checks),
            mode=self._caller.rules.mode,
            threshold=self._caller.rules.threshold,
            clearcall_version=__version__,
            checked_at=self._now(),
        )


def chosen(message_id: str, share: float) -> bool:
    """Whether a message is in the share: by its id alone, so that it is at each delivery or at none."""
    return int.from_bytes(sha256(message_id.encode("utf-8", "replace")).digest()[:8]) < share * 2**64


def _check(fragment: FragmentScore, found: Compared) -> FragmentCheck:
    given = found.arguments
    return FragmentCheck(
        fragment_id=fragment.fragment_id,
        fragment=found.fragment,
        source=found.source,
        given_fragment=given.fragment if given and found.fragment is not Distortion.EXACT else None,
        given_source=given.source if given and found.source is not Distortion.EXACT else None,
        ss=found.true.ss,
        given_ss=found.given.ss if found.given else None,
        change=found.change,
    )
