"""A stage of several consultants and tasks: who is asked, and what goes to nobody."""

from typing import Any

import pytest

from clearcall.agents.consultant.stage import build
from clearcall.agents.evaluator import Evaluator
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import (
    Attempt,
    Chunk,
    ConsultantInfo,
    Correction,
    Draft,
    Failure,
    Handover,
    Headers,
    Incoming,
    Outcome,
    Status,
    TaskEnd,
    Topic,
    Track,
)
from clearcall.scoring import Rules
from model_server import asked_lines, completion, serving

SAID = "um so i want to to book my car in"
GIVEN = "So I want to book my car in at seven."
ATTEMPT = Attempt(
    iteration=0,
    cleaned="We are open.",
    outcome=Outcome.ANSWERED,
    consultant=ConsultantInfo(backend="openai", model="m", prompt_version="p"),
    flagged=True,
)
FIRST_END = TaskEnd(track=Track(task="one"), status=Status.CLEAN, attempts=1)


def chunk(call_id: str = "c", text: str = SAID) -> Chunk:
    return Chunk(call_id=call_id, chunk_id=0, speaker=0, text=text)


def settings(**tables: Any) -> Settings:
    return Settings(consultant="rules", **tables)


async def drafts(stage: Any, topic: Topic, *messages: Any, iteration: int | None = 1) -> list[Draft]:
    headers = Headers(iteration=iteration)
    try:
        sent = await stage.by_topic[topic]([Incoming(message, headers) for message in messages])
    finally:
        await stage.close()
    return [out.message for out in sent]


def correction(track: Track, **fields: Any) -> Correction:
    return Correction(chunk=chunk(), track=track, attempts=(ATTEMPT,), **fields)


def handover(track: Track, given: str = GIVEN) -> Handover:
    return Handover(chunk=chunk(), given=given, track=track, earlier=(FIRST_END,))


def saying(name: str) -> Any:
    """A server whose answers say which it is."""
    return serving(lambda body: completion("\n".join(f"{line} {name}" for line in asked_lines(body))))


async def test_one_consultant_without_a_name_is_what_it_was() -> None:
    (draft,) = await drafts(build(settings()), Topic.CHUNKS, chunk())
    assert (draft.track, draft.given, draft.message_id) == (Track(), None, "c/0/0")


async def test_every_call_is_answered_by_its_own_consultant() -> None:
    async with saying("canary") as url:
        given = settings(
            consultants=[
                {"name": "canary", "share": 0.5, "consultant": "openai", "urls": [url], "decoding": "free"},
                {"name": "main"},
            ]
        )
        answerer = Team.of(given).answerer
        for call in map(str, range(8)):
            (draft,) = await drafts(build(given), Topic.CHUNKS, chunk(call))
            assert draft.track == Track(agent=answerer(call, 0))
            assert draft.cleaned.endswith("canary") == (answerer(call, 0) == "canary")


async def test_a_correction_goes_to_whoever_answered_also_after_the_shares_have_changed() -> None:
    async with saying("canary") as url:
        canary = {"name": "canary", "share": 0, "consultant": "openai", "urls": [url], "decoding": "free"}
        stage = build(settings(consultants=[canary, {"name": "main"}]))
        to_canary, to_main = correction(Track(agent="canary")), correction(Track(agent="main"))
        first, second = await drafts(stage, Topic.CORRECTIONS, to_canary, to_main)
    assert (first.track.agent, first.cleaned.endswith("canary")) == ("canary", True)
    assert (second.track.agent, second.consultant.backend) == ("main", "rules")
    assert [draft.attempts for draft in (first, second)] == [(ATTEMPT,), (ATTEMPT,)]


@pytest.mark.parametrize("agent", ["gone", ""])
async def test_a_correction_of_a_consultant_that_is_gone_goes_to_who_answers_now_and_keeps_its_rows(agent: str) -> None:
    stage = build(settings(consultants=[{"name": "main"}]))
    (draft,) = await drafts(stage, Topic.CORRECTIONS, correction(Track(agent=agent)))
    assert (draft.track.agent, draft.outcome, draft.message_id) == (
        agent,
        Outcome.ANSWERED,
        f"c/0/1{'@gone' if agent else ''}",
    )


SHADOWS = [{"name": "next", "shadow": True}, {"name": "other", "shadow": True}]
OF_NEXT = Track(agent="next", shadow=True)


async def test_each_stage_leaves_the_corrections_of_the_others_alone() -> None:
    given = settings(consultants=SHADOWS)
    of_all = [correction(Track()), correction(OF_NEXT), correction(Track(agent="other", shadow=True))]
    found = {
        name: await drafts(build(given, shadow=name), Topic.CORRECTIONS, *of_all) for name in ("", "next", "other")
    }
    assert {name: [draft.track.agent for draft in each] for name, each in found.items()} == {
        "": [""],
        "next": ["next"],
        "other": ["other"],
    }


async def test_a_shadow_answers_every_call_and_marks_its_drafts() -> None:
    given = settings(consultants=[*SHADOWS, {"name": "canary", "share": 0.5}])
    for call in map(str, range(4)):
        (draft,) = await drafts(build(given, shadow="next"), Topic.CHUNKS, chunk(call))
        assert (draft.track, draft.message_id) == (OF_NEXT, f"{call}/0/0@next")


@pytest.mark.parametrize("iteration", [None, 0, 3, 99])
async def test_a_bad_iteration_header_ends_a_correction_of_every_consultant(iteration: int | None) -> None:
    headers = Headers.parse([] if iteration is None else [("iteration", str(iteration).encode())])
    given = settings(consultants=SHADOWS)
    for shadow, track in (("", Track()), ("next", OF_NEXT)):
        (draft,) = await drafts(
            build(given, shadow=shadow), Topic.CORRECTIONS, correction(track), iteration=headers.iteration
        )
        assert draft.outcome is Outcome.BOUND_REACHED
        assert all(out.topic is Topic.CLEANED for out in Evaluator(Rules(), "restore").judge(draft))


async def test_a_shadow_of_a_first_task_that_names_its_consultant_answers_all_the_same() -> None:
    given = settings(consultants=[*SHADOWS, {"name": "main"}], tasks=[{"name": "one", "consultant": "main"}])
    (draft,) = await drafts(build(given, shadow="next"), Topic.CHUNKS, chunk())
    assert draft.track == Track(agent="next", shadow=True, task="one")


TASKS = [{"name": "one"}, {"name": "two", "prompt": "format-numbers-1"}]


async def test_a_later_task_rewrites_what_it_was_given_with_its_own_prompt() -> None:
    asked: list[Any] = []

    def answer(body: dict[str, Any]) -> Any:
        asked.append(body)
        return completion("1 agent: So I want to book my car in at 7.")

    async with serving(answer) as url:
        given = Settings(urls=(url,), tasks=TASKS)
        (draft,) = await drafts(build(given), Topic.TASKS, handover(Track(task="two", step=1)))
        (again,) = await drafts(
            build(given), Topic.CORRECTIONS, correction(Track(task="two", step=1), given=GIVEN, earlier=(FIRST_END,))
        )
    assert (draft.given, draft.chunk.text, draft.cleaned) == (GIVEN, SAID, "So I want to book my car in at 7.")
    assert (draft.consultant.prompt_version, draft.consultant.decoding) == ("format-numbers-1", "free")
    assert (draft.message_id, draft.earlier) == ("c/0/0:two", (FIRST_END,))
    assert (again.message_id, again.given, again.consultant.prompt_version) == ("c/0/1:two", GIVEN, "format-numbers-1")
    assert all(asked_lines(body) == [f"1 agent: {GIVEN}"] for body in asked)


async def test_the_rules_leave_a_later_task_as_it_was_given() -> None:
    (draft,) = await drafts(build(settings(tasks=TASKS)), Topic.TASKS, handover(Track(task="two", step=1)))
    assert (draft.cleaned, draft.outcome) == (GIVEN, Outcome.ANSWERED)


async def test_an_empty_text_has_no_later_task() -> None:
    (draft,) = await drafts(build(settings(tasks=TASKS)), Topic.TASKS, handover(Track(task="two", step=1), "Um."))
    assert (draft.cleaned, draft.outcome) == ("Um.", Outcome.NOTHING_TO_CLEAN)


@pytest.mark.parametrize("track", [Track(task="gone", step=1), Track(task="two", step=7)])
async def test_a_task_that_nobody_does_any_more_ends_with_what_there_is(track: Track) -> None:
    (draft,) = await drafts(build(settings(tasks=TASKS)), Topic.TASKS, handover(track))
    assert (draft.cleaned, draft.outcome) == (GIVEN, Outcome.BOUND_REACHED)
    (corrected,) = await drafts(build(settings(tasks=TASKS)), Topic.CORRECTIONS, correction(track, given=GIVEN))
    assert (corrected.outcome, corrected.given) == (Outcome.BOUND_REACHED, GIVEN)


async def test_a_failed_later_task_keeps_its_failure() -> None:
    async with serving(lambda _body: completion("")) as url:
        (draft,) = await drafts(
            build(Settings(urls=(url,), tasks=TASKS)), Topic.TASKS, handover(Track(task="two", step=1))
        )
    assert (draft.outcome, draft.failure) == (Outcome.FAILED, Failure.EMPTY)


def test_a_recording_does_no_later_task_and_says_so(tmp_path: Any) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(
        '{"model": "m", "server": "s", "quantisation": "q", "settings": {}, "decoding": "free", "prompt_versions": [],'
        ' "recorded_at": "2026", "clearcall_version": "0"}\n'
    )
    with pytest.raises(ValueError, match="two: a recording has no answers to a later task"):
        build(Settings(consultant="recorded", recording=recording, tasks=TASKS))


def test_a_prompt_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(ValueError, match="the prompt clean-99 does not exist; there are clean-1, "):
        build(Settings(consultants=[{"name": "a", "share": 0.1, "prompt": "clean-99"}]))


async def test_a_prompt_may_be_a_file_of_ones_own(tmp_path: Any) -> None:
    (tmp_path / "mine.txt").write_text(
        "=== system\nBe brief.\n=== request\n${earlier}$count\n$lines\n=== earlier\n$turns\n"
    )
    async with serving(lambda _body: completion(f"1 agent: {SAID}")) as url:
        given = Settings(urls=(url,), prompt=str(tmp_path / "mine.txt"), decoding="free")
        (draft,) = await drafts(build(given), Topic.CHUNKS, chunk())
    assert draft.consultant.prompt_version == "mine"
    (tmp_path / "bad.txt").write_text("=== system\nBe brief.\n")
    with pytest.raises(ValueError, match="has no section request, earlier"):
        build(Settings(prompt=str(tmp_path / "bad.txt")))
