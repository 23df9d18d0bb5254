"""The evaluators of several consultants and tasks: whose rules count, where a chunk goes on, what is delivered."""

from collections.abc import Sequence
from typing import Any

import pytest

from clearcall.agents.panel import build
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Chunk,
    Cleaned,
    ConsultantInfo,
    Correction,
    Draft,
    Evaluation,
    Failure,
    Handover,
    Incoming,
    Outcome,
    Outgoing,
    Status,
    TaskEnd,
    Topic,
    Track,
)

SAID = "uh i would like to to book my car in for a service on the fourteenth of march please"
FAITHFUL = "I would like to book my car in for a service on the fourteenth of March, please."
IN_DIGITS = "I would like to book my car in for a service on the 14th of March, please."
WRONG_DIGITS = "I would like to book my car in for a service on the 40th of March, please."
INVENTED = "Good morning! Of course, let me check our availability for next week and get back to you."
SHADOW = Track(agent="next", shadow=True)
SECOND = Track(task="two", step=1)
FIRST_END = TaskEnd(track=Track(task="one"), status=Status.CORRECTED, attempts=2)
TASKS = [{"name": "one"}, {"name": "two", "threshold": 95, "policy": "keep"}]


def draft(cleaned: str, track: Track | None = None, **fields: Any) -> Draft:
    values = {
        "chunk": Chunk(call_id="c", chunk_id=1, speaker=1, text=SAID),
        "track": track or Track(),
        "iteration": 0,
        "outcome": Outcome.ANSWERED,
        "cleaned": cleaned,
        "consultant": ConsultantInfo(backend="openai", model="qwen", prompt_version="clean-1"),
        "drafted_at": 1.0,
    }
    return Draft.model_validate(values | fields)


def second(cleaned: str, **fields: Any) -> Draft:
    return draft(cleaned, SECOND, given=FAITHFUL, earlier=(FIRST_END,), **fields)


def judge(one: Draft, **tables: Any) -> list[Outgoing]:
    return build(Settings(**tables)).judge(one)


def topics(outgoing: Sequence[Outgoing]) -> list[Topic]:
    return [one.topic for one in outgoing]


def end(outgoing: Sequence[Outgoing]) -> Cleaned:
    (found,) = [one.message for one in outgoing if isinstance(one.message, Cleaned)]
    return found


def scored(outgoing: Sequence[Outgoing]) -> Evaluation:
    (found,) = [one.message for one in outgoing if isinstance(one.message, Evaluation)]
    return found


@pytest.mark.parametrize(
    ("answer", "fields", "ends"),
    [
        (FAITHFUL, {}, True),
        (INVENTED, {"iteration": 2}, True),
        ("", {"outcome": Outcome.FAILED, "failure": Failure.CUT, "iteration": 2}, True),
        (INVENTED, {"iteration": 1}, False),
    ],
)
def test_a_shadow_is_scored_like_the_others_and_delivers_nothing(
    answer: str, fields: dict[str, Any], *, ends: bool
) -> None:
    outgoing = judge(draft(answer, SHADOW, **fields), consultants=[{"name": "next", "shadow": True}])
    assert topics(outgoing) == [Topic.EVALUATIONS, *([] if ends else [Topic.CORRECTIONS])]
    assert (scored(outgoing).track, scored(outgoing).ends) == (SHADOW, ends)
    assert all(out.message.track == SHADOW for out in outgoing if isinstance(out.message, Correction))


@pytest.mark.parametrize("outcome", [Outcome.NOTHING_TO_CLEAN, Outcome.BOUND_REACHED])
def test_a_shadow_that_was_not_asked_leads_to_nothing(outcome: Outcome) -> None:
    assert judge(draft("", SHADOW, outcome=outcome), consultants=[{"name": "next", "shadow": True}]) == []
    assert judge(draft("", SHADOW, outcome=outcome)) == []


def test_each_consultant_is_judged_by_its_own_rules() -> None:
    tables = {"consultants": [{"name": "paper", "share": 0.5, "mode": "paper", "threshold": 20, "policy": "keep"}]}
    changed = FAITHFUL.replace("fourteenth", "fifteenth")
    assert scored(judge(draft(changed), **tables)).attempt.flagged
    by_paper = judge(draft(changed, Track(agent="paper")), **tables)
    assert (end(by_paper).status, end(by_paper).mode, end(by_paper).threshold) == (Status.CLEAN, "paper", 20)
    assert end(judge(draft(FAITHFUL, Track(agent="gone")), **tables)).mode == "strict"


def test_the_end_of_a_task_goes_on_to_the_next_with_its_text_and_what_was_said() -> None:
    outgoing = judge(draft(FAITHFUL, Track(task="one")), tasks=TASKS)
    assert topics(outgoing) == [Topic.EVALUATIONS, Topic.TASKS]
    sent = outgoing[1].message
    assert isinstance(sent, Handover)
    assert (sent.given, sent.chunk.text, sent.track, sent.message_id) == (FAITHFUL, SAID, SECOND, "c/1/0:two")
    assert sent.earlier == (TaskEnd(track=Track(task="one"), status=Status.CLEAN, attempts=1),)
    assert not scored(outgoing).ends


def test_a_chunk_restored_at_one_task_goes_on_as_restored() -> None:
    outgoing = judge(draft(INVENTED, Track(task="one"), iteration=2), tasks=TASKS)
    sent = outgoing[-1].message
    assert isinstance(sent, Handover)
    assert sent.earlier[0].status is Status.RESTORED
    assert "availability" not in sent.given


def test_the_last_task_delivers_scored_against_what_it_was_given_by_its_own_rules() -> None:
    outgoing = judge(second(IN_DIGITS), tasks=TASKS)
    assert (end(outgoing).text, end(outgoing).chunk.text, end(outgoing).threshold) == (IN_DIGITS, SAID, 95)
    assert (scored(outgoing).source, scored(outgoing).threshold, scored(outgoing).ends) == (FAITHFUL, 95, True)
    assert scored(outgoing).attempt.fragments[0].ss == 100


def test_a_chunk_of_several_tasks_has_the_gravest_status_and_counts_every_attempt() -> None:
    ended = end(judge(second(IN_DIGITS), tasks=TASKS))
    assert (ended.status, ended.scored) == (Status.CORRECTED, 3)
    assert end(judge(second(WRONG_DIGITS, iteration=2), tasks=TASKS)).status is Status.KEPT


def test_each_task_hands_on_its_own_status() -> None:
    outgoing = judge(second(IN_DIGITS), tasks=[*TASKS, {"name": "three"}])
    sent = outgoing[-1].message
    assert isinstance(sent, Handover)
    assert [end.status for end in sent.earlier] == [Status.CORRECTED, Status.CLEAN]
    assert (sent.given, sent.message_id) == (IN_DIGITS, "c/1/0:three")


def test_a_wrong_number_at_a_later_task_goes_back_to_that_task() -> None:
    outgoing = judge(second(WRONG_DIGITS), tasks=TASKS)
    sent = outgoing[-1].message
    assert isinstance(sent, Correction)
    assert (sent.track, sent.given, sent.earlier, sent.message_id) == (SECOND, FAITHFUL, (FIRST_END,), "c/1/1:two")
    assert outgoing[-1].iteration == 1


def test_a_later_task_without_an_answer_delivers_what_it_was_given() -> None:
    failed = second("", outcome=Outcome.FAILED, failure=Failure.CUT, iteration=2)
    assert end(judge(failed, tasks=TASKS)).text == FAITHFUL


def test_a_chunk_with_nothing_to_clean_passes_no_further_task() -> None:
    assert topics(judge(draft("", Track(task="one"), outcome=Outcome.NOTHING_TO_CLEAN), tasks=TASKS)) == [Topic.CLEANED]


@pytest.mark.parametrize("track", [Track(task="gone", step=1), Track(task="two", step=9), Track(task="one", step=1)])
def test_a_task_that_is_none_of_todays_ends_the_chunk(track: Track) -> None:
    lost = draft(FAITHFUL, track, given=FAITHFUL, earlier=(FIRST_END,), outcome=Outcome.BOUND_REACHED, iteration=2)
    assert (topics(judge(lost, tasks=TASKS)), end(judge(lost, tasks=TASKS)).text) == ([Topic.CLEANED], FAITHFUL)
    answered = draft(FAITHFUL, track, given=FAITHFUL, earlier=(FIRST_END,))
    assert topics(judge(answered, tasks=TASKS)) == [Topic.EVALUATIONS, Topic.CLEANED]


def test_a_draft_of_before_there_were_tasks_goes_on_as_the_first() -> None:
    assert topics(judge(draft(FAITHFUL), tasks=TASKS)) == [Topic.EVALUATIONS, Topic.TASKS]


async def test_a_batch_keeps_its_order() -> None:
    panel = build(Settings(consultants=[{"name": "next", "shadow": True}]))
    outgoing = await panel([Incoming(draft(FAITHFUL)), Incoming(draft(INVENTED, SHADOW)), Incoming(draft(INVENTED))])
    assert topics(outgoing) == [
        *(Topic.EVALUATIONS, Topic.CLEANED),
        *(Topic.EVALUATIONS, Topic.CORRECTIONS),
        *(Topic.EVALUATIONS, Topic.CORRECTIONS),
    ]
