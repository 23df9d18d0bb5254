"""The harness would see it: every way to lose or double a message makes the verdict speak."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from chaos_schedule import ALONE, BY_NAME, KINDS, apart, schedule
from chaos_traffic import Sent
from chaos_verify import Evidence, Verdict, out_of_order, verdict
from chaos_watch import longest_stall, moves_again, recovery

POISON = ("transcripts.chunks", 2, 17)
LETTER = (*POISON, "consultant")
ENDS = [("a/0", "X", "clean", 5), ("a/1", "Z", "clean", 6), ("a/1", "Y", "corrected", 7), ("b/0", "", "clean", 5)]
SENT = Sent(texts={"a/0": "x", "a/1": "y", "b/0": "um"}, poison={POISON})
GOOD = Evidence(
    drafts=[("a", 0, 0), ("a", 1, 0), ("b", 0, 0), ("a", 1, 1)],
    evaluations=[(("a", 0, 0), False), (("a", 1, 0), True), (("a", 1, 1), False)],
    corrections=[("a", 1, 1)],
    cleaned=[("a", 0, 1), ("b", 0, 0), ("a", 1, 2)],
    letters=[LETTER],
    cleaned_rows=[("a", 0, "x"), ("a", 1, "y"), ("b", 0, "um")],
    ends=ENDS,
    unmerged=[*ENDS, ENDS[1]],
    current=[ENDS[0], ENDS[2], ENDS[3]],
    evaluation_rows=[("a", 0, 0), ("a", 1, 0), ("a", 1, 1)],
    fragment_rows=[("a", 0, 0, 0), ("a", 1, 0, 0), ("a", 1, 1, 0)],
    letter_rows=[LETTER],
    behind={"consultant": 0},
)


def judged(**changed: object) -> Verdict:
    return verdict(SENT, replace(GOOD, **changed))  # type: ignore[arg-type] # each test names the field it changes


def test_a_run_in_which_all_held_has_no_faults() -> None:
    found = judged()
    assert (found.chunks, found.lost, found.doubled, list(found.faults)) == (3, 0, 0, [])


def test_a_redelivery_is_counted_and_is_no_fault() -> None:
    found = judged(cleaned=[*GOOD.cleaned, ("a", 0, 1)], letters=[LETTER, LETTER])
    assert not found.faults
    assert (found.redelivered["cleaned"], found.redelivered["dead letters"]) == (1, 1)


def test_texts_that_differ_and_rows_that_are_not_merged_yet_are_counted_and_no_fault() -> None:
    found = judged()
    assert (found.said_otherwise, found.unmerged) == (1, 2)


def test_a_chunk_without_a_row_is_lost() -> None:
    found = judged(cleaned_rows=GOOD.cleaned_rows[1:])
    assert (found.lost, found.faults[0]) == (1, "1 chunks have no row in cleaned: a/0")


@pytest.mark.parametrize("table", ["cleaned_rows", "evaluation_rows", "fragment_rows", "letter_rows"])
def test_a_second_row_of_an_id_is_doubled(table: str) -> None:
    rows: list[object] = getattr(GOOD, table)
    assert judged(**{table: [*rows, rows[0]]}).doubled == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"cleaned_rows": [*GOOD.cleaned_rows, ("c", 0, "z")]}, "nobody sent"),
        ({"cleaned_rows": [("a", 0, "y"), *GOOD.cleaned_rows[1:]]}, "another text"),
        ({"unmerged": [*ENDS, ("a/0", "W", "clean", 4)]}, "say what no message says"),
        ({"current": [ENDS[0], ENDS[1], ENDS[3]]}, "1 rows in cleaned are not the last that was delivered"),
        ({"cleaned": GOOD.cleaned[1:]}, "not on the topic cleaned"),
        ({"cleaned": [*GOOD.cleaned, ("a", 0, 4)]}, "above the bound"),
        ({"evaluation_rows": GOOD.evaluation_rows[1:]}, "evaluations have no row"),
        ({"evaluations": GOOD.evaluations[:2]}, "rows of evaluations that are not on the topic"),
        ({"evaluations": [GOOD.evaluations[0], GOOD.evaluations[2]]}, "have a gap"),
        ({"drafts": [("a", 1, 0), ("a", 0, 0)]}, "drafts out of order"),
        ({"drafts": [("a", 1, 3)]}, "above the bound"),
        ({"corrections": [("a", 1, 99)]}, "above the bound"),
        ({"letters": []}, "poison has no dead letter on the topic"),
        ({"letter_rows": []}, "poison has no dead letter in the table"),
        ({"letters": [LETTER, (*POISON[:2], 18, "consultant")]}, "dead letters of no poison"),
        ({"behind": {"sink": 4}}, "1 groups are behind: sink by 4"),
        ({"stuck": ["sink-A-5"]}, "1 workers were stuck: sink-A-5"),
    ],
)
def test_the_verdict_names_what_did_not_hold(changed: dict[str, object], said: str) -> None:
    assert any(said in fault for fault in judged(**changed).faults)


def test_cleaned_chunks_that_were_accepted_at_once_keep_their_order() -> None:
    sent = Sent(texts={"a/0": "x", "a/1": "y"})
    late = Evidence(
        cleaned=[("a", 1, 1), ("a", 0, 1)],
        evaluations=[(("a", 0, 0), False), (("a", 1, 0), False)],
        cleaned_rows=[("a", 0, "x"), ("a", 1, "y")],
        evaluation_rows=[("a", 0, 0), ("a", 1, 0)],
    )
    assert list(verdict(sent, late).faults) == ["1 cleaned chunks out of order: a/0"]
    corrected = replace(late, evaluations=[(("a", 0, 0), True), *late.evaluations])
    assert not verdict(sent, corrected).faults


def test_a_repetition_from_an_earlier_place_is_in_order() -> None:
    assert out_of_order([("a", 0, 0), ("a", 1, 0), ("b", 0, 0), ("a", 0, 0), ("a", 1, 0), ("a", 2, 0)]) == []
    assert out_of_order([("a", 0, 0), ("a", 2, 0), ("a", 1, 0)]) == ["a/1"]


def test_a_recovery_ends_when_all_that_was_sent_before_has_ended() -> None:
    sent = {"a": 1.0, "b": 2.0, "c": 9.0}
    assert recovery(5.0, sent, {"a": 2.0, "b": 8.0}) == 3.0
    assert recovery(5.0, sent, {"a": 2.0, "b": 4.0}) == 0.0
    assert recovery(5.0, sent, {"a": 2.0}) is None


def test_partitions_move_again_when_each_has_ended_something_sent_afterwards() -> None:
    sent, partitions = {"a": 1.0, "b": 6.0, "c": 7.0, "d": 8.0}, {"a": 0, "b": 0, "c": 1, "d": 1}
    assert moves_again(5.0, sent, {"a": 9.0, "b": 10.0, "c": 12.0, "d": 11.0}, partitions) == 6.0
    assert moves_again(5.0, sent, {"a": 9.0, "b": 10.0}, partitions) is None


def test_a_stall_is_the_longest_time_in_which_waiting_chunks_of_a_partition_did_not_end() -> None:
    sent, partitions = {"a": 0.0, "b": 1.0, "c": 50.0}, {"a": 0, "b": 0, "c": 0}
    assert longest_stall(sent, {"a": 2.0, "b": 9.0, "c": 51.0}, partitions) == 7.0


def test_a_schedule_is_a_function_of_its_seed_and_has_every_kind_in_each_deck() -> None:
    faults = schedule(7, 600)
    assert faults == schedule(7, 600) != schedule(8, 600)
    assert len(faults) >= 60
    cards = sum(kind.cards for kind in KINDS)
    assert {fault.kind for fault in faults[:cards]} == BY_NAME.keys()


def test_faults_by_themselves_are_each_of_the_kinds_so_many_times_and_apart() -> None:
    faults = apart(7, 5, 30)
    assert Counter(fault.kind for fault in faults) == {kind.name: 5 for kind in ALONE}
    assert all(later.at - fault.at == 30 > fault.seconds for fault, later in pairwise(faults))


def test_no_fault_of_a_schedule_is_longer_than_allowed() -> None:
    faults = schedule(3, 600, longest=20)
    assert max(fault.seconds for fault in faults) == 20
    assert all(later.at - fault.at >= 5 for fault, later in pairwise(faults))
