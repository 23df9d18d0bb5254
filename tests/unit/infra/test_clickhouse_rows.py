import pytest

from clearcall.infra.clickhouse.rows import TABLES, columns, rows
from clearcall.schemas import Distortion, Failure, FlagChange, GuardFlag, Message, Outcome, Span
from clickhouse_samples import CONSULTANT, alert, attempt, chunk, cleaned, dead_letter, evaluation, fragment, tool_check

PROVENANCE = {"backend", "model", "prompt_version", "decoding", "clearcall_version"}


def test_an_evaluation_becomes_one_row_and_one_row_per_fragment() -> None:
    scored = attempt(1, [fragment(0, 100.0), fragment(1, 60.0), fragment(2, 95.0, guard="number")])
    (table, row), *fragments = rows(evaluation(chunk(), scored))
    assert table == "evaluations"
    assert (row["fragments"], row["flagged_fragments"], row["min_ss"], row["mean_ss"]) == (3, 2, 60.0, 85.0)
    assert [name for name, _ in fragments] == ["fragments"] * 3
    assert [each["fragment_id"] for _, each in fragments] == [0, 1, 2]
    assert {(each["call_id"], each["chunk_id"], each["iteration"]) for _, each in fragments} == {("c1", 0, 1)}
    assert fragments[2][1]["flags"] == [("number", "said 140, wrote 104", [0, 3], [])]


def test_a_failed_attempt_has_its_failure_and_no_similarity() -> None:
    scored = attempt(0, [], outcome=Outcome.FAILED, failure=Failure.CUT)
    [(_, row)] = rows(evaluation(chunk(), scored))
    assert (row["outcome"], row["failure"], row["flagged"]) == ("failed", "cut", True)
    assert (row["min_ss"], row["mean_ss"]) == (None, None)


def test_flags_of_the_whole_chunk_keep_their_places_in_both_texts() -> None:
    flag = GuardFlag(guard="coverage", reason="left out 9 words", source=Span(start=4, end=40))
    [(_, row)] = rows(evaluation(chunk(), attempt(0, [], flags=[flag])))
    assert row["flags"] == [("coverage", "left out 9 words", [], [4, 40])]


def test_findings_that_do_not_flag_keep_their_places_too() -> None:
    note = GuardFlag(
        guard="reduction", reason="said a, wrote b", cleaned=Span(start=0, end=1), source=Span(start=4, end=5)
    )
    scored = attempt(0, [fragment(0, 90.0)]).model_copy(update={"notes": (note,)})
    (_, row), _ = rows(evaluation(chunk(), scored))
    assert row["notes"] == [("reduction", "said a, wrote b", [0, 1], [4, 5])]
    assert row["flags"] == []


@pytest.mark.parametrize("message", [evaluation(chunk(), attempt(0, [fragment(0, 90.0)])), cleaned(chunk()), alert()])
def test_every_scored_row_says_who_made_it_and_how(message: Message) -> None:
    for _, row in rows(message):
        assert row.keys() >= PROVENANCE
        assert row["model"] == CONSULTANT.model


def test_each_call_of_the_scoring_function_is_a_row_with_who_called_and_who_cleaned() -> None:
    found = list(
        rows(tool_check((Distortion.EXACT, FlagChange.NONE), (Distortion.INVENTED, FlagChange.FALSE), number=3))
    )
    assert [(table, row["chunk_id"], row["fragment_id"], row["source"], row["change"]) for table, row in found] == [
        ("tool_checks", 3, 0, "exact", "none"),
        ("tool_checks", 3, 1, "invented", "false"),
    ]
    assert {(row["caller_model"], row["model"]) for _, row in found} == {("small", CONSULTANT.model)}
    assert [row["given_source"] for _, row in found] == [None, "the wheels"]


def test_times_are_milliseconds_of_the_epoch() -> None:
    [(_, row)] = rows(cleaned(chunk(), at=1_700_000_000.1236))
    assert row["cleaned_at"] == 1_700_000_000_124


def test_the_words_of_a_chunk_are_those_of_its_source() -> None:
    [(_, row)] = rows(cleaned(chunk(text=" um  the\nbrakes ")))
    assert row["words"] == 3


def test_a_dead_letter_keeps_the_original_as_it_came() -> None:
    [(table, row)] = rows(dead_letter())
    assert table == "dead_letters"
    assert row["record_value"] == "AP8="
    assert row["record_headers"] == [("iteration", "MQ=="), ("empty", None)]


def test_a_mixed_batch_becomes_columns_of_equal_length_with_fragments_before_their_evaluation() -> None:
    scored = evaluation(chunk(), attempt(0, [fragment(0, 90.0), fragment(1, 90.0)]))
    check = tool_check((Distortion.EXACT, FlagChange.NONE))
    tables = columns([dead_letter(), cleaned(chunk()), check, scored, alert(), cleaned(chunk(number=1))])
    assert list(tables) == list(TABLES)
    lengths = {table: {len(values) for values in found.values()} for table, found in tables.items()}
    assert lengths == {table: {2 if table in ("fragments", "cleaned") else 1} for table in TABLES}


def test_a_message_that_is_not_stored_is_refused() -> None:
    with pytest.raises(TypeError, match="Chunk has no table"):
        columns([chunk()])
