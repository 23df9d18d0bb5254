"""The tables and views on the real engine, in process, against numbers worked out by hand."""

import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clearcall.infra.clickhouse import (
    ChangedMigration,
    Database,
    DatabaseAway,
    LetterFilter,
    Migration,
    NotMigrated,
    connect,
    migrate,
    require,
    status,
    stored_letters,
    stored_since,
)
from clearcall.infra.clickhouse.migrations import load
from clearcall.infra.clickhouse.report import summary, tables
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Attempt,
    ConsultantInfo,
    Distortion,
    Failure,
    FlagChange,
    GuardFlag,
    Message,
    Outcome,
    Span,
    Status,
)
from clearcall.scoring import best_attempt
from clickhouse_samples import alert, attempt, chunk, cleaned, dead_letter, evaluation, fragment, tool_check

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration

EARLIER, NOW, LATER = 1_700_000_000.0, 1_700_000_100.0, 1_700_000_200.0


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return Settings(db=f"chdb://{tmp_path}/deep/db")


@pytest.fixture
def database(home: Settings) -> Iterator[Database]:
    opened = connect(home)  # one folder at a time in a process: opened and closed by each test
    migrate(opened)
    yield opened
    opened.close()


def store(database: Database, messages: Sequence[Message]) -> None:
    for table, values in columns(messages).items():
        database.insert(table, values)


def row(found: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    [one] = [each for each in found if all(each[name] == value for name, value in wanted.items())]
    return one


def corpus() -> list[Message]:
    """Three chunks: accepted at once; corrected at the second correction; never answered, then flagged."""
    small, middle, large = chunk("a", 0, "w " * 10), chunk("a", 1, "w " * 50), chunk("b", 0, "w " * 101)
    return [
        evaluation(small, attempt(0, [fragment(0, 100.0), fragment(1, 90.0)])),
        evaluation(middle, attempt(0, [fragment(0, 70.0), fragment(1, 60.0), fragment(2, 95.0, guard="number")])),
        evaluation(middle, attempt(1, [fragment(0, 85.0), fragment(1, 75.0), fragment(2, 95.0)])),
        evaluation(middle, attempt(2, [fragment(0, 88.0), fragment(1, 82.0)])),
        evaluation(large, attempt(0, [], outcome=Outcome.FAILED, failure=Failure.CUT)),
        evaluation(large, attempt(1, [fragment(0, 50.0), fragment(1, 99.0)])),
        evaluation(large, attempt(2, [fragment(0, 40.0), fragment(1, 30.0)])),  # worse: not taken
        cleaned(small),
        cleaned(middle, Status.CORRECTED),
        cleaned(large, Status.RESTORED),
    ]


def test_migrations_apply_once_and_say_when(database: Database) -> None:
    assert migrate(database) == ()
    assert all(state.applied_at for state in status(database))
    require(database)


def test_a_database_without_tables_names_the_command_that_makes_them(home: Settings) -> None:
    opened = connect(home)
    try:
        assert [state.applied_at for state in status(opened)] == [None] * len(load())
        with pytest.raises(NotMigrated, match="clearcall db migrate"):
            require(opened)
        with pytest.raises(NotMigrated, match="clearcall db migrate"):
            opened.rows("SELECT * FROM cleaned")
    finally:
        opened.close()


def test_a_migration_changed_after_it_was_applied_is_an_error_and_nothing_is_applied(database: Database) -> None:
    first = load()[0]
    changed = (Migration(first.number, first.name, first.sql + "\n-- new"), Migration(99, "more", "SELECT 1;"))
    with pytest.raises(ChangedMigration, match="0001 tables"):
        migrate(database, changed)
    with pytest.raises(ChangedMigration):
        status(database, changed)
    assert 99 not in [state.number for state in status(database)]


def test_a_migration_of_a_newer_clearcall_is_shown_and_no_error(database: Database) -> None:
    migrate(database, (*load(), Migration(99, "newer", "SELECT 1;")))
    assert status(database)[-1].name == "newer"
    require(database)


@pytest.mark.usefixtures("database")
def test_another_folder_in_the_same_process_is_refused_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(DatabaseAway, match="open in another folder"):
        connect(Settings(db=f"chdb://{tmp_path}/other"))


def test_the_same_messages_twice_are_the_same_rows_and_tables(database: Database) -> None:
    messages = [*corpus(), alert(), dead_letter()]
    store(database, messages)
    once = tables(database), summary(database)
    store(database, messages)
    assert (tables(database), summary(database)) == once
    assert once[1].statuses == {"clean": 1, "corrected": 1, "restored": 1}
    assert (once[1].calls, once[1].chunks, once[1].dead_letters) == (2, 3, 1)


def test_table_1_counts_the_fragments_scored_at_an_iteration_and_the_corpus_as_it_stands_after_it(
    database: Database,
) -> None:
    store(database, corpus())
    found = tables(database)["table1"]

    def counts(scope: str, iteration: int) -> tuple[int, int, int]:
        one = row(found, scope=scope, iteration=iteration)
        return one["fragments"], one["flagged_by_ss"], one["flagged_by_rules"]

    assert counts("scored", 0) == (5, 2, 3)
    assert counts("scored", 1) == (5, 2, 2)
    assert counts("scored", 2) == (4, 2, 2)
    assert counts("corpus", 0) == (5, 2, 3)
    assert counts("corpus", 1) == (7, 2, 2)
    assert counts("corpus", 2) == (6, 1, 1)  # the third chunk keeps its first answer, which was better
    assert row(found, scope="corpus", iteration=2)["rate_by_rules"] == pytest.approx(1 / 6)


def test_table_2_is_the_mean_similarity(database: Database) -> None:
    store(database, corpus())
    one = row(tables(database)["table2"], scope="scored", iteration=0)
    assert one["mean_ss_paper"] == pytest.approx(statistics.mean([100, 90, 70, 60, 95]))
    assert one["mean_ss"] == one["mean_ss_paper"]


def test_table_3_counts_flagged_fragments_and_chunks_also_those_without_an_answer(database: Database) -> None:
    store(database, corpus())
    one = row(tables(database)["table3"], scope="scored", iteration=0)
    assert (one["flagged_by_ss"], one["flagged_by_guards_alone"], one["flagged_by_rules"]) == (2, 1, 3)
    assert (one["chunks"], one["flagged_chunks"], one["failed_chunks"]) == (3, 2, 1)
    last = row(tables(database)["table3"], scope="corpus", iteration=2)
    assert (last["chunks"], last["flagged_chunks"], last["failed_chunks"]) == (3, 1, 0)


def test_table_4_is_the_distribution_of_similarity(database: Database) -> None:
    store(database, corpus())
    one = row(tables(database)["table4"], scope="scored", iteration=0, measure="ss_paper")
    scores = [100, 90, 70, 60, 95]
    lower, median, upper = statistics.quantiles(scores, method="inclusive")
    assert one["std"] == pytest.approx(statistics.stdev(scores))
    assert (one["minimum"], one["maximum"]) == (60, 100)
    assert [one["lower_quartile"], one["median"], one["upper_quartile"]] == pytest.approx([lower, median, upper])


def test_table_5_puts_chunks_of_50_and_100_words_in_the_middle_class(database: Database) -> None:
    for words, number in ((49, 0), (50, 1), (100, 2), (101, 3)):
        store(database, [evaluation(chunk("a", number, "w " * words), attempt(0, [fragment(0, 90.0)]))])
    found = [each for each in tables(database)["table5"] if each["scope"] == "corpus"]
    assert [(each["size_class"], each["chunks"]) for each in found] == [
        ("under 50", 1),
        ("50 to 100", 2),
        ("over 100", 1),
    ]


@pytest.mark.parametrize(("flagged", "of"), [(0, 1), (0, 7), (1, 1), (3, 10), (47, 1000), (326, 1000)])
def test_the_interval_is_wilsons(database: Database, flagged: int, of: int) -> None:
    scored = [fragment(number, 50.0 if number < flagged else 90.0) for number in range(of)]
    store(database, [evaluation(chunk(), attempt(0, scored))])
    one = row(tables(database)["table1"], scope="scored")
    z = statistics.NormalDist().inv_cdf(0.975)
    share = flagged / of
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    assert one["rate_by_ss_low"] == pytest.approx(max(0, centre - half), abs=1e-12)
    assert one["rate_by_ss_high"] == pytest.approx(min(1, centre + half), abs=1e-12)


def test_an_answer_that_had_more_fragments_leaves_none_behind(database: Database) -> None:
    store(database, [evaluation(chunk(), attempt(0, [fragment(n, 50.0) for n in range(3)]), at=EARLIER)])
    store(database, [evaluation(chunk(), attempt(0, [fragment(0, 90.0)]), at=NOW)])
    assert row(tables(database)["table1"], scope="scored")["fragments"] == 1


def test_corrections_that_a_second_try_did_not_need_no_longer_count(database: Database) -> None:
    flagged, better = attempt(0, [fragment(0, 50.0)]), attempt(1, [fragment(0, 85.0)])
    store(database, [evaluation(chunk(), flagged, at=EARLIER), evaluation(chunk(), better, at=EARLIER)])
    store(database, [evaluation(chunk(), attempt(0, [fragment(0, 95.0)]), at=NOW)])
    assert [(each["scope"], each["iteration"]) for each in tables(database)["table1"]] == [("scored", 0), ("corpus", 0)]


def test_an_old_message_delivered_again_does_not_cover_a_later_scoring(database: Database) -> None:
    store(database, [cleaned(chunk(), Status.RESTORED, at=LATER)])
    store(database, [cleaned(chunk(), Status.CLEAN, at=EARLIER)])
    assert summary(database).statuses == {"restored": 1}


def test_the_last_state_of_an_alert_is_shown(database: Database) -> None:
    store(database, [alert("firing", NOW), alert("resolved", LATER), alert("firing", EARLIER)])
    assert [each["state"] for each in database.rows("SELECT state FROM alerts_current")] == ["resolved"]


def test_two_consultants_have_rows_of_their_own(database: Database) -> None:
    other = ConsultantInfo(backend="rules", model="", prompt_version="1")
    store(database, [evaluation(chunk("a"), attempt(0, [fragment(0, 90.0)]))])
    store(database, [evaluation(chunk("b"), attempt(0, [fragment(0, 50.0)], consultant=other))])
    rates = {(each["backend"], each["rate_by_ss"]) for each in tables(database)["table1"]}
    assert rates == {("openai", 0.0), ("rules", 1.0)}


@pytest.mark.parametrize("call", ["a'b", 'a"b', "a\\b", "a\\'); DROP TABLE cleaned; --", "حوار 🚗"])
def test_a_report_of_one_call_takes_any_id(database: Database, call: str) -> None:
    store(
        database,
        [cleaned(chunk(call)), cleaned(chunk("other")), evaluation(chunk(call), attempt(0, [fragment(0, 9.0)]))],
    )
    one = summary(database, call)
    assert (one.calls, one.chunks, one.fragments) == (1, 1, 1)
    assert [each.call_id for each in one.worst] == [call]
    assert summary(database, "nobody").chunks == 0
    assert summary(database).chunks == 2


def test_the_worst_fragments_are_of_different_chunks_and_the_worst_first(database: Database) -> None:
    store(database, corpus())
    assert [(each.call_id, each.chunk_id, each.ss) for each in summary(database).worst] == [
        ("b", 0, 30.0),
        ("a", 1, 60.0),
    ]


def test_odd_text_comes_back_as_it_went_in(database: Database) -> None:
    odd = "nul\0 tab\t\\N quote' \" {x:String} 🚗 e\u0301 \u202eرقم \r\n" + "w" * 100_000
    store(database, [cleaned(chunk(odd[:200], text=odd))])
    [found] = database.rows("SELECT call_id, source_text FROM cleaned_current")
    assert found == {"call_id": odd[:200], "source_text": odd}


def test_a_dead_letter_comes_back_whole_and_by_each_of_its_filters(database: Database) -> None:
    letters = [
        dead_letter(1),
        dead_letter(2, stage="sink"),
        dead_letter(3, reason="oversize"),
        dead_letter(1, stage="drift"),
    ]
    store(database, letters)

    def found(wanted: LetterFilter, most: int = 10) -> list[tuple[int, str]]:
        return [(letter.offset, letter.stage) for letter in stored_letters(database, wanted, most)]

    assert stored_letters(database, LetterFilter(stage="sink"), 10) == [letters[1]]
    assert found(LetterFilter()) == [(1, "drift"), (1, "evaluator"), (2, "sink"), (3, "evaluator")]
    assert found(LetterFilter(reason="oversize")) == [(3, "evaluator")]
    assert found(LetterFilter(ids=("transcripts.drafts/2/1",))) == [(1, "drift"), (1, "evaluator")]
    assert found(LetterFilter(topic="transcripts.chunks")) == []
    assert found(LetterFilter(), most=1) == [(1, "drift")]


async def test_what_is_stored_since_a_moment_is_counted(database: Database) -> None:
    store(database, [*corpus(), dead_letter()])
    assert await stored_since(database, EARLIER) == (3, 7, 1)
    assert await stored_since(database, 1_700_000_000.5) == (3, 0, 1)
    assert await stored_since(database, LATER) == (0, 0, 0)


async def test_nothing_is_stored_in_a_database_that_is_not_there(home: Settings) -> None:
    with closing(connect(home)) as database:
        assert await stored_since(database, 0.0) == (0, 0, 0)


scores = st.lists(st.sampled_from([40.0, 60.0, 79.0, 80.0, 95.0, 100.0]), max_size=3)


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=3), min_size=1, max_size=12))
def test_the_attempt_in_effect_is_the_one_that_the_evaluator_takes(
    database: Database, chunks: list[list[tuple[list[float], bool]]]
) -> None:
    for table in ("evaluations", "fragments"):
        database.command(f"TRUNCATE TABLE {table}")
    expected: dict[tuple[int, int], int] = {}
    messages: list[Message] = []
    histories = [_history(tries) for tries in chunks]
    last = max(history[-1].iteration for history in histories)
    for number, history in enumerate(histories):
        messages += [evaluation(chunk("a", number), each) for each in history]
        for after in range(last + 1):
            expected[number, after] = best_attempt(history[: after + 1]).iteration
    store(database, messages)
    found = database.rows("SELECT chunk_id, after_iteration, iteration FROM attempts_in_effect")
    assert {(each["chunk_id"], each["after_iteration"]): each["iteration"] for each in found} == expected


def _history(tries: list[tuple[list[float], bool]]) -> list[Attempt]:
    history: list[Attempt] = []
    for iteration, (given_scores, failed) in enumerate(tries):
        if history and not history[-1].flagged:
            break
        found = [] if failed else [fragment(number, score) for number, score in enumerate(given_scores)]
        history.append(attempt(iteration, found, outcome=Outcome.FAILED if failed else Outcome.ANSWERED))
    return history


def test_findings_are_shown_with_what_was_said_and_written_whether_they_flag_or_not(database: Database) -> None:
    said, wrote = Span(start=3, end=7), Span(start=0, end=4)  # the words begin after a letter of two bytes
    finding = GuardFlag(guard="reduction", reason="said cats, wrote dogs", cleaned=wrote, source=said)
    other = GuardFlag(guard="order", reason="moved")
    noted = attempt(0, [fragment(0, 90.0)], cleaned="dogs").model_copy(update={"notes": (finding,)})
    flagged = attempt(0, [fragment(0, 90.0)], flags=[other, finding], cleaned="dogs")
    superseded = attempt(1, [fragment(0, 90.0)], cleaned="dogs").model_copy(update={"notes": (finding,)})
    store(database, [evaluation(chunk(number=0, text="\u00e9  cats"), each) for each in (noted, superseded)])
    store(database, [evaluation(chunk(number=1, text="\u00e9  cats"), flagged)])
    found = database.rows("SELECT chunk_id, iteration, is_flag, said, wrote FROM reduction_findings ORDER BY chunk_id")
    assert [tuple(each.values()) for each in found] == [(0, 0, False, "cats", "dogs"), (1, 0, True, "cats", "dogs")]


def test_calls_of_the_scoring_function_are_counted_by_the_worse_of_their_distortions(database: Database) -> None:
    exact, swapped = (Distortion.EXACT, FlagChange.NONE), (Distortion.SWAPPED, FlagChange.HIDDEN)
    missing = (Distortion.MISSING, FlagChange.UNSCORED)
    first = tool_check(exact, swapped, missing)
    store(database, [first, tool_check(exact, number=1)])
    store(database, [first])  # delivered again
    (found,) = database.rows("SELECT * FROM tool_call_distortions")
    assert found == {
        "caller_model": "small",
        "caller_prompt_version": "evaluate-1",
        "mode": "strict",
        "calls": 4,
        "exact": 2,
        "exact_share": 0.5,
        "altered": 0,
        "truncated": 0,
        "swapped": 1,
        "invented": 0,
        "missing": 1,
        "hidden_flags": 1,
        "false_flags": 0,
        "unscored": 1,
    }
