"""The evaluator agent with drafts that take long to score."""

import asyncio
import threading
from typing import Any

import pytest

from clearcall.agents.evaluator import Evaluator
from clearcall.agents.protocol import Poison, in_thread, watch_life
from clearcall.schemas import Chunk, ConsultantInfo, Draft, Headers, Incoming, Outcome, Outgoing
from clearcall.scoring import Rules


class Watched(Evaluator):
    """Notes the thread of each draft."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.threads: list[int] = []

    def judge(self, draft: Draft, traceparent: str | None = None) -> list[Outgoing]:
        self.threads.append(threading.get_ident())
        return super().judge(draft, traceparent)


def draft(text: str) -> Incoming[Draft]:
    consultant = ConsultantInfo(backend="openai", model="qwen", prompt_version="clean-1")
    chunk = Chunk(call_id="c", chunk_id=1, speaker=1, text=text)
    return Incoming(
        Draft(
            chunk=chunk,
            iteration=0,
            outcome=Outcome.ANSWERED,
            cleaned=text,
            consultant=consultant,
            context=(),
            drafted_at=1.0,
        ),
        Headers(),
    )


async def test_a_long_draft_is_scored_off_the_event_loop_and_a_short_one_on_it() -> None:
    evaluator = Watched(Rules(), "restore", now=lambda: 7.0)
    outgoing = await evaluator([draft("i would like a service"), draft("my engine makes a strange noise " * 400)])
    here = threading.get_ident()
    assert [thread == here for thread in evaluator.threads] == [True, False]
    assert len(outgoing) == 2 * len(evaluator.threads)


async def test_work_in_a_thread_shows_life_for_as_long_as_it_takes() -> None:
    beats, enough = 0, threading.Event()

    def beat() -> None:
        nonlocal beats
        beats += 1
        if beats == 3:  # the work ends only after life was shown
            enough.set()

    watch_life(beat)
    assert await in_thread(lambda: enough.wait(60), most=60, beat=0.01)
    assert beats >= 3


async def test_a_draft_that_is_not_scored_in_time_is_given_up_and_not_begun_again() -> None:
    begun, over = [], threading.Event()

    class Endless(Evaluator):
        def judge(self, draft: Draft, traceparent: str | None = None) -> list[Outgoing]:
            begun.append(draft.message_id)
            over.wait(60)
            return super().judge(draft, traceparent)

    evaluator = Endless(Rules(), "restore", patience=0.01)
    long = draft("my engine makes a strange noise " * 400)
    try:
        for _ in range(2):
            with pytest.raises(Poison) as refused:
                await asyncio.wait_for(evaluator([long]), 60)
            assert refused.value.reason == "scoring_too_long"
    finally:
        over.set()
    assert begun == ["c/1/0"]
