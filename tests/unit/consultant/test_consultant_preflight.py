"""What is named for the consultants is looked at before anything starts, and wrong settings are exit code 2."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clearcall.agents.consultant.preflight import require_ready
from clearcall.agents.consultant.prompt import first_versions, text_of
from clearcall.infra.settings import BadSettings, Settings
from clearcall.streams.cli import app

NAMES = "there are clean-1, format-numbers-1, and files *.txt"


def problems(**settings: Any) -> list[str]:
    with pytest.raises(BadSettings) as refused:
        require_ready(Settings(**settings))
    return refused.value.problems


def test_settings_that_name_nothing_and_settings_that_name_what_is_there_are_ready(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text(text_of("correct-2"))  # a file that corrects may answer first as well
    require_ready(Settings())
    for prompt in (*first_versions(), str(own)):
        require_ready(Settings(prompt=prompt, consultants=[{"name": "a", "share": 0.1}], tasks=[{"name": "one"}]))


@pytest.mark.parametrize("consultant", ["openai", "rules"])
def test_a_prompt_that_does_not_exist_is_refused_with_those_that_do(consultant: str) -> None:
    assert problems(consultant=consultant, prompt="nosuch") == [f"the prompt nosuch does not exist; {NAMES}"]


def test_a_prompt_that_only_corrects_is_refused_as_a_first_one() -> None:
    assert problems(prompt="correct-2") == [
        f"the prompt correct-2 is for corrections, not for first answers; {NAMES}",
    ]


def test_the_prompts_of_later_tasks_and_of_shadows_are_looked_at_too() -> None:
    found = problems(
        consultant="rules",
        consultants=[{"name": "next", "shadow": True, "prompt": "other"}],
        tasks=[{"name": "one"}, {"name": "two", "prompt": "nosuch"}],
    )
    assert found == [
        f"task two: the prompt nosuch does not exist; {NAMES}",
        f"task one: the prompt other does not exist; {NAMES}",
    ]


@pytest.mark.parametrize("content", ["", "hello\n", '{"recording": 2}\n'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    [problem] = problems(consultant="recorded", recording=path)
    assert problem.startswith(str(path))


def test_files_that_are_not_there_or_are_no_text_are_refused(tmp_path: Path) -> None:
    away = tmp_path / "away"
    assert problems(consultant="recorded", recording=away) == [f"{away}: no such file or directory"]
    assert problems(prompt=f"{away}.txt") == [f"{away}.txt: no such file or directory"]
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    assert problems(prompt=str(tmp_path / "bytes.txt")) == [f"{tmp_path}/bytes.txt: not UTF-8 at byte 0"]
    (tmp_path / "other.txt").write_text("hello")
    assert problems(prompt=str(tmp_path / "other.txt"))[0].startswith(f"prompt: {tmp_path}/other.txt is no prompt: it")


@pytest.mark.parametrize("command", [["worker", "--stage", "consultant"], ["run", "calls.jsonl"]])
@pytest.mark.parametrize(
    "variables",
    [
        {"CLEARCALL_CONSULTANT": "recorded"},
        {"CLEARCALL_CONSULTANT": "recorded", "CLEARCALL_RECORDING": "calls.jsonl"},
        {"CLEARCALL_PROMPT": "nosuch"},
        {"CLEARCALL_PROMPT": "correct-2"},
    ],
)
def test_a_command_with_such_settings_is_used_wrongly_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], variables: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("calls.jsonl").write_text('{"call_id": "c", "chunk_id": 0, "speaker": 0, "text": "um hello"}\n')
    result = CliRunner().invoke(app, command, env=variables)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["calls.jsonl"]


def test_a_later_task_cannot_be_answered_from_a_recording(tmp_path: Path) -> None:
    found = problems(consultant="recorded", recording=tmp_path / "r", tasks=[{"name": "one"}, {"name": "two"}])
    assert "task two: a recording has no answers to a later task" in found
