"""The evaluator: scores a draft and decides whether its chunk ends here or goes back to the consultant.

Everything it needs travels in the draft, so a redelivered draft gives the same messages again.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from clearcall import __version__
from clearcall.agents.lexicon import lexicon_of
from clearcall.agents.protocol import Poison, in_thread
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    MAX_ITERATION,
    Attempt,
    Cleaned,
    Correction,
    Draft,
    Evaluation,
    Handover,
    Incoming,
    Outcome,
    Outgoing,
    Status,
    TaskEnd,
    Topic,
    Track,
)
from clearcall.scoring import (
    GUARDS,
    Flag,
    Rules,
    Turn,
    best_attempt,
    evaluate_turn,
    findings,
    fragment_scores,
    guard_flags,
    restore,
    rule_clean,
)
from clearcall.scoring import Evaluation as Scored
from clearcall.scoring.allowed import NAME as REDUCTION

Policy = Literal["restore", "keep"]

ReductionCheck = Literal["auto", "always", "never"]
"""Whether an answer must be an allowed reduction of what was said: ``auto`` where its decoding promises it."""

Following = Callable[[Track, str], Track | None]
"""The track of a chunk's next task, by its present one and its call; ``None`` where the chunk ends."""

_PROMISING = ("constrained", "project")

_SEVERITY = (Status.CLEAN, Status.CORRECTED, Status.PASSTHROUGH, Status.RESTORED, Status.KEPT)
"""A chunk of several tasks has the gravest of their statuses."""

_LONG = 20_000
"""Characters of chunk and draft above which they are scored in a thread, without notes: that may take seconds."""

_LONGEST_SCORING = 3600.0
"""Seconds for one draft: the longest that Kafka takes needs some minutes without the compiled kernel."""

_MOST_NOTES, _NOTE_CHARS = 50, 200
"""Of an answer that has nothing to do with its source every word is a finding; their places are whole all the same."""


class Evaluator:
    """The agent of ``transcripts.drafts``."""

    def __init__(
        self,
        rules: Rules,
        policy: Policy,
        now: Callable[[], float] = time.time,
        *,
        reduction_check: ReductionCheck = "auto",
        following: Following = lambda _track, _call_id: None,
        patience: float = _LONGEST_SCORING,
    ) -> None:
        self._rules = rules
        self._policy = policy
        self._now = now
        self._reduction_check = reduction_check
        self._following = following
        self._patience = patience
        self._too_long: set[str] = set()

    async def __call__(self, batch: Sequence[Incoming[Draft]]) -> Sequence[Outgoing]:
        """Score each draft; one evaluation each, and a correction or the chunk's end.

        Raises:
            Poison: a draft that cannot be scored within an hour.
        """
        outgoing: list[Outgoing] = []
        for incoming in batch:
            draft, traceparent = incoming.message, incoming.headers.traceparent
            if _length(draft) > _LONG:
                outgoing += await self._judge_long(draft, traceparent)
                continue
            outgoing += self.judge(draft, traceparent)
            await asyncio.sleep(0)  # scoring holds the event loop: heartbeats get their turn between drafts
        return outgoing

    async def close(self) -> None:
        """Nothing is held."""

    async def _judge_long(self, draft: Draft, traceparent: str | None) -> list[Outgoing]:
        """In a thread; what has once taken too long is not tried again, as its batch is halved around it."""
        if draft.message_id not in self._too_long:
            try:
                return await in_thread(lambda: self.judge(draft, traceparent), self._patience)
            except TimeoutError:
                self._too_long.add(draft.message_id)
        raise Poison("scoring_too_long", f"{_length(draft)} characters are not scored within {self._patience:g} s")

    def judge(self, draft: Draft, traceparent: str | None = None) -> list[Outgoing]:
        """The messages that one draft leads to."""
        if draft.outcome is Outcome.NOTHING_TO_CLEAN:
            return self._delivered(self._passed_through(draft), traceparent)
        if draft.outcome is Outcome.BOUND_REACHED:
            return self._onwards(draft, self._finalised(draft, draft.attempts), traceparent)

        attempt = score(draft, self._rules, reduction_check=self._reduction_check)
        attempts = (*draft.attempts, attempt)
        if draft.outcome is Outcome.DEGRADED:
            ending = self._end(draft, draft.cleaned, Status.PASSTHROUGH, attempt, attempts)
        elif not attempt.flagged:
            status = Status.CLEAN if draft.iteration == 0 else Status.CORRECTED
            ending = self._end(draft, draft.cleaned, status, attempt, attempts)
        elif draft.iteration >= MAX_ITERATION:
            ending = self._finalised(draft, attempts)
        else:
            correction = Correction(attempts=attempts, **_carried(draft))
            scored = Outgoing(Topic.EVALUATIONS, self._evaluation(draft, attempt, ends=False), traceparent)
            return [scored, Outgoing(Topic.CORRECTIONS, correction, traceparent, draft.iteration + 1)]
        onwards = self._onwards(draft, ending, traceparent)
        ends = not any(isinstance(each.message, Handover) for each in onwards)
        return [Outgoing(Topic.EVALUATIONS, self._evaluation(draft, attempt, ends=ends), traceparent), *onwards]

    def _onwards(self, draft: Draft, ending: Cleaned, traceparent: str | None) -> list[Outgoing]:
        """To the next task, or to the readers."""
        track = self._following(draft.track, draft.chunk.call_id)
        if track is None:
            return self._delivered(ending, traceparent)
        done = TaskEnd(track=draft.track, status=ending.status, attempts=len(ending.attempts))
        more = {**_carried(draft), "track": track, "given": ending.text, "earlier": (*draft.earlier, done)}
        return [Outgoing(Topic.TASKS, Handover(**more), traceparent)]

    def _delivered(self, ending: Cleaned, traceparent: str | None) -> list[Outgoing]:
        """What a shadow would deliver is nobody's to read; how it was scored is on its evaluations."""
        if ending.track.shadow:
            return []
        gravest = max((ending.status, *(end.status for end in ending.earlier)), key=_SEVERITY.index)
        return [Outgoing(Topic.CLEANED, ending.model_copy(update={"status": gravest}), traceparent)]

    def _finalised(self, draft: Draft, attempts: tuple[Attempt, ...]) -> Cleaned:
        """The bound is reached with the chunk still flagged: the policy decides what is delivered."""
        answered = [attempt for attempt in attempts if attempt.outcome is not Outcome.FAILED]
        if not answered:
            text = draft.source if draft.track.step else rule_clean(draft.source, self._rules.lexicon)
            return self._end(draft, text, Status.RESTORED, None, attempts)
        best = best_attempt(answered)
        if self._policy == "keep":
            return self._end(draft, best.cleaned, Status.KEPT, best, attempts)
        taken = draft.model_copy(update={"cleaned": best.cleaned, "consultant": best.consultant})
        evaluation = _scored(taken, self._rules, self._reduction_check)
        restored = restore(best.cleaned, draft.source, evaluation, self._rules.lexicon)
        return self._end(draft, restored, Status.RESTORED, best, attempts)

    def _passed_through(self, draft: Draft) -> Cleaned:
        return self._end(draft, draft.cleaned, Status.PASSTHROUGH, None, draft.attempts)

    def _end(
        self, draft: Draft, text: str, status: Status, taken: Attempt | None, attempts: tuple[Attempt, ...]
    ) -> Cleaned:
        return Cleaned(
            chunk=draft.chunk,
            track=draft.track,
            text=text,
            status=status,
            iteration=taken.iteration if taken else draft.iteration,
            consultant=taken.consultant if taken else draft.consultant,
            attempts=attempts,
            earlier=draft.earlier,
            mode=self._rules.mode,
            threshold=self._rules.threshold,
            clearcall_version=__version__,
            cleaned_at=self._now(),
        )

    def _evaluation(self, draft: Draft, attempt: Attempt, *, ends: bool) -> Evaluation:
        return Evaluation(
            chunk=draft.chunk,
            track=draft.track,
            given=draft.given,
            attempt=attempt,
            ends=ends,
            mode=self._rules.mode,
            threshold=self._rules.threshold,
            fragment_words=self._rules.words,
            fragment_overlap=self._rules.overlap,
            latency_ms=draft.latency_ms,
            prompt_tokens=draft.prompt_tokens,
            completion_tokens=draft.completion_tokens,
            clearcall_version=__version__,
            evaluated_at=self._now(),
        )


def build(settings: Settings, following: Following = lambda _track, _call_id: None) -> Evaluator:
    """The evaluator that the settings describe, of one consultant and task; raises as ``rules_of`` does."""
    return Evaluator(rules_of(settings), settings.policy, reduction_check=settings.reduction_check, following=following)


def rules_of(settings: Settings) -> Rules:
    """How the settings have texts scored.

    Raises:
        UnreadableLexicon, OSError: the lexicon cannot be read.
    """
    return Rules(
        mode=settings.mode,
        threshold=settings.threshold,
        words=settings.fragment_words,
        overlap=settings.fragment_overlap,
        source_chars=settings.source_chars,
        guards=GUARDS - set(settings.guards_off),
        lexicon=lexicon_of(settings),
    )


def score(draft: Draft, rules: Rules, *, reduction_check: ReductionCheck = "auto") -> Attempt:
    """The draft as a scored attempt; one without a usable answer is flagged as a whole."""
    evaluation = None if draft.outcome is Outcome.FAILED else _scored(draft, rules, reduction_check)
    return Attempt(
        iteration=draft.iteration,
        cleaned=draft.cleaned,
        outcome=draft.outcome,
        failure=draft.failure,
        consultant=draft.consultant,
        flagged=evaluation is None or evaluation.flagged,
        fragments=fragment_scores(evaluation) if evaluation else (),
        flags=guard_flags(evaluation.flags) if evaluation else (),
        notes=guard_flags(_noted(draft, rules, evaluation)) if evaluation else (),
    )


def _scored(draft: Draft, rules: Rules, reduction_check: ReductionCheck) -> Scored:
    turns, own = _source(draft)
    evaluation = evaluate_turn(draft.cleaned, own, turns, rules=rules)
    promised = reduction_check == "auto" and draft.consultant.decoding in _PROMISING
    if rules.mode == "paper" or not (promised or reduction_check == "always"):
        return evaluation
    found = findings(draft.source, draft.cleaned, rules.lexicon)
    return replace(evaluation, flags=(*evaluation.flags, *found))


def _noted(draft: Draft, rules: Rules, evaluation: Scored) -> list[Flag]:
    """Where the answer is no allowed reduction of what was said, if that flags nothing; the first of very many."""
    if any(flag.guard == REDUCTION for flag in evaluation.flags) or _length(draft) > _LONG:
        return []
    found = findings(draft.source, draft.cleaned, rules.lexicon)[:_MOST_NOTES]
    return [replace(flag, reason=flag.reason[:_NOTE_CHARS]) for flag in found]


def _length(draft: Draft) -> int:
    return len(draft.source) + len(draft.cleaned)


def _carried(draft: Draft) -> dict[str, Any]:
    """What goes on with the chunk."""
    return {name: getattr(draft, name) for name in ("chunk", "track", "given", "context", "earlier")}


def _source(draft: Draft) -> tuple[list[Turn], int]:
    """The chunk among its neighbours in the order of the call, and its place there."""
    said = {turn.chunk_id: Turn(turn.speaker, turn.text) for turn in draft.context}
    said[draft.chunk.chunk_id] = Turn(draft.chunk.speaker, draft.source)
    order = sorted(said)
    return [said[chunk_id] for chunk_id in order], order.index(draft.chunk.chunk_id)
