"""Recordings: made from real answers, found again whatever the batching, clear when they do not fit."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clearcall.agents.consultant import build
from clearcall.agents.consultant.prompt import CLEAN, CORRECT
from clearcall.agents.consultant.record import Loop, record, run_loop
from clearcall.agents.consultant.recorded import RecordedBackend
from clearcall.agents.consultant.recording import Header, Recorded, UnreadableRecording, digest, read, write
from clearcall.agents.protocol import Poison
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Draft, Failure, Incoming, Outcome, Status
from model_server import asked_lines, completion, echo, serving

CALL = tuple(
    Chunk(call_id="c", chunk_id=at, speaker=at % 2, text=text)
    for at, text in enumerate(
        ["good morning how can i help you today", "um", "my car makes a terrible noise in the morning", "i see"]
    )
)


def invents_once(body: dict[str, Any]) -> object:
    """A model that makes something up in its initial response and copies when corrected."""
    if "That is not what was said" in body["messages"][-1]["content"]:
        return echo(body)
    made_up = "Our opening hours are from nine to five on weekdays."
    return completion(f"1 agent: {made_up}\n2 agent: My car makes a terrible noise in the morning.\n3 caller: I see.")


async def recorded(
    path: Path, answer: Any = invents_once, *, extend: bool = False, decoding: Any = "free", **more: Any
) -> Loop:
    async with serving(answer) as url:
        settings = Settings(urls=(url,), decoding=decoding, **more)
        return await record(
            settings, [CALL], path, quantisation="bf16", extend=extend, now=lambda: datetime(2026, 1, 2, tzinfo=UTC)
        )


async def replayed(path: Path, **more: Any) -> Loop:
    settings = Settings(consultant="recorded", recording=path, **more)
    return await run_loop(build(settings), settings, [CALL])


async def test_a_recording_replays_the_loop_that_it_was_made_from(tmp_path: Path) -> None:
    made = await recorded(tmp_path / "r.jsonl")
    again = await replayed(tmp_path / "r.jsonl")
    assert [(c.text, c.status) for c in again.cleaned] == [(c.text, c.status) for c in made.cleaned]
    assert {c.chunk.chunk_id: c.status for c in made.cleaned}[0] is Status.CORRECTED
    assert [rate.iteration for rate in again.rates()] == [0, 1]


@pytest.mark.parametrize("window_words", [1, 9, 1000])
@pytest.mark.parametrize("mode", ["paper", "strict"])
async def test_batching_and_mode_do_not_change_what_is_found(tmp_path: Path, window_words: int, mode: str) -> None:
    await recorded(tmp_path / "r.jsonl")
    again = await replayed(tmp_path / "r.jsonl", window_words=window_words, mode=mode)
    assert len(again.cleaned) == len(CALL)
    assert all(evaluation.attempt.failure is None for evaluation in again.evaluations)


async def test_a_recording_says_how_it_was_made(tmp_path: Path) -> None:
    await recorded(tmp_path / "r.jsonl")
    header, answers = read(tmp_path / "r.jsonl")
    assert (header.model, header.quantisation, header.server) == ("served", "bf16", "unknown")
    assert header.recorded_at == "2026-01-02T00:00:00+00:00"
    assert header.settings["temperature"] == 0
    assert header.prompt_versions == (CLEAN, CORRECT)
    assert sum(answer.completion_tokens for answer in answers.values() if answer.iteration == 0) == 7


async def test_a_recording_is_extended_without_asking_again_for_what_it_has(tmp_path: Path) -> None:
    await recorded(tmp_path / "r.jsonl", model="served")
    before = read(tmp_path / "r.jsonl")[1]

    def never(_body: object) -> object:
        raise AssertionError

    await recorded(tmp_path / "r.jsonl", never, model="served", extend=True)
    assert read(tmp_path / "r.jsonl")[1] == before


async def test_only_the_lines_that_a_recording_lacks_are_asked_for(tmp_path: Path) -> None:
    await recorded(tmp_path / "r.jsonl", echo, model="served")
    header, answers = read(tmp_path / "r.jsonl")
    lost = answers.pop(("c", 2, 0, 0))
    write(tmp_path / "r.jsonl", header, list(answers.values()))
    asked: list[list[str]] = []

    def note(body: dict[str, Any]) -> object:
        asked.append(asked_lines(body))
        return echo(body)

    await recorded(tmp_path / "r.jsonl", note, model="served", extend=True)
    assert asked == [["1 agent: my car makes a terrible noise in the morning"]]
    assert read(tmp_path / "r.jsonl")[1][lost.place].text == lost.text


async def test_a_recording_of_another_model_is_not_extended(tmp_path: Path) -> None:
    await recorded(tmp_path / "r.jsonl")
    with pytest.raises(UnreadableRecording, match="made by 'served'"):
        await recorded(tmp_path / "r.jsonl", model="other", extend=True)


async def test_failures_are_recorded_too(tmp_path: Path) -> None:
    await recorded(tmp_path / "r.jsonl", lambda _body: completion("1 agent: Good mor", "length"))
    again = await replayed(tmp_path / "r.jsonl")
    assert {evaluation.attempt.failure for evaluation in again.evaluations} == {Failure.CUT}
    assert len(again.cleaned) == len(CALL)


def row(**change: Any) -> Recorded:
    fields = {"call_id": "c", "chunk_id": 0, "iteration": 0, "source": digest(CALL[0].text), "text": "Good morning."}
    return Recorded.model_validate({**fields, "prompt_version": "clean-1", **change})


HEADER = Header(
    model="m",
    server="vLLM 0",
    quantisation="bf16",
    settings={},
    decoding="free",
    prompt_versions=("clean-1", "correct-1"),
    recorded_at="2026-01-02",
    clearcall_version="0",
)


async def test_a_recorded_answer_names_the_recorded_model_and_the_prompt_of_its_iteration() -> None:
    backend = RecordedBackend(HEADER, {row().place: row()})
    consultant = build(Settings(), backend)
    (out,) = await consultant.chunks([Incoming(CALL[0])])
    assert isinstance(out.message, Draft)
    assert out.message.consultant.model_dump() == {
        "backend": "recorded",
        "model": "m",
        "prompt_version": "clean-1",
        "decoding": "free",
    }
    assert backend.info(2).prompt_version == "correct-1"


async def test_a_call_that_was_not_recorded_is_an_error_that_says_which() -> None:
    consultant = build(Settings(), RecordedBackend(HEADER, {}))
    with pytest.raises(Poison, match="call of chunk c/0") as caught:
        await consultant.chunks([Incoming(CALL[0])])
    assert caught.value.reason == "not_recorded"


async def test_a_chunk_that_was_not_recorded_within_its_call_fails_alone() -> None:
    consultant = build(Settings(), RecordedBackend(HEADER, {row().place: row()}))
    out = await consultant.chunks([Incoming(CALL[0]), Incoming(CALL[3])])
    drafts = [outgoing.message for outgoing in out if isinstance(outgoing.message, Draft)]
    assert [draft.failure for draft in drafts] == [None, Failure.NOT_RECORDED]


async def test_an_answer_to_other_words_is_not_passed_off_as_one_to_these() -> None:
    consultant = build(Settings(), RecordedBackend(HEADER, {row().place: row(source="0" * 12)}))
    with pytest.raises(Poison, match="other words"):
        await consultant.chunks([Incoming(CALL[0])])


async def test_a_correction_that_was_not_recorded_is_a_named_failure_and_loses_nothing() -> None:
    wrong = row(text="Our opening hours are from nine to five on weekdays and on Saturdays too.")
    consultant = build(Settings(), RecordedBackend(HEADER, {wrong.place: wrong}))
    loop = await run_loop(consultant, Settings(), [CALL[:1]])
    assert [e.attempt.failure for e in loop.evaluations] == [None, Failure.NOT_RECORDED, Failure.NOT_RECORDED]
    assert [e.attempt.outcome for e in loop.evaluations][1] is Outcome.FAILED
    assert [c.status for c in loop.cleaned] == [Status.RESTORED]


def test_a_recording_is_written_in_the_order_of_its_chunks(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [row(chunk_id=2), row(iteration=1), row()]
    write(path, HEADER, rows)
    assert list(read(path)[1]) == [("c", 0, 0, 0), ("c", 0, 0, 1), ("c", 2, 0, 0)]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("", "is empty"),
        ("{}", "line 1"),
        ("not json", "line 1"),
        (HEADER.model_dump_json() + "\n[]", "line 2"),
        (HEADER.model_dump_json() + '\n{"call_id": "c"}', "line 2"),
        (HEADER.model_dump_json().replace('"recording":1', '"recording":2'), "line 1"),
        (
            HEADER.model_dump_json() + "\n" + f'{{"call_id": "c", "chunk_id": {2**70}}}',
            "line 2: chunk_id: Input should be less",
        ),
    ],
)
def test_what_is_no_recording_is_an_error_that_says_where(tmp_path: Path, content: str, where: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    with pytest.raises(UnreadableRecording, match=where):
        read(path)


def test_a_recorded_consultant_without_a_recording_says_what_to_set() -> None:
    with pytest.raises(ValueError, match="needs a recording"):
        Settings(consultant="recorded")
