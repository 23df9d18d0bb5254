"""The recording that comes with the sample calls: real answers, to these calls, that show what the loop does."""

from collections import Counter
from importlib.resources import as_file, files
from typing import Literal

import pytest

from clearcall.agents.consultant import build
from clearcall.agents.consultant.record import Loop, run_loop
from clearcall.agents.consultant.recording import read
from clearcall.infra.settings import Settings
from clearcall.samples import load_calls
from clearcall.schemas import Failure, Status
from clearcall.scoring import is_allowed

CALLS = [[sample.chunk for sample in call.chunks] for call in load_calls()]


Mode = Literal["strict", "paper"]


async def replayed(mode: Mode) -> Loop:
    with as_file(files("clearcall.samples") / "recording.jsonl") as path:
        settings = Settings(consultant="recorded", recording=path, mode=mode)
        return await run_loop(build(settings), settings, CALLS)


@pytest.fixture
async def loop() -> Loop:
    return await replayed("strict")


def test_the_recording_is_labelled_with_model_server_settings_and_date() -> None:
    with as_file(files("clearcall.samples") / "recording.jsonl") as path:
        header, _ = read(path)
    assert header.server.startswith("vLLM ")
    assert all((header.model, header.quantisation, header.recorded_at, header.prompt_versions))
    assert header.settings["temperature"] == 0


async def test_every_sample_chunk_ends_exactly_once(loop: Loop) -> None:
    ended = [cleaned.chunk.message_id for cleaned in loop.cleaned]
    assert sorted(ended) == sorted(chunk.message_id for call in CALLS for chunk in call)


async def test_what_the_free_model_invents_is_flagged_and_its_constrained_corrections_mend_it(loop: Loop) -> None:
    first, second, *_ = loop.rates()
    assert first.flagged > 50
    assert second.chunks >= first.flagged / 2
    assert second.flagged <= first.flagged / 10
    ended = Counter(cleaned.status for cleaned in loop.cleaned)
    assert ended[Status.CLEAN] > ended[Status.CORRECTED] > 50
    assert ended[Status.CORRECTED] > 10 * ended[Status.RESTORED]
    assert ended[Status.PASSTHROUGH]


async def test_initial_responses_are_free_and_corrections_add_and_lose_nothing(loop: Loop) -> None:
    attempts = [(evaluation.chunk, evaluation.attempt) for evaluation in loop.evaluations]
    corrections = [(chunk, attempt) for chunk, attempt in attempts if attempt.iteration and not attempt.failure]
    assert {attempt.consultant.decoding for _, attempt in attempts if not attempt.iteration} == {"free"}
    assert {attempt.consultant.decoding for _, attempt in corrections} == {"constrained"}
    assert all(is_allowed(chunk.text, attempt.cleaned) for chunk, attempt in corrections)


@pytest.mark.parametrize("mode", ["strict", "paper"])
async def test_almost_every_correction_that_is_wanted_was_recorded(mode: Mode) -> None:
    loop = await replayed(mode)
    wanted = [evaluation.attempt for evaluation in loop.evaluations if evaluation.attempt.iteration]
    missing = [attempt for attempt in wanted if attempt.failure is Failure.NOT_RECORDED]
    assert len(missing) <= len(wanted) / 10
