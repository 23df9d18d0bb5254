"""The consultant's benchmark: which turns it takes, what it counts, and that it runs against a server."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from typer.testing import CliRunner

from clearcall.agents.consultant import bench
from clearcall.agents.consultant.bench.answers import Kept
from clearcall.agents.consultant.bench.quality import Hits, Quality
from clearcall.agents.consultant.bench.turns import read_stretches, read_turns
from clearcall.infra.settings import load
from clearcall.streams.cli import app
from model_server import asked_lines, completion, echo, serving

SAID = "um i i don't have the part you know it was three fifty"
GOLD = "i don't have the part it was three fifty"
WRITTEN = "I don't have the part. It was three fifty."


def write_calls(folder: Path) -> Path:
    chunks = [
        {"chunk_id": 0, "speaker": 0, "text": SAID, "gold": GOLD, "gold_punct": WRITTEN},
        {"chunk_id": 1, "speaker": 1, "text": "uh huh", "gold": "uh huh"},
        {
            "chunk_id": 2,
            "speaker": 1,
            "text": "you send me a new one please",
            "gold": "can you send me a new one please",
        },
        {"chunk_id": 3, "speaker": 1, "text": "please send me a new one", "gold": ""},
        {"chunk_id": 4, "speaker": 1, "text": "no i never got the new card", "gold": "no i never got the new card"},
    ]
    lines = [json.dumps({"call_id": f"c{number}", "chunks": chunks}) for number in range(4)]
    (folder / "calls_dev.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


def counted(cleaned: str | None, said: str = SAID, gold: str = GOLD, punctuated: str = WRITTEN) -> Quality:
    quality = Quality()
    quality.add(said, cleaned, gold, punctuated)
    return quality


def test_turns_are_those_of_odd_calls_with_some_words_and_a_gold_that_was_heard(tmp_path: Path) -> None:
    found = read_turns(write_calls(tmp_path), 300)
    assert [turn.chunk.call_id for turn in found.turns] == ["c1-0", "c1-4", "c3-0", "c3-4"]
    assert (found.calls, found.eligible) == (2, 4)


def test_fewer_turns_are_spread_over_the_calls(tmp_path: Path) -> None:
    assert [turn.chunk.call_id for turn in read_turns(write_calls(tmp_path), 2).turns] == ["c1-0", "c3-0"]


def test_stretches_are_consecutive_chunks_of_odd_calls_with_those_that_are_measured(tmp_path: Path) -> None:
    found = read_stretches(write_calls(tmp_path), 3, 2)
    assert [[(each.call_id, each.chunk_id) for each in stretch.chunks] for stretch in found] == [
        [("c1", 0), ("c1", 1)],
        [("c3", 0), ("c3", 1)],
        [("c1", 2), ("c1", 3)],
    ]
    assert sorted(found[0].gold) == [0, 4]


@pytest.mark.parametrize("content", ["", "{}\n{}", "not json\nnot json", "[]\n[1]", '{"chunks": []}\n{"chunks": [{}]}'])
def test_a_file_without_gold_turns_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "calls_dev.jsonl").write_text(content, "utf-8")
    with pytest.raises(bench.NoTurns):
        read_turns(tmp_path, 300)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bench.NoTurns, match=r"calls_dev\.jsonl"):
        read_turns(tmp_path, 300)


def test_the_text_of_people_has_full_marks() -> None:
    quality = counted(WRITTEN)
    assert (quality.foreign, quality.numbers, quality.negations, quality.not_allowed) == (0, 0, 0, 0)
    assert (quality.coverage, quality.deletions.f1, quality.marks.f1) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("cleaned", "counts"),
    [
        ("I don't have that part. It was three fifty.", (1, 0, 0)),
        ("I don't have the part. It was three sixty.", (1, 1, 0)),
        ("I don't have the part. It was fifty.", (0, 1, 0)),
        ("I have the part. It was three fifty.", (0, 0, 1)),
        ("I don't don't have the part. It was three fifty.", (1, 0, 1)),
    ],
)
def test_foreign_words_numbers_and_negations_are_counted_by_turn(cleaned: str, counts: tuple[int, int, int]) -> None:
    quality = counted(cleaned)
    assert (quality.foreign, quality.numbers, quality.negations) == counts
    assert quality.not_allowed == 1


def test_the_same_number_in_digits_is_a_foreign_word_and_no_changed_number() -> None:
    quality = counted("It costs 46 dollars.", "it costs forty six dollars", "it costs forty six dollars", "")
    assert (quality.foreign, quality.numbers) == (1, 0)


def test_words_left_out_are_compared_with_those_that_people_left_out() -> None:
    nothing = counted(SAID)
    assert (nothing.deletions.precision, nothing.deletions.recall) == (1.0, 0.0)
    too_much = counted("I don't have it was three fifty.")
    assert too_much.deletions.recall == 1.0
    assert too_much.deletions.precision < 1.0
    assert too_much.coverage < 1.0


def test_of_a_word_said_twice_it_does_not_matter_which_one_went() -> None:
    assert counted("the part", "the the part", "the part", "").deletions == Hits(right=1)


def test_a_mark_counts_only_after_the_word_where_it_stands() -> None:
    quality = counted("I don't have the, part it was three fifty.")
    assert (quality.marks.right, quality.marks.wrong, quality.marks.missed) == (1, 1, 1)


def test_an_unusable_answer_is_in_no_other_count() -> None:
    quality = counted(None)
    assert (quality.unanswered, quality.turns, quality.gold_words) == (1, 0, 0)


async def test_a_run_counts_every_mode_and_asks_the_bare_server_the_same(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body)
        made: dict[str, Any] = echo(body)
        return made

    async with serving(answer) as url:
        settings = load(urls=[url])
        result = await bench.run(settings, write_calls(tmp_path), ["free", "project"], load_turns=32, rounds=2)
    assert [mode.name for mode in result.modes] == ["rules", "free", "project"]
    for mode in result.modes[1:]:
        assert (mode.first.turns, mode.first.foreign, mode.model) == (4, 0, "served")
    free, project = result.modes[1:]
    assert project.speeds is None  # it asks what free asks
    assert free.as_published
    assert (free.as_published.name, project.as_published) == ("free, as published", None)
    assert free.speeds
    assert [pair.ours.in_flight for pair in free.speeds.pairs] == [1, 8, 32]
    for pair in free.speeds.pairs:
        assert pair.ours.tokens == pair.bare.tokens == 7 * len(pair.ours.latencies)
        assert len(pair.shares) == 2
    page = bench.render(result, "1.0", date(2026, 1, 2))
    assert "clearcall 1.0, 2026-01-02. Model served" in page
    assert "## Speed" in page
    assert "One request for a window" not in page


async def test_the_first_token_is_waited_for_without_a_grammar_with_a_new_one_and_with_the_same_again(
    tmp_path: Path,
) -> None:
    asked: list[str | None] = []

    async def answer(body: dict[str, Any]) -> web.StreamResponse | dict[str, Any]:
        if not body["stream"]:
            made: dict[str, Any] = echo(body)
            return made
        asked.append(body.get("structured_outputs", {}).get("grammar"))
        return web.Response(text='data: {"choices":[{"delta":{"content":"1"}}]}\n\ndata: [DONE]\n')

    async with serving(answer) as url:
        result = await bench.run(
            load(urls=[url]), write_calls(tmp_path), ["constrained"], turns=1, load_turns=1, rounds=1
        )
    speeds = result.modes[1].speeds
    assert speeds
    assert len(speeds.first_tokens) == 1
    none, new, again = asked
    assert none is None
    assert new
    assert new == again
    assert "never seen" in bench.render(result, "1.0", date(2026, 1, 2))


async def test_shapes_ask_for_the_same_stretches_in_fewer_and_in_more_requests(tmp_path: Path) -> None:
    asked: list[int] = []

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(len(asked_lines(body)))
        made: dict[str, Any] = echo(body)
        return made

    async with serving(answer) as url:
        result = await bench.run(
            load(urls=[url], decoding="free"),
            write_calls(tmp_path),
            [],
            load_turns=0,
            shapes=["window", "chunk"],
            stretches=2,
        )
    window, chunk = result.shapes
    assert (window.name, window.requests, window.chunks) == ("window", 2, 10)
    assert (chunk.name, chunk.requests, chunk.chunks) == ("chunk", 10, 10)
    assert sorted(asked) == [1] * 10 + [5] * 2
    assert (window.quality, window.quality.turns) == (chunk.quality, 4)
    page = bench.render(result, "1.0", date(2026, 1, 2))
    assert "One request for a window, or one for each chunk" in page
    assert "Initial answers\n" not in page


async def test_modes_that_ask_the_same_ask_once_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body)
        made: dict[str, Any] = echo(body)
        return made

    kept = tmp_path / "answers.jsonl"
    async with serving(answer) as url:
        settings = load(urls=[url], model="served")
        first = await bench.run(settings, write_calls(tmp_path), ["free", "project"], load_turns=0, answers=kept)
        times = len(asked)
        second = await bench.run(settings, tmp_path, ["free", "project"], load_turns=0, answers=kept)
    assert times == len(kept.read_text("utf-8").splitlines()) == len(asked)
    assert [mode.first for mode in first.modes] == [mode.first for mode in second.modes]


@pytest.mark.parametrize("refuses", [True, False])
async def test_the_page_says_where_the_server_took_no_grammar(tmp_path: Path, refuses: bool) -> None:
    def answer(body: dict[str, Any]) -> web.Response | dict[str, Any]:
        if body["stream"]:
            return web.Response(text='data: {"choices":[{"delta":{"content":"1"}}]}\n\ndata: [DONE]\n')
        if refuses and "structured_outputs" in body:
            return web.Response(status=400, text="structured_outputs: extra inputs are not permitted")
        return completion(f"{asked_lines(body)[0]} Whatever.")

    kept = tmp_path / "answers.jsonl"
    async with serving(answer) as url:
        result = await bench.run(
            load(urls=[url]), write_calls(tmp_path), ["constrained"], load_turns=2, rounds=1, answers=kept
        )
        again = await bench.run(load(urls=[url]), tmp_path, ["constrained"], load_turns=0, answers=kept)
    assert result.modes[1].decodings == again.modes[1].decodings == {("constrained", "project"): 4}
    page = bench.render(result, "1.0", date(2026, 1, 2))
    assert "constrained: 4 of 4 answers asked as `constrained` came as `project`" in page
    assert "answers were none by a grammar" in page


async def test_the_page_of_a_server_that_obeys_says_nothing_of_other_decodings(tmp_path: Path) -> None:
    async with serving(
        lambda body: completion(asked_lines(body)[0].replace("um i i", "i").replace("you know ", ""))
    ) as url:
        result = await bench.run(load(urls=[url]), write_calls(tmp_path), ["constrained", "free"], load_turns=0)
    assert set(result.modes[1].decodings) == {("constrained", "constrained")}
    assert "came as" not in bench.render(result, "1.0", date(2026, 1, 2))


async def test_an_error_is_not_kept() -> None:
    script = [httpx.Response(503), httpx.Response(200, json={})]
    kept = Kept(httpx.MockTransport(lambda _request: script.pop(0)))
    async with httpx.AsyncClient(transport=kept) as client:
        codes = [(await client.post("http://one/v1", json={})).status_code for _ in range(3)]
    assert codes == [503, 200, 200]


def test_a_file_that_holds_no_answers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("something else", "utf-8")
    with pytest.raises(bench.UnreadableAnswers):
        Kept(httpx.MockTransport(lambda _request: httpx.Response(200)), file)


async def test_an_answer_that_is_none_is_counted_apart(tmp_path: Path) -> None:
    async with serving(lambda _body: completion("", "stop")) as url:
        result = await bench.run(load(urls=[url]), write_calls(tmp_path), ["free"], load_turns=0)
    free = result.modes[1]
    assert (free.first.unanswered, free.first.turns, free.failures) == (4, 0, {"empty": 4})
    assert "unusable" in bench.render(result, "1.0", date(2026, 1, 2))


def test_the_command_says_what_is_wrong_with_its_folder_and_its_modes(tmp_path: Path) -> None:
    missing = CliRunner().invoke(app, ["bench", "consultant", str(tmp_path)])
    assert (missing.exit_code, "calls_dev.jsonl" in missing.stderr) == (2, True)
    unknown = CliRunner().invoke(app, ["bench", "consultant", str(tmp_path), "--modes", "wild"])
    assert (unknown.exit_code, "decoding" in unknown.stderr) == (2, True)
