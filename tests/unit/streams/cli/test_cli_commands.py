"""The command line in this process: what it prints, and with which exit code it ends."""

import gc
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from aiokafka.errors import UnknownTopicOrPartitionError
from typer.testing import CliRunner, Result

from clearcall import __version__
from clearcall.infra.settings import load
from clearcall.schemas import Topic
from clearcall.streams import topics as kafka_topics
from clearcall.streams import worker as workers
from clearcall.streams.cli import app
from clearcall.streams.cli import dead_letters as dead_letter_commands
from clearcall.streams.cli import explain as explain_commands
from clearcall.streams.cli.errors import explain
from clearcall.streams.topics import TopicState

FAITHFUL = ("um it costs one forty today", "It costs one forty today.")
UNFAITHFUL = ("um it costs one forty today", "The weather was lovely last week, friend.")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.startswith("CLEARCALL_"):
            monkeypatch.delenv(name)
    levels = {name: logging.getLogger(name).level for name in ("aiokafka", "kafka", "clickhouse_connect")}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL_COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL_COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert "Example" in result.stdout


def test_the_version_is_printed() -> None:
    assert run("--version").stdout == f"clearcall {__version__}\n"


def test_without_a_command_the_help_is_shown() -> None:
    result = run()
    assert result.exit_code == 2
    assert "explain" in result.output


@pytest.mark.parametrize("arguments", [("no-such",), ("score",), ("score", "a", "b", "--mode", "x"), ("worker",)])
def test_wrong_usage_is_exit_code_2_without_a_traceback(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert "Traceback" not in result.output
    assert "Value error" not in result.output


def test_score_prints_a_line_for_each_fragment_and_the_verdict() -> None:
    result = run("score", *FAITHFUL, "--mode", "paper")
    assert result.exit_code == 0
    assert "It costs one forty today." in result.stdout
    assert result.stdout.splitlines()[-1].startswith("FAITHFUL  0 of 1 fragments flagged")


@pytest.mark.parametrize("command", ["score", "explain"])
def test_check_makes_a_flag_exit_code_1(command: str) -> None:
    assert run(command, *FAITHFUL, "--check").exit_code == 0
    assert run(command, *UNFAITHFUL, "--check").exit_code == 1
    assert run(command, *UNFAITHFUL).exit_code == 0


def test_score_prints_json() -> None:
    value = json.loads(run("score", *UNFAITHFUL, "--json").stdout)
    assert value["flagged"] is True
    assert value["mode"] == "strict"


def test_a_text_comes_from_standard_input() -> None:
    result = run("score", "-", "Hello there.", "--json", stdin="um hello there")
    assert json.loads(result.stdout)["fragments"][0]["text"] == "Hello there."


def test_explain_writes_a_page_to_a_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("explain", *FAITHFUL, "--format", "html", "--out", str(page))
    assert (result.exit_code, result.stdout.strip()) == (0, str(page))
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_scoring_follows_the_settings_and_flags_outweigh_them(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('mode = "paper"\nthreshold = 1\n')
    value = json.loads(run("--config", str(config), "score", *UNFAITHFUL, "--json").stdout)
    assert (value["mode"], value["threshold"], value["flagged"]) == ("paper", 1.0, False)
    value = json.loads(run("--config", str(config), "score", *UNFAITHFUL, "--json", "--threshold", "99").stdout)
    assert value["flagged"] is True


@pytest.mark.parametrize(
    ("arguments", "what", "todo"),
    [
        (("score", "-", "-"), "both texts are to be read from standard input", "give one of them as a file"),
        (("score", "missing.txt", "x y"), "missing.txt: no such file", "check the path"),
        (("score", "a", "b", "--threshold", "300"), "threshold: input should be less than or equal to 100", "example"),
        (("score", "a", "b", "--words", "3"), "fragment_overlap should be less than fragment_words", "example"),
        (
            ("score", "a", "b", "--words", "0"),
            "fragment_words: input should be greater than 0; it is '0', from flag --words",
            "",
        ),
        (("explain", "/tmp", "hello"), "/tmp: is a folder, not a file", "name a file in it"),
        (("explain", "a b", "c d", "--out", "/no/such/folder/x"), "/no/such/folder/x: no such file", "check the path"),
    ],
)
def test_what_went_wrong_and_what_to_do_are_a_line_each(arguments: tuple[str, ...], what: str, todo: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith(f"error: {what}")
    assert second.startswith("do: ")
    assert todo in second


def test_every_bad_setting_has_its_line(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("treshold = 1\nkafak = 1\n")
    result = run("--config", str(config), "config", "show")
    assert result.exit_code == 2
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == ["error", "error", "do"]
    assert "did you mean 'threshold'?" in result.stderr


def test_a_config_file_can_be_named_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "c.toml"
    config.write_text("threshold = 12\n")
    monkeypatch.setenv("CLEARCALL_CONFIG", str(config))
    shown = json.loads(run("config", "show", "--json").stdout)
    assert shown["threshold"] == {"value": "12.0", "origin": str(config)}


def test_config_show_masks_secrets_and_warns_of_names_that_set_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_API_KEY", "hunter2")
    monkeypatch.setenv("CLEARCALL_TRESHOLD", "1")
    result = run("config", "show")
    assert "hunter2" not in result.output
    assert "CLEARCALL_API_KEY" in result.stdout
    assert "CLEARCALL_TRESHOLD is not a setting; did you mean 'CLEARCALL_THRESHOLD'?" in result.stderr


def test_config_example_can_be_used_as_it_is_printed(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(run("config", "example").stdout)
    assert load(config) == load()


def test_schemas_are_exported(tmp_path: Path) -> None:
    result = run("schemas", "export", "--out", str(tmp_path))
    assert len(result.stdout.splitlines()) == len(list(tmp_path.iterdir())) == len(Topic)


def states(**partitions: int | None) -> list[TopicState]:
    return [
        TopicState(topic, f"p.{topic}", partitions.get(topic.name, 12), 1, partitions.get(topic.name, 12) == 12)
        for topic in Topic
    ]


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        (states(), 0, "p.transcripts.chunks"),
        (states(DRAFTS=None), 1, "missing: clearcall topics create"),
        (states(DRAFTS=3), 1, "not as many partitions"),
    ],
)
def test_topics_list_is_exit_code_1_where_topics_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, found: list[TopicState], code: int, said: str
) -> None:
    async def list_topics(_settings: object) -> list[TopicState]:
        return found

    monkeypatch.setattr(kafka_topics, "list_topics", list_topics)
    result = run("topics", "list")
    assert result.exit_code == code
    assert said in result.stdout
    value = json.loads(run("topics", "list", "--json").stdout)
    assert len(value) == len(Topic)


def test_topics_create_passes_the_flags_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    async def create_topics(settings: Any) -> list[TopicState]:
        seen.append((settings.kafka, settings.partitions, settings.replication))
        return states()

    monkeypatch.setattr(kafka_topics, "create_topics", create_topics)
    assert run("topics", "create", "--kafka", "a:1", "--partitions", "6", "--replication", "3").exit_code == 0
    assert seen == [("a:1", 6, 3)]


def test_prompts_are_listed_with_their_use_and_shown_as_they_are() -> None:
    assert {"clean-1  initial responses", "correct-2  corrections"} <= set(run("prompt", "list").stdout.splitlines())
    assert run("prompt", "show", "clean-1").stdout.startswith("=== system\n")


def test_a_prompt_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    result = run("prompt", "show", "../secret")
    assert result.exit_code == 2
    assert "clean-1, correct-1" in result.stderr


def test_a_missing_topic_is_named_with_the_command_that_makes_it() -> None:
    stop = explain(UnknownTopicOrPartitionError("transcripts.dead-letters"))
    assert (stop.what, stop.todo) == ("topics are missing: transcripts.dead-letters", "clearcall topics create")
    assert explain(UnknownTopicOrPartitionError()).what == "topics are missing"


@pytest.mark.parametrize(
    "arguments",
    [
        ("dead-letters", "list", "--from", "kafka"),
        ("replay",),
    ],
)
def test_a_reader_of_a_topic_closes_what_it_opened_where_kafka_does_not_answer(
    arguments: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    result = run(*arguments, "--kafka", "127.0.0.1:9")
    gc.collect()  # a client that was left open complains as it goes
    assert (result.exit_code, "Kafka does not answer" in result.stderr) == (1, True)
    assert "Unclosed" not in caplog.text + result.stderr


@pytest.mark.parametrize(
    ("flag", "given", "known"),
    [
        ("--stage", "evaluatr", "consultant, evaluator, sink"),
        ("--reason", "tomstone", "tombstone"),
        ("--topic", "chunks", "transcripts.chunks"),
    ],
)
@pytest.mark.parametrize("command", ["list", "replay"])
def test_a_filter_that_matches_nothing_and_names_nothing_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, command: str, flag: str, given: str, known: str
) -> None:
    monkeypatch.setattr(dead_letter_commands, "_read", lambda *_: [])
    result = run("dead-letters", command, flag, given)
    assert result.exit_code == 2
    assert f"there is no {flag[2:]} {given}" in result.stderr
    assert known in result.stderr


def test_a_filter_of_a_known_name_may_match_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter_commands, "_read", lambda *_: [])
    result = run("dead-letters", "list", "--stage", "sink", "--reason", "failed", "--topic", "transcripts.drafts")
    assert (result.exit_code, result.stdout) == (0, "no dead letters\n")


def test_a_kafka_that_does_not_answer_is_two_lines() -> None:
    result = run("topics", "list", "--kafka", "127.0.0.1:9")
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()
    assert first.startswith("error: Kafka does not answer")
    assert "CLEARCALL_KAFKA" in second


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_worker_ends_with_the_runtimes_exit_code(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    seen = []

    async def run_worker(stages: list[str], settings: Any) -> int:
        seen.append((stages, settings.consultant, settings.urls))
        return code

    monkeypatch.setattr(workers, "run_worker", run_worker)
    monkeypatch.setattr("clearcall.infra.logging.configure", lambda _settings: None)
    arguments = ("worker", "--stage", "sink", "--stage", "evaluator", "--consultant", "rules")
    assert run(*arguments, "--url", "http://a/v1", "--url", "http://b/v1").exit_code == code
    assert seen == [(["sink", "evaluator"], "rules", ("http://a/v1", "http://b/v1"))]


def test_an_unexpected_error_is_two_lines_and_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(explain_commands, "read_transcripts", broken)
    result = run("score", "a", "b")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["error: RuntimeError: out of luck", "do: clearcall --debug … shows where"]
    assert isinstance(run("--debug", "score", "a", "b").exception, RuntimeError)


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explain_commands, "read_transcripts", interrupted)
    result = run("score", "a", "b")
    assert result.exit_code == 130
    assert "Traceback" not in result.output
