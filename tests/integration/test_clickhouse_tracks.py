"""Several consultants and tasks over the same chunks: each has its own rows, and the report tells them apart."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from clearcall.infra.clickhouse import Database, connect, migrate
from clearcall.infra.clickhouse.migrations import load
from clearcall.infra.clickhouse.report import summary, tables
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import Evaluation, Failure, Message, Outcome, Track
from clickhouse_samples import attempt, chunk, cleaned, evaluation, fragment

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration

CHUNK = chunk("a", 0)
SHADOW = Track(agent="next", shadow=True)
DIGITS = Track(task="format-numbers", step=1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = connect(Settings(db=f"chdb://{tmp_path}/db"))
    yield opened
    opened.close()


def store(database: Database, messages: Sequence[Message]) -> None:
    for table, values in columns(messages).items():
        database.insert(table, values)


def on(track: Track, scored: Evaluation, **changes: Any) -> Evaluation:
    return scored.model_copy(update={"track": track, **changes})


def of_three_tracks() -> list[Message]:
    """The delivered consultant is flagged and corrected, its shadow is right at once, the second task is as well."""
    first = evaluation(CHUNK, attempt(0, [fragment(0, 60.0)]))
    return [
        first,
        evaluation(CHUNK, attempt(1, [fragment(0, 90.0)])),
        on(SHADOW, evaluation(CHUNK, attempt(0, [fragment(0, 100.0)])), latency_ms=30.0),
        on(DIGITS, evaluation(CHUNK, attempt(0, [fragment(0, 96.0), fragment(1, 98.0)])), given="The brakes."),
        cleaned(CHUNK).model_copy(update={"track": DIGITS}),
    ]


def rates(database: Database) -> dict[tuple[str, str, int], float]:
    table = [row for row in tables(database)["table1"] if row["scope"] == "corpus"]
    return {(row["agent"], row["task"], row["iteration"]): row["rate_by_rules"] for row in table}


def test_agents_and_tasks_keep_their_own_rows_of_the_same_chunk_however_often_they_are_stored(
    database: Database,
) -> None:
    migrate(database)
    for _ in range(2):
        store(database, of_three_tracks())
    found = database.rows("SELECT agent, task, iteration FROM evaluations_current ORDER BY agent, task, iteration")
    assert [tuple(row.values()) for row in found] == [
        ("", "", 0),
        ("", "", 1),
        ("", "format-numbers", 0),
        ("next", "", 0),
    ]
    assert len(database.rows("SELECT 1 FROM fragments_current")) == 5
    assert rates(database) == {
        ("", "", 0): 1.0,
        ("", "", 1): 0.0,
        ("", "format-numbers", 0): 0.0,
        ("", "format-numbers", 1): 0.0,
        ("next", "", 0): 0.0,
        ("next", "", 1): 0.0,
    }
    [row] = database.rows("SELECT source_text, text, agent, task FROM cleaned_current")
    assert (row["source_text"], row["task"]) == (CHUNK.text, "format-numbers")


def test_a_later_task_is_stored_with_what_it_was_given(database: Database) -> None:
    migrate(database)
    store(database, of_three_tracks())
    rows = database.rows("SELECT source_text, words FROM evaluations_current WHERE task != ''")
    assert rows == [{"source_text": "The brakes.", "words": 2}]


def test_the_worst_fragment_says_whose_it_is(database: Database) -> None:
    migrate(database)
    store(database, [on(SHADOW, evaluation(CHUNK, attempt(0, [fragment(0, 60.0)]))), cleaned(CHUNK)])
    assert [each.agent for each in summary(database).worst] == ["next"]


def test_rows_of_before_are_still_there_after_the_migration_and_it_can_be_run_again(database: Database) -> None:
    migrate(database, load()[:2])
    old = of_three_tracks()[:2]
    of_later = {*Track.model_fields, "notes"}
    for table, values in columns(old).items():
        database.insert(table, {name: column for name, column in values.items() if name not in of_later})
    migrate(database)
    for statement in load()[2].statements:
        database.command(statement)
    store(database, of_three_tracks()[2:])
    database.command("OPTIMIZE TABLE evaluations FINAL")
    found = database.rows("SELECT agent, task FROM evaluations_current ORDER BY agent, task")
    assert [tuple(row.values()) for row in found] == [("", ""), ("", ""), ("", "format-numbers"), ("next", "")]
    assert rates(database)["", "", 0] == 1.0


def test_the_performance_matrix_has_a_row_for_each_agent_and_task(database: Database) -> None:
    migrate(database)
    store(database, of_three_tracks())
    found = summary(database)
    assert found.is_of_several
    assert [(each.agent, each.task, each.shadow) for each in found.matrix] == [
        ("", "", False),
        ("next", "", True),
        ("", "format-numbers", False),
    ]
    default, shadow, digits = found.matrix
    assert (default.chunks, default.fragments, default.rate_0, default.rate_1, default.rate_2) == (1, 1, 1.0, 0.0, None)
    assert (default.mean_ss, default.prompt_tokens, default.completion_tokens) == (90.0, 200, 40)
    assert (shadow.mean_ss, shadow.p50_latency_ms) == (100.0, 30.0)
    assert (digits.fragments, digits.mean_ss) == (2, 97.0)
    assert summary(database, call="another").matrix == ()


def test_the_tables_have_the_tasks_in_their_order(database: Database) -> None:
    migrate(database)
    first, *_ = of_three_tracks()
    assert isinstance(first, Evaluation)
    store(database, [on(Track(task=name, step=step), first) for step, name in enumerate(("punctuate", "digits"))])
    for name, rows in tables(database).items():
        assert list(dict.fromkeys(row["task"] for row in rows)) == ["punctuate", "digits"], name


def test_a_consultant_that_never_answered_is_in_the_matrix_without_scores(database: Database) -> None:
    migrate(database)
    failed = attempt(0, [], outcome=Outcome.FAILED, failure=Failure.CUT)
    store(database, [on(SHADOW, evaluation(CHUNK, failed))])
    [row] = summary(database).matrix
    assert (row.agent, row.chunks, row.fragments, row.rate_0, row.mean_ss) == ("next", 1, 0, None, None)
