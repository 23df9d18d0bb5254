"""Several consultants and tasks in the settings: what they override, and what is said of those that do not fit."""

import os
from pathlib import Path
from typing import Any

import pytest

from clearcall.infra.settings import BadSettings, Settings, describe, load
from clearcall.infra.team import Team

WHOLE = """
threshold = 70
urls = ["http://main/v1"]

[[consultants]]
name = "main"

[[consultants]]
name = "canary"
share = 0.1
model = "new"
threshold = 75

[[consultants]]
name = "next"
shadow = true
urls = ["http://me:hunter2@next/v1"]

[[tasks]]
name = "punctuate"

[[tasks]]
name = "format-numbers"
prompt = "format-numbers-1"
threshold = 90
guards_off = ["order"]
"""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CLEARCALL_"):
            monkeypatch.delenv(name)


def toml(folder: Path, text: str) -> Path:
    path = folder / "clearcall.toml"
    path.write_text(text, "utf-8")
    return path


def problem(**tables: Any) -> str:
    with pytest.raises(BadSettings) as caught:
        load(**tables)
    [line] = caught.value.problems
    return line


def test_a_task_outweighs_its_consultant_which_outweighs_the_rest(tmp_path: Path) -> None:
    team = Team.of(load(toml(tmp_path, WHOLE)))
    assert (team.default, team.delivered, team.shadows) == ("main", ("main", "canary"), ("next",))
    found = {(name, step): team.settings_of(name, step) for name in ("main", "canary", "next") for step in (0, 1)}
    assert {place: each.threshold for place, each in found.items()} == {
        ("main", 0): 70,
        ("canary", 0): 75,
        ("next", 0): 70,
        ("main", 1): 90,
        ("canary", 1): 90,
        ("next", 1): 90,
    }
    assert (found["canary", 1].model, found["main", 1].model) == ("new", "")
    assert (found["main", 1].guards_off, found["main", 1].prompt) == (("order",), "format-numbers-1")
    assert (found["main", 0].decoding, found["main", 1].decoding) == ("constrained", "free")
    assert found["next", 0].urls == ("http://me:hunter2@next/v1",)


def test_a_shadow_waits_for_its_model_whatever_the_others_do() -> None:
    team = Team.of(load(outage="degrade", consultants=[{"name": "next", "shadow": True}]))
    assert (team.settings_of("", 0).outage, team.settings_of("next", 0).outage) == ("degrade", "wait")


def test_servers_of_its_own_get_the_key_from_its_own_file_and_never_that_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLEARCALL_API_KEY", "of the others")
    (tmp_path / "key").write_text("its own\n")
    tables = [
        {"name": "same", "share": 0.1},
        {"name": "other", "share": 0.1, "urls": ["http://other/v1"]},
        {"name": "keyed", "share": 0.1, "urls": ["http://keyed/v1"], "api_key_file": str(tmp_path / "key")},
    ]
    team = Team.of(load(consultants=tables))
    keys = {name: team.settings_of(name, 0).api_key.get_secret_value() for name in team.delivered}
    assert keys == {"": "of the others", "same": "of the others", "other": "", "keyed": "its own"}


def test_servers_of_its_own_are_asked_for_their_model_unless_it_is_named() -> None:
    own = {"urls": ["http://other/v1"], "share": 0.1}
    tables = [{"name": "same", "share": 0.1}, {"name": "asked", **own}, {"name": "named", **own, "model": "large"}]
    team = Team.of(load(model="small", consultants=tables))
    assert [team.settings_of(name, 0).model for name in ("same", "asked", "named")] == ["small", "", "large"]


def test_they_are_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_CONSULTANTS", '[{"name": "next", "shadow": true, "model": "m"}]')
    assert Team.of(load()).shadows == ("next",)
    monkeypatch.setenv("CLEARCALL_CONSULTANTS", '[{"name')
    assert problem().startswith("consultants: should be JSON, a list of objects")


def test_they_are_shown_without_passwords_and_keys(tmp_path: Path) -> None:
    shown = {item.name: item.value for item in describe(toml(tmp_path, WHOLE))}
    assert shown["consultants"].startswith("main, canary (share 0.1, model new, threshold 75), next (shadow True")
    assert shown["tasks"].startswith("punctuate, format-numbers (prompt format-numbers-1")
    assert "hunter2" not in str(shown)


@pytest.mark.parametrize(
    ("consultants", "said"),
    [
        ([{"name": "a", "share": 0.7}, {"name": "b", "share": 0.5}], "[[consultants]] the shares add up to 1.2"),
        ([{"name": "a"}, {"name": "b"}], "[[consultants]] a, b: only one can have no share"),
        ([{"name": "a", "share": 0.1}, {"name": "a", "shadow": True}], "[[consultants]] a: named twice"),
        ([{"name": "a", "share": 0.1, "shadow": True}], "consultants[0]: a shadow answers beside the others"),
        ([{"name": "a", "share": 2}], "consultants[0].share: input should be less than or equal to 1"),
        ([{"name": "A b"}], "consultants[0].name: string should match pattern"),
        ([{"share": 0.1}], "consultants[0].name: field required"),
        ([{"name": "a", "kafka": "x:1"}], "consultants[0]: kafka cannot be set here; what can is api_key_file,"),
        ([{"name": "a", "consultant": "recorded"}], "[[consultants]] a: consultant recorded needs a recording"),
        ([{"name": "a", "threshold": 300}], "[[consultants]] a: threshold: input should be less than or equal to 100"),
        ([{"name": "a", "consultant": "magic"}], "[[consultants]] a: consultant: input should be 'openai'"),
        ([{"name": "a", "api_key_file": "/nowhere/key"}], "[[consultants]] a: cannot read /nowhere/key"),
        ([{"name": "a", "request_timeout": 1e6}], "[[consultants]] a: stall_timeout should be more"),
    ],
)
def test_consultants_that_do_not_fit_are_refused(consultants: list[dict[str, Any]], said: str) -> None:
    assert problem(consultants=consultants).startswith(said)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([{"name": "a"}, {"name": "a"}], "[[tasks]] a: named twice"),
        ([{"name": "a", "consultant": "nobody"}], "[[tasks]] a: nobody is no consultant whose answers are delivered"),
        ([{"name": "a", "consultant": "next"}], "[[tasks]] a: next is no consultant whose answers are delivered"),
        ([{"name": "a", "model": "m"}], "tasks[0]: model cannot be set here"),
        ([{"name": "a", "policy": "burn"}], "[[tasks]] a: policy: input should be 'restore' or 'keep'"),
    ],
)
def test_tasks_that_do_not_fit_are_refused(tasks: list[dict[str, Any]], said: str) -> None:
    assert problem(consultants=[{"name": "next", "shadow": True}], tasks=tasks).startswith(said)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"consultants": [{"name": "a", "kafka": "x:1"}]}, {"name", "share", "shadow", "api_key_file", "urls"}),
        ({"tasks": [{"name": "a", "model": "m"}]}, {"name", "consultant", "prompt"}),
    ],
)
def test_what_can_be_set_in_a_table_is_told_whole(settings: dict[str, Any], names: set[str]) -> None:
    told = problem(**settings).partition("what can is ")[2].partition(", from")[0]
    assert names <= set(told.split(", "))


@pytest.mark.parametrize("name", ["consultants", "tasks"])
@pytest.mark.parametrize("value", [{"name": "a"}, '{"name": "a"}', 3, "3"])
def test_one_table_where_there_may_be_several_is_refused_with_how_to_write_it(name: str, value: Any) -> None:
    assert f"write [[{name}]] in a file" in problem(**{name: value})


def test_recorded_answers_need_a_recording() -> None:
    assert "consultant recorded needs a recording" in problem(consultant="recorded")


def test_a_secret_in_a_table_is_refused_without_being_shown() -> None:
    assert "hunter2" not in problem(consultants=[{"name": "a", "api_key": "hunter2"}])


def test_without_tables_nothing_is_overridden() -> None:
    settings = Settings()
    assert Team.of(settings).alone
    assert Team.of(settings).settings_of("", 0) is settings
