import json
from datetime import date
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from clearcall.scoring import Turn, bench, evaluate_turn
from clearcall.scoring.bench.calls import Spoken, read_calls
from clearcall.scoring.bench.faithful import faithful_pairs
from clearcall.scoring.bench.methods import GUARDED, NORMALISED
from clearcall.scoring.bench.rephrase import rephrased
from clearcall.scoring.bench.run import total
from clearcall.scoring.bench.unfaithful import EDITS, MERGED_EDITS, Material, unfaithful_pairs
from clearcall.scoring.bench.written import written_numbers
from clearcall.streams.cli import app

DATA = Path("../shared/data/calls")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no calls at {DATA}")

AGENT = "thank you for calling happy valley motors my name is robert uh how can i help you"
AGENT_GOLD = "Thank you for calling Happy Valley Motors. My name is Robert. How can I help you?"
CALLER = "um i i don't have the part you know it was three hundred and fifty dollars and the zip code is seven five one"
CALLER_GOLD = "I don't have the part. It was three hundred and fifty dollars, and the zip code is seven five one."


def write_calls(folder: Path, calls: int = 4) -> Path:
    lines = []
    for number in range(calls):
        chunks = [
            {"chunk_id": 0, "speaker": 0, "text": AGENT, "gold": AGENT_GOLD.lower(), "gold_punct": AGENT_GOLD},
            {"chunk_id": 1, "speaker": 1, "text": CALLER, "gold": CALLER_GOLD.lower(), "gold_punct": CALLER_GOLD},
            {"chunk_id": 2, "speaker": 1, "text": f"call me back on number {number}", "gold": "", "gold_punct": ""},
            {"chunk_id": 3, "speaker": 0, "text": "well we really want to help", "gold": "we really want to help"},
        ]
        lines.append(json.dumps({"call_id": f"c{number}", "chunks": chunks}))
    (folder / "calls_dev.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_calls(tmp_path)


def test_two_runs_with_one_seed_give_one_result(data: Path) -> None:
    first, second = bench.run(data, 7), bench.run(data, 7)
    assert first == second
    assert bench.render(first, "1.0", date(2026, 1, 2)) == bench.render(second, "1.0", date(2026, 1, 2))


def test_a_held_call_is_counted_in_both_parts_and_the_others_in_one(data: Path) -> None:
    result = bench.run(data)
    assert (result.calls, result.held_calls) == (4, 2)
    for row, held in zip(result.rows, result.held_rows, strict=True):
        assert row.kind == held.kind
        assert row.units >= held.units


def test_guards_see_what_a_ratio_does_not(data: Path) -> None:
    rows = {row.kind: row for row in bench.run(data).rows}
    assert rows["number changed"].rate(GUARDED) == 1
    assert rows["number changed"].rate(NORMALISED) < 1
    assert total(bench.run(data).rows, faithful=True).rate(GUARDED) == 0


def test_the_page_names_version_day_seed_and_every_kind(data: Path) -> None:
    page = bench.render(bench.run(data), "9.8.7", date(2026, 1, 2))
    assert "clearcall 9.8.7, 2026-01-02, seed 1, 4 calls, 2 of them held" in page
    assert all(kind in page for kind in ("human gold", "number changed", "sentence dropped, 5+ words"))


def test_a_folder_without_calls_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(bench.NoCalls, match=tmp_path.name):
        bench.run(tmp_path)


def test_every_faithful_form_of_a_turn_is_faithful(data: Path) -> None:
    pairs = [pair for call in read_calls(data) for pair in faithful_pairs(call)]
    assert {pair.kind for pair in pairs} == {
        "human gold",
        "punctuation and case",
        "filler removal",
        "number formatting",
        "contractions kept",
        "contractions written out",
    }
    for pair in pairs:
        assert not evaluate_turn(pair.cleaned, pair.own, pair.source).flagged, pair.cleaned


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("it was three hundred and fifty dollars", "it was $350"),
        ("seven five one", "751"),
        ("in nineteen eighty four", "in 1984"),
        ("fifty percent", "50%"),
        ("a thousand two hundred", "1,200"),
        ("one of them", "one of them"),
        ("two point five", "two point five"),
        ("I have twenty-five", "I have twenty-five"),
    ],
)
def test_numbers_are_written_where_there_is_no_doubt(spoken: str, written: str) -> None:
    assert written_numbers(spoken) == written


GOLD = "I think Robert is not here. It cost $140 in May, two of them. We really want to help a lot of people, okay."
TURN = Spoken(0, GOLD.lower(), GOLD, by_human=True)
OTHER = Spoken(1, "blue cheese melts rather slowly there", "Blue cheese melts rather slowly there.", by_human=True)


@pytest.mark.parametrize("kind", sorted({*EDITS, *MERGED_EDITS} - {"answer instead"}))
def test_each_edit_changes_the_text_and_always_in_the_same_way_for_one_seed(kind: str) -> None:
    edit = {**EDITS, **MERGED_EDITS}[kind]
    first = edit(TURN, Material(Random(3), [OTHER]))
    assert first is not None
    assert first != GOLD
    assert first == edit(TURN, Material(Random(3), [OTHER]))


@pytest.mark.parametrize(
    "kind", ["number changed", "digits transposed", "negation added", "negation removed", "name changed", "rephrase"]
)
def test_an_edit_without_a_place_for_it_makes_no_pair(kind: str) -> None:
    assert EDITS[kind](Spoken(0, "hm", "Hm.", by_human=True), Material(Random(1), [OTHER])) is None


def test_only_a_question_is_answered() -> None:
    assert EDITS["answer instead"](TURN, Material(Random(1), [OTHER])) is None
    assert EDITS["answer instead"](Spoken(0, "who", "Who?", by_human=True), Material(Random(1), [OTHER]))


def test_a_text_with_too_few_phrases_is_not_rephrased() -> None:
    assert rephrased("I think so.") == "In my opinion therefore."
    assert rephrased("The sky is blue.") is None


def test_no_unfaithful_pair_differs_in_case_and_punctuation_alone(data: Path) -> None:
    (call, *others) = read_calls(data)
    turns = [turn for other in others for turn in other.turns if turn.gold]
    for pair in unfaithful_pairs(call, Material(Random(1), turns)):
        assert pair.source[pair.own] in [Turn(turn.speaker, turn.said) for turn in (*call.turns, *call.merged)]
        letters = "".join(filter(str.isalnum, pair.cleaned.lower()))
        assert letters != "".join(filter(str.isalnum, pair.source[pair.own].text))


def test_the_command_prints_the_page_or_writes_it(data: Path, tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["bench", "faithful-edits", str(data), "--most", "3"])
    assert printed.exit_code == 0
    assert "# Faithful edits" in printed.stdout
    out = tmp_path / "docs" / "page.md"
    written = CliRunner().invoke(app, ["bench", "faithful-edits", str(data), "--most", "3", "--out", str(out)])
    assert written.exit_code == 0
    assert out.read_text(encoding="utf-8").strip() == printed.stdout.strip()


def test_the_command_says_which_folder_has_no_calls(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "faithful-edits", str(tmp_path / "nowhere")])
    assert result.exit_code != 0


WANTED = {
    "number changed": 0.99,
    "digits transposed": 0.99,
    "negation added": 0.97,
    "negation removed": 0.92,
    "name changed": 0.98,
    "3 words invented": 0.99,
    "5 words invented": 0.99,
    "sentence dropped, 5+ words": 0.95,
    "neighbouring sentences swapped": 0.95,
    "neighbouring turns swapped": 0.95,
    "speaker swap, 5+ words": 0.99,
    "text from another call": 0.99,
}


@needs_data
def test_on_real_calls_every_kind_of_edit_is_caught_and_faithful_text_is_left_alone() -> None:
    result = bench.run(DATA, most=100)
    assert total(result.rows, faithful=True).rate(GUARDED) <= 0.02
    caught = {row.kind: row.rate(GUARDED) for row in result.rows}
    assert {kind: caught[kind] for kind, wanted in WANTED.items() if caught[kind] < wanted} == {}
