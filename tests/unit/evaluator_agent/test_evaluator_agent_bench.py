"""The benchmark of the evaluator agent: what it draws, what it counts, and that it runs against a server."""

import asyncio
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from clearcall.agents.consultant.backend import ModelError
from clearcall.agents.evaluator_agent import bench
from clearcall.agents.evaluator_agent.bench.run import draw
from clearcall.infra.settings import Settings
from clearcall.schemas import Distortion
from clearcall.streams.cli import app
from model_server import serving
from tool_server import calling, truly


def turn(number: int) -> dict[str, Any]:
    part, of_them = f"part number {number}", f"it was three fifty for {number} of them"
    return {
        "chunk_id": number,
        "speaker": number % 2,
        "text": f"um i i don't have {part} you know {of_them}",
        "gold": f"i don't have {part} {of_them}",
        "gold_punct": f"I don't have {part}. I{of_them[1:]}.",
    }


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    lines = [
        json.dumps({"call_id": f"c{call}", "chunks": [turn(12 * call + number) for number in range(12)]})
        for call in range(3)
    ]
    (tmp_path / "calls_dev.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_half_of_the_fragments_are_of_turns_that_were_made_wrong(calls: Path) -> None:
    drawn = draw(calls, 20, seed=1)
    assert sum(fragment.faithful for fragment in drawn) == 10
    assert len(drawn) == 20
    assert draw(calls, 20, seed=1) == drawn != draw(calls, 20, seed=2)


async def test_a_model_that_copies_truly_changes_no_flag(calls: Path) -> None:
    async with serving(truly) as url:
        result = await bench.run(Settings(evaluator_agent_urls=(url,)), calls, fragments=20)
    assert {call.kind for _, call in result.compared} == {Distortion.EXACT}
    page = bench.render(result, "1.2.3", date(2026, 1, 2))
    assert "20 calls, 20 (100.0%) exact" in page
    assert "clearcall 1.2.3, 2026-01-02. Model served" in page


async def test_what_a_model_distorts_is_counted_by_kind_and_flag(calls: Path) -> None:
    def both_are_the_fragment(body: dict[str, Any]) -> object:
        fragment = body["messages"][1]["content"].rpartition("<fragment>\n")[2].partition("\n</fragment>")[0]
        return calling({"fragment": fragment, "source": fragment})

    async with serving(both_are_the_fragment) as url:
        result = await bench.run(Settings(evaluator_agent_urls=(url,)), calls, fragments=20)
    flagged = sum(call.true.flagged for _, call in result.compared)
    assert flagged
    page = bench.render(result, "1", date(2026, 1, 2))
    row = next(line for line in page.splitlines() if line.startswith("| all "))
    assert [cell.strip() for cell in row.split("|")[2:7]] == ["20", str(flagged), str(flagged), "0", "0"]


async def test_a_server_without_tools_is_an_error_that_says_what_to_do(calls: Path) -> None:
    def refuse(_body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": "requires --tool-call-parser to be set"}}, status=400)

    async with serving(refuse) as url:
        with pytest.raises(ModelError):
            await bench.run(Settings(evaluator_agent_urls=(url,)), calls, fragments=4)


def test_a_folder_without_calls_and_a_server_that_is_away_are_told_plainly(calls: Path, tmp_path: Path) -> None:
    away = ["--url", "http://127.0.0.1:9/v1", "--model", "m"]
    result = CliRunner().invoke(app, ["bench", "evaluator-agent", str(tmp_path / "nowhere"), *away])
    assert result.exit_code == 2
    assert "give the folder that has the calls" in result.stderr
    result = CliRunner().invoke(app, ["bench", "evaluator-agent", str(calls), *away, "--fragments", "2"])
    assert result.exit_code == 1
    assert "check --url" in result.stderr


def test_a_wrong_url_is_told_by_the_flag_that_gave_it(calls: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "evaluator-agent", str(calls), "--url", "localhost:8000"])
    assert result.exit_code == 2
    assert "--url" in result.stderr


async def test_what_is_not_answered_in_time_is_left_out_told_and_asked_when_the_run_goes_on(
    calls: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "answers.jsonl"
    asked: list[str] = []
    over = asyncio.Event()

    async def slow_in_the_end(body: dict[str, Any]) -> object:
        asked.append(body["messages"][1]["content"])
        if len(asked) > 3:
            await over.wait()
        return truly(body)

    async with serving(slow_in_the_end) as url:
        settings = Settings(evaluator_agent_urls=(url,), evaluator_agent_model="served")
        result = await bench.run(settings, calls, fragments=8, in_flight=1, most_seconds=0.5, answers=kept)
        over.set()
    answered = len(result.compared)  # three, or fewer where the machine is slow
    assert answered <= 3
    assert f"{8 - answered} more were drawn and not answered in time" in bench.render(result, "1", date(2026, 1, 2))

    def quick(body: dict[str, Any]) -> object:
        asked.append(body["messages"][1]["content"])
        return truly(body)

    asked.clear()
    async with serving(quick) as url:
        settings = Settings(evaluator_agent_urls=(url,), evaluator_agent_model="served")
        result = await bench.run(settings, calls, fragments=8, answers=kept)
    assert len(result.compared) == 8
    assert len(asked) <= 8 - answered
