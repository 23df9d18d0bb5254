"""The evaluator agent with drafts that take long to score."""

import threading
from typing import Any

from clearcall.agents.evaluator import Evaluator
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
