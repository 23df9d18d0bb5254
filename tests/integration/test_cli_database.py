"""``db``, ``report`` and ``dead-letters`` on the embedded engine."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clearcall.infra.clickhouse import connect, migrate
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import DeadLetter, Message, Status
from clearcall.streams.cli import app
from clickhouse_samples import attempt, chunk, cleaned, dead_letter, evaluation, fragment

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("CLEARCALL_DB", f"chdb://{tmp_path}/db")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    return run


def store(messages: Sequence[Message]) -> None:
    with closing(connect(Settings())) as database:
        migrate(database)
        for table, values in columns(messages).items():
            database.insert(table, values)


def sample() -> list[Message]:
    flagged, better = attempt(0, [fragment(0, 50.0), fragment(1, 90.0)]), attempt(1, [fragment(0, 95.0)])
    return [
        evaluation(chunk(), flagged),
        evaluation(chunk(), better),
        cleaned(chunk(), Status.CORRECTED, [flagged, better]),
        cleaned(chunk("c2"), Status.PASSTHROUGH),
    ]


def test_migrate_prepares_a_database_and_status_tells_what_is_pending(cli: Cli) -> None:
    before = cli("db", "status")
    assert before.exit_code == 1
    assert "0001 tables  pending" in before.stdout
    assert "applied 0001 tables" in cli("db", "migrate").stdout
    assert "applied" not in cli("db", "migrate").stdout
    after = cli("db", "status")
    assert after.exit_code == 0
    assert "pending" not in after.stdout


def test_report_prints_the_papers_five_tables_and_the_worst_fragments(cli: Cli) -> None:
    store(sample())
    done = cli("report")
    assert done.exit_code == 0
    for title in ("Table 1. H", "Table 2. M", "Table 3. F", "Table 4. D", "Table 5. B", "Chunks by status", "Worst"):
        assert title in done.stdout
    assert "50.0% (9.5% to 90.5%)" in done.stdout


def test_report_of_one_call_as_json_is_for_programs(cli: Cli) -> None:
    store(sample())
    found = json.loads(cli("report", "--call", "c2", "--json").stdout)
    assert found["summary"]["statuses"] == {"passthrough": 1}
    assert found["table1"] == []
    everything = json.loads(cli("report", "--json").stdout)
    assert everything["summary"]["chunks"] == 2
    assert {row["scope"] for row in everything["table3"]} == {"scored", "corpus"}


def test_report_of_a_call_that_is_not_there_says_so_and_fails(cli: Cli) -> None:
    store(sample())
    done = cli("report", "--call", "nope")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no call nope in the database" in done.stderr


def test_report_of_a_folder_that_is_not_there_makes_none(cli: Cli, tmp_path: Path) -> None:
    done = cli("report")
    assert done.exit_code == 1
    assert "there is no database" in done.stderr
    assert not (tmp_path / "db").exists()


def test_report_of_a_file_says_that_it_is_no_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "db").write_text("x")
    done = cli("report")
    assert done.exit_code == 1
    assert "is a file, not a folder" in done.stderr


def test_report_of_a_server_that_is_down_says_so_and_what_to_do(cli: Cli) -> None:
    done = cli("report", "--db", "http://127.0.0.1:9/x")
    assert done.exit_code == 1
    assert "does not answer: [Errno 111] Connection refused" in done.stderr
    assert "clearcall doctor" in done.stderr


def test_dead_letters_are_listed_with_their_reason_and_by_filter(cli: Cli) -> None:
    store([dead_letter(1), dead_letter(2, reason="oversize")])
    assert "transcripts.drafts/2/1" in cli("dead-letters", "list").stdout
    filtered = cli("dead-letters", "list", "--reason", "oversize", "--json").stdout
    assert [json.loads(line)["offset"] for line in filtered.splitlines()] == [2]
    assert DeadLetter.model_validate_json(filtered) == dead_letter(2, reason="oversize")
    assert "no dead letters" in cli("dead-letters", "list", "--stage", "sink").stdout
    assert "--limit shows more" in cli("dead-letters", "list", "--limit", "1").stdout


def test_a_dead_letter_is_shown_with_its_place_its_errors_and_its_original_decoded(cli: Cli) -> None:
    store([dead_letter(1)])
    shown = cli("dead-letters", "show", "transcripts.drafts/2/1").stdout
    assert "header     iteration: 1" in shown
    assert "key        c1" in shown
    assert "value      0x00ff" in shown
    assert "error      JSONDecodeError" in shown
    missing = cli("dead-letters", "show", "transcripts.drafts/2/9")
    assert missing.exit_code == 1
    assert "there is no dead letter" in missing.stderr


def test_replay_of_dead_letters_needs_to_be_told_which(cli: Cli) -> None:
    store([dead_letter(1), dead_letter(2).model_copy(update={"truncated": True})])
    assert cli("dead-letters", "replay").exit_code == 2
    dry = cli("dead-letters", "replay", "--all", "--dry-run").stdout
    assert "transcripts.drafts/2/1  would go to transcripts.drafts" in dry
    assert "transcripts.drafts/2/2  cannot be sent, truncated" in dry


def test_dead_letters_are_dropped_by_filter_and_a_dry_run_drops_nothing(cli: Cli) -> None:
    store([dead_letter(1), dead_letter(2, reason="oversize"), dead_letter(3)])
    assert cli("dead-letters", "drop").exit_code == 2
    assert cli("dead-letters", "drop", "--all", "--dry-run").stdout == "would drop: 3\n"
    assert cli("dead-letters", "drop", "--reason", "oversize").stdout == "dropped: 1\n"
    assert cli("dead-letters", "drop", "--reason", "oversize").stdout == "no dead letter matches\n"
    assert cli("dead-letters", "drop", "transcripts.drafts/2/1").stdout == "dropped: 1\n"
    left = [json.loads(line)["offset"] for line in cli("dead-letters", "list", "--json").stdout.splitlines()]
    assert left == [3]
    assert cli("dead-letters", "drop", "--all").stdout == "dropped: 1\n"
    assert "no dead letters" in cli("dead-letters", "list").stdout


@pytest.mark.parametrize("command", ["replay", "drop"])
def test_an_id_that_names_no_dead_letter_is_an_error(cli: Cli, command: str) -> None:
    store([dead_letter(1)])
    for dry in ((), ("--dry-run",)):
        done = cli("dead-letters", command, "nonsense", *dry)
        assert done.exit_code == 1
        assert "there is no dead letter nonsense" in done.stderr
    assert cli("dead-letters", command, "--reason", "oversize").stdout == "no dead letter matches\n"


@pytest.mark.parametrize("command", ["list", "replay", "drop"])
def test_a_reason_that_nothing_ever_has_is_told_from_one_that_nothing_has_now(cli: Cli, command: str) -> None:
    store([dead_letter(1)])
    done = cli("dead-letters", command, "--reason", "nonsense")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "oversize" in done.stderr


def test_an_id_that_names_no_dead_letter_keeps_no_other_from_being_dropped(cli: Cli) -> None:
    store([dead_letter(1)])
    done = cli("dead-letters", "drop", "transcripts.drafts/2/1", "nonsense")
    assert (done.exit_code, done.stdout) == (1, "dropped: 1\n")


def test_replay_of_truncated_dead_letters_alone_fails_and_sends_nothing(cli: Cli) -> None:
    store([dead_letter(2).model_copy(update={"truncated": True})])
    done = cli("dead-letters", "replay", "--all")
    assert done.exit_code == 1
    assert "truncated, so not sent: transcripts.drafts/2/2" in done.stderr


def test_the_database_is_asked_in_sql(cli: Cli) -> None:
    store(sample())
    sql = "SELECT status, count() AS chunks FROM cleaned_current GROUP BY status ORDER BY status"
    assert cli("db", "query", sql).stdout == "  status       chunks\n  corrected    1\n  passthrough  1\n"
    assert json.loads(cli("db", "query", sql, "--json").stdout.splitlines()[0]) == {"status": "corrected", "chunks": 1}
    assert json.loads(cli("db", "query", "SELECT cleaned_at FROM cleaned LIMIT 1", "--json").stdout)
    assert cli("db", "query", "SELECT 1 WHERE 0").stdout == "no rows\n"
    wrong = cli("db", "query", "SELECT nothing")
    assert wrong.exit_code == 1
    assert "Unknown expression identifier" in wrong.stderr
