"""Which drafts of a chunk stand when history is scored again, and how the chunk ends."""

from collections.abc import Sequence

import pytest

from clearcall.agents.evaluator import Evaluator
from clearcall.agents.panel import build
from clearcall.infra.settings import load
from clearcall.schemas import (
    Chunk,
    Cleaned,
    ConsultantInfo,
    Correction,
    Draft,
    Evaluation,
    Outcome,
    Outgoing,
    Status,
    Track,
)
from clearcall.scoring import Rules
from clearcall.streams.replay import Judge, Rescoring

SAID = "um the brakes squeak when i stop at the lights and it costs one hundred and four"
FAITHFUL = "The brakes squeak when I stop at the lights and it costs one hundred and four."
INVENTED = "Please hold the line, our opening hours are nine to five from Monday until Friday."
CONSULTANT = ConsultantInfo(backend="openai", model="qwen", prompt_version="3")


def draft(iteration: int, text: str, outcome: Outcome = Outcome.ANSWERED) -> Draft:
    return Draft(
        chunk=Chunk(call_id="a", chunk_id=0, speaker=1, text=SAID),
        iteration=iteration,
        outcome=outcome,
        cleaned=text,
        consultant=CONSULTANT,
        drafted_at=1_700_000_000.0,
    )


def replayed(drafts: Sequence[Draft], threshold: float = 80.0) -> list[Outgoing]:
    rescoring = Rescoring(Evaluator(Rules(mode="paper", threshold=threshold), "restore", now=lambda: 1_800_000_000.0))
    for offset, each in enumerate(drafts):
        rescoring.learn(each, offset)
    return [outgoing for offset, each in enumerate(drafts) for outgoing in rescoring.judge(each, offset)]


def ends(outgoing: Sequence[Outgoing]) -> list[Cleaned]:
    return [each.message for each in outgoing if isinstance(each.message, Cleaned)]


def iterations(outgoing: Sequence[Outgoing]) -> list[int]:
    return [each.message.attempt.iteration for each in outgoing if isinstance(each.message, Evaluation)]


def test_a_chunk_that_was_accepted_is_accepted_again() -> None:
    outgoing = replayed([draft(0, FAITHFUL)])
    assert iterations(outgoing) == [0]
    assert [end.status for end in ends(outgoing)] == [Status.CLEAN]


def test_a_corrected_chunk_ends_once_at_the_draft_that_is_accepted() -> None:
    outgoing = replayed([draft(0, INVENTED), draft(1, FAITHFUL)])
    assert iterations(outgoing) == [0, 1]
    [end] = ends(outgoing)
    assert (end.status, end.iteration, len(end.attempts)) == (Status.CORRECTED, 1, 2)


def test_no_correction_is_ever_asked_for() -> None:
    outgoing = replayed([draft(0, INVENTED)])
    assert not any(isinstance(each.message, Correction) for each in outgoing)
    assert [end.status for end in ends(outgoing)] == [Status.RESTORED]


def test_a_looser_threshold_ends_a_chunk_at_an_earlier_draft_and_skips_the_rest() -> None:
    outgoing = replayed([draft(0, INVENTED), draft(1, FAITHFUL)], threshold=1.0)
    assert iterations(outgoing) == [0]
    assert [(end.status, end.iteration) for end in ends(outgoing)] == [(Status.CLEAN, 0)]


def test_a_stricter_threshold_ends_a_chunk_at_its_last_kept_draft() -> None:
    outgoing = replayed([draft(0, FAITHFUL)], threshold=100.0)
    assert iterations(outgoing) == [0]
    assert [end.status for end in ends(outgoing)] == [Status.RESTORED]


def test_earlier_attempts_travel_with_their_new_scores() -> None:
    [end] = ends(replayed([draft(0, FAITHFUL), draft(1, FAITHFUL)], threshold=100.0))
    assert [attempt.flagged for attempt in end.attempts] == [True, True]


def test_drafts_before_a_second_initial_response_are_put_aside() -> None:
    outgoing = replayed([draft(0, INVENTED), draft(1, INVENTED), draft(0, FAITHFUL)])
    assert iterations(outgoing) == [0]
    assert [end.status for end in ends(outgoing)] == [Status.CLEAN]


def test_a_draft_delivered_twice_is_scored_once() -> None:
    outgoing = replayed([draft(0, INVENTED), draft(1, FAITHFUL), draft(1, FAITHFUL)])
    assert iterations(outgoing) == [0, 1]
    assert len(ends(outgoing)) == 1


def test_a_chunk_with_nothing_to_clean_passes_through() -> None:
    outgoing = replayed([draft(0, "", Outcome.NOTHING_TO_CLEAN)])
    assert iterations(outgoing) == []
    assert [end.status for end in ends(outgoing)] == [Status.PASSTHROUGH]


def test_a_draft_that_came_after_the_first_pass_waits_for_the_live_evaluator() -> None:
    rescoring = Rescoring(Evaluator(Rules(mode="paper"), "restore"))
    assert rescoring.judge(draft(0, FAITHFUL), 5) == []


TASKS = load(tasks=[{"name": "one"}, {"name": "two"}], consultants=[{"name": "next", "shadow": True}])
SHADOW = Track(agent="next", shadow=True, task="one")


def on(track: Track, text: str, given: str | None = None, iteration: int = 0) -> Draft:
    return draft(iteration, text).model_copy(update={"track": track, "given": given})


@pytest.mark.parametrize("evaluator", [build(TASKS), Evaluator(Rules(), "restore")], ids=["tasks", "one task today"])
def test_each_consultant_and_task_is_scored_again_by_itself_and_the_last_task_ends_the_chunk(evaluator: Judge) -> None:
    rescoring = Rescoring(evaluator)
    drafts = [
        on(Track(task="one"), FAITHFUL),
        on(SHADOW, INVENTED),
        on(Track(task="two", step=1), FAITHFUL.replace("one hundred and four", "104"), FAITHFUL),
        on(SHADOW, FAITHFUL, iteration=1),
    ]
    for offset, each in enumerate(drafts):
        rescoring.learn(each, offset)
    outgoing = [out for offset, each in enumerate(drafts) for out in rescoring.judge(each, offset)]
    evaluations = [out.message for out in outgoing if isinstance(out.message, Evaluation)]
    assert [each.message_id for each in evaluations] == ["a/0/0:one", "a/0/0@next:one", "a/0/0:two", "a/0/1@next:one"]
    assert {type(out.message) for out in outgoing} == {Evaluation, Cleaned}
    [end] = ends(outgoing)
    assert (end.track.task, "104" in end.text) == ("two", True)
