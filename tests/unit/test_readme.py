"""What the README says is so."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from clearcall.infra.settings import Settings, load
from clearcall.infra.team import Team
from clearcall.scoring import Turn, evaluate
from clearcall.scoring.types import GUARDS
from clearcall.streams.cli import app

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
LINES = [line for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
TABLE = [name for row in re.findall(r"^\| (`clearcall .*?) \|", README, re.MULTILINE) for name in row.split(", ")]


def find(words: list[str]) -> Any:
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    return command


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("clearcall ")])
def test_every_command_line_shown_can_be_given(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    known = {option for parameter in find(words).params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_table_of_commands_is_complete() -> None:
    shown, group = set(), ""
    for cell in TABLE:
        words = [word for word in cell.strip("`").removeprefix("clearcall ").split() if word.islower()]
        words = [word for word in words if not word.startswith("-")]
        if not cell.startswith("`clearcall"):
            words = [group, *words]
        group = words[0]
        shown.add(" ".join(words))
    assert shown == set(all_commands(typer.main.get_command(app)))


def all_commands(group: Any, path: str = "") -> list[str]:
    names = []
    for name, command in group.commands.items():
        below = hasattr(command, "commands")
        names += all_commands(command, f"{path}{name} ") if below else [f"{path}{name}"]
    return names


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (`.*?`|) \| ", README, re.MULTILINE))
    for name, field in Settings.model_fields.items():
        default = next(iter(field.default), None) if isinstance(field.default, tuple) else field.default
        if isinstance(default, str | int | float) and default != "":
            shown = str(default).lower() if isinstance(default, bool) else str(default)
            assert rows[name] == f"`{shown}`"
        else:
            assert name in rows


def test_the_example_of_several_consultants_can_be_loaded(tmp_path: Path) -> None:
    [example] = [block for kind, block in BLOCKS if kind == "toml"]
    (tmp_path / "clearcall.toml").write_text(example, "utf-8")
    team = Team.of(load(tmp_path / "clearcall.toml"))
    assert (team.delivered, team.shadows) == (("", "canary", "digits"), ("next",))
    assert team.settings_of("digits", 1).threshold == 90


def test_every_guard_is_in_the_table() -> None:
    assert set(GUARDS) == set(re.findall(r"^\| `(\w+)` \| .*$", README.split("| guard |")[1], re.MULTILINE))


def test_the_example_of_explain_is_what_it_prints() -> None:
    line = next(line for line in LINES if line.startswith("clearcall explain"))
    shown = next(block for kind, block in BLOCKS if kind == "text" and "FLAGGED" in block)
    assert CliRunner().invoke(app, shlex.split(line)[1:]).stdout == shown


def test_the_python_example_flags_the_changed_price() -> None:
    code = next(block for kind, block in BLOCKS if kind == "python")
    assert 'evaluate([Turn(0, "It costs $104.")], [Turn(0, "um it costs one forty")])' in code
    result = evaluate([Turn(0, "It costs $104.")], [Turn(0, "um it costs one forty")])
    assert [flag.reason for fragment in result.fragments for flag in fragment.flags] == ["said 140, wrote 104"]
