"""A prompt tried on some turns: what would be sent, what came of it, and what is wrong with a file that is none."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from clearcall.agents.consultant import prompt
from clearcall.agents.consultant.backend import Line, Request
from clearcall.agents.consultant.prompt import UnreadablePrompt
from clearcall.agents.consultant.trial import Said, requests, tried
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk
from clearcall.streams.cli import app
from clearcall.streams.cli.prompt import Decoding
from model_server import completion, serving

MINE = """=== system
Be brief.
=== request
${earlier}Now: $lines
=== earlier
Before: $turns
"""


def invoke(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["prompt", "try", *words], input=stdin)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_dry_run_shows_the_request_and_sends_nothing(mine: Path) -> None:
    result = invoke(str(mine), "--lines", "-", "--dry-run", "--model", "m", stdin="caller: um hello there\n")
    assert result.exit_code == 0, result.output
    for shown in ("--- system\nBe brief.\n", "--- user\nNow: 1 caller: um hello there\n", '"model": "m"', '"grammar"'):
        assert shown in result.stdout


def test_a_dry_run_without_a_decoding_by_grammar_shows_none(mine: Path) -> None:
    result = invoke(str(mine), "--lines", "-", "--dry-run", "--decoding", "free", stdin="hello there")
    assert '"grammar"' not in result.stdout


async def test_the_request_sent_is_the_one_that_a_dry_run_shows() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> object:
        bodies.append(body)
        return completion("1 agent: Hello there.")

    turns = [Said(Chunk(call_id="c", chunk_id=0, speaker=0, text="um hello there"))]
    chosen = prompt.read_prompt("mine", MINE)
    async with serving(answer) as url:
        settings = Settings(urls=(url,), model="m")
        (found,) = await tried(settings, chosen, turns)
    assert bodies == await requests(settings, chosen, turns)
    assert found.draft.consultant.prompt_version == "mine"
    assert found.attempt is not None
    assert not found.attempt.flagged


async def test_answers_are_scored_beside_what_was_said(mine: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("agent: um how can i help\ncaller: the part is one forty\n\ncaller: uh um\n", encoding="utf-8")

    wrong = completion("1 agent: How can I help?\n2 caller: The part is 104.")
    async with serving(lambda _body: wrong) as url:
        result = await asyncio.to_thread(  # the command runs a loop of its own
            invoke, str(mine), "--lines", str(lines), "--url", url, "--decoding", "free", "--model", "served"
        )
    assert result.exit_code == 0, result.output
    plain = " ".join(result.stdout.split())
    assert "The part is 104." in plain
    assert "number: said 140, wrote 104" in plain
    assert "nothing to clean" in plain
    assert "2 turns asked, 1 flagged; model served, prompt mine, free" in plain


def test_a_prompt_for_corrections_is_shown_the_answer_behind_the_tab() -> None:
    line = "caller: the part is one forty\tThe part is 104.\n"
    result = invoke("correct-2", "--lines", "-", "--dry-run", stdin=line)
    assert "--- assistant\n1 caller: The part is 104.\n" in result.stdout
    assert "said 140, wrote 104" in result.stdout


def test_calls_and_samples_are_tried_too(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    chunks = [{"chunk_id": 0, "speaker": 0, "text": "um from a file"}]
    calls.write_text(json.dumps({"call_id": "c", "chunks": chunks}), encoding="utf-8")
    assert "um from a file" in invoke("clean-1", "--calls", str(calls), "--dry-run").stdout
    assert "request 1 of" in invoke("clean-1", "--dry-run", "--most", "2").stdout


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (["nothing.txt"], "", "no prompt file nothing.txt"),
        (["clean-1", "--lines", "missing.txt"], "", "no such file"),
        (["clean-1", "--lines", "-"], "", "there is no turn"),
        (["clean-1", "--lines", "-"], "a\tb", "a line has a tab"),
        (["correct-2"], "", "needs earlier answers"),
        (["correct-2", "--lines", "-"], "one two", "turn 0 has no earlier answer"),
        (["clean-1", "--lines", "-", "--calls", "x"], "a", "both --lines and --calls"),
        (["clean-1", "--calls", "missing.jsonl"], "", "missing.jsonl"),
        (["clean-1", "--lines", "-", "--url", "localhost:8000"], "a", "--url"),
    ],
)
def test_what_cannot_be_tried_is_told_as_wrong_use(words: list[str], stdin: str, told: str) -> None:
    result = invoke(*words, stdin=stdin)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_server_that_is_away_is_told(mine: Path) -> None:
    result = invoke(str(mine), "--lines", "-", "--url", "http://127.0.0.1:9/v1", "--model", "m", stdin="hello there")
    assert result.exit_code == 1
    assert "--dry-run" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begin with a section"),
        ("hello", "begin with a section"),
        (f"first\n{MINE}", "begin with a section"),
        ("=== system\nx\n", "no section request, earlier"),
        (MINE + "=== poem\nx\n", "no section poem"),
        (MINE + "=== request\n$lines\n", "request twice"),
        (MINE.replace("$lines", "them"), "lacks $lines"),
        (MINE.replace("$turns", "$words"), "no place $words"),
        (MINE.replace("Now", "$5"), "a $ stands alone"),
        (MINE + "=== findings\nWrong.\n", "lacks $findings"),
    ],
)
def test_a_file_that_is_no_prompt_says_why(text: str, told: str) -> None:
    with pytest.raises(UnreadablePrompt) as caught:
        prompt.read_prompt("mine", text)
    assert told in str(caught.value)


@given(st.text() | st.lists(st.sampled_from(["=== system\n", "=== request\n$lines\n", "=== earlier\n", "$", "x"])))
def test_any_text_is_a_prompt_or_a_reason(text: str | list[str]) -> None:
    written = text if isinstance(text, str) else "".join(text)
    with suppress(UnreadablePrompt):
        found = prompt.read_prompt("any", written)
        line = Line(Chunk(call_id="c", chunk_id=0, speaker=0, text="hello"), "hello")
        assert prompt.render(Request(0, (line,)), lambda _iteration: found)


@pytest.mark.parametrize("version", prompt.versions())
def test_every_released_prompt_is_one(version: str) -> None:
    assert prompt.load(version).version == version


def test_every_way_of_decoding_initial_answers_can_be_tried() -> None:
    known = get_args(Settings.model_fields["decoding"].annotation)
    assert {each.value for each in Decoding} == {name for name in known if not name.startswith("free-then")}
