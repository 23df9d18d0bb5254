"""Fragments scored per second: every window by difflib and cydifflib, rapidfuzz's shortcut, clearcall's two paths.

One run measures everything. Where a way scores every window it is timed on some windows, spread evenly over the source,
and its figure is extrapolated to all of them: such figures are marked with ``~``. Other work on the machine should not
disturb: one thread is measured by the processor time that it takes, two by the clock, and of several short rounds the
best counts.
"""

import argparse
import datetime as dt
import json
import os
import platform
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from importlib.metadata import version
from pathlib import Path

from cydifflib import SequenceMatcher as CySequenceMatcher  # type: ignore[import-untyped]  # it ships no types
from rapidfuzz import fuzz

from clearcall.scoring import best_window, is_below
from clearcall.scoring.matcher import available_paths

CALLS = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls"
SIZES = (2_400, 8_000, 25_000, 100_000)
KINDS = ("verbatim", "edited", "hallucinated", "swapped")
FRAGMENTS = 24
WORDS = 20
SAMPLED_WINDOWS = 12
EXTRAPOLATED = ("oracle", "cydifflib")

Way = Callable[[str, str], float]
"""Scores one fragment, or the returned share of one."""


@dataclass(frozen=True)
class Cell:
    """Fragments of one kind and the source they are scored against."""

    kind: str
    size: int
    source: str
    fragments: tuple[str, ...]


def words_of_calls() -> tuple[list[str], list[str], str]:
    """Words to speak, words of other calls to hallucinate, and where both are from."""
    spoken, other = CALLS / "calls_dev.jsonl", CALLS / "dstc10_dev.jsonl"
    if spoken.exists() and other.exists():
        return list(_recorded(spoken)), list(_recorded(other)), "recorded calls"
    return list(_invented(1)), list(_invented(2)), "generated words"


def _recorded(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            for chunk in json.loads(line)["chunks"]:
                yield from chunk["text"].split()


def _invented(seed: int) -> Iterator[str]:
    """30,000 words of one to four syllables, the short ones most often."""
    rng = random.Random(seed)
    syllables = [first + second for first in "bdfghklmnprstvw" for second in ("a", "e", "i", "o", "an", "er", "ing")]
    for _ in range(30_000):
        yield "".join(rng.choices(syllables, k=rng.choice((1, 1, 1, 2, 2, 3, 4))))


def cells(spoken: Sequence[str], other: Sequence[str]) -> Iterator[Cell]:
    """Every kind of fragment against every size of source."""
    for size in SIZES:
        rng = random.Random(size)
        text = " ".join(spoken)
        begin = rng.randrange(len(text) - size)
        source = text[begin : begin + size]
        for kind in KINDS:
            fragments = tuple(_fragment(kind, source.split(" "), other, rng) for _ in range(FRAGMENTS))
            yield Cell(kind, size, source, fragments)


def _fragment(kind: str, source: Sequence[str], other: Sequence[str], rng: random.Random) -> str:
    words = list(other if kind == "hallucinated" else source)
    begin = rng.randrange(1, len(words) - WORDS - 1)
    words = words[begin : begin + WORDS]
    if kind == "swapped":
        words = words[WORDS // 2 :] + words[: WORDS // 2]
    if kind == "edited":
        del words[rng.randrange(WORDS)]
        words[rng.randrange(WORDS - 1)] = rng.choice(other)
        return " ".join(words).capitalize() + "."
    return " ".join(words)


def every_window(matcher: Callable[..., SequenceMatcher[str]], fragment: str, source: str) -> float:
    """Scores some windows; the share of all windows that they are."""
    width = min(len(fragment), len(source))
    windows = len(source) - width + 1
    sampled = min(SAMPLED_WINDOWS, windows)
    for k in range(sampled):
        start = k * (windows - 1) // max(1, sampled - 1)
        matcher(None, source[start : start + width], fragment, autojunk=False).ratio()
    return sampled / windows


def shortcut(fragment: str, source: str) -> float:
    """The library's own best window, by another measure."""
    fuzz.partial_ratio(fragment, source)
    return 1.0


def shortcut_with_cutoff(fragment: str, source: str) -> float:
    """The same, told that only 80 or more matters."""
    fuzz.partial_ratio(fragment, source, score_cutoff=80)
    return 1.0


def ours(path: str, mode: str, fragment: str, source: str) -> float:
    """clearcall by one of its paths."""
    best_window(fragment, source, mode=mode, path=path)  # type: ignore[arg-type]  # from lists of the literals
    return 1.0


def ways() -> dict[str, Way]:
    """Everything that is compared, by the name of its column."""
    compared: dict[str, Way] = {
        "oracle": partial(every_window, SequenceMatcher),
        "cydifflib": partial(every_window, CySequenceMatcher),
        "partial_ratio": shortcut,
        "same, cutoff 80": shortcut_with_cutoff,
    }
    for path in available_paths():
        for mode in ("exact", "decide"):
            compared[f"{path} {mode}"] = partial(ours, path, mode)
    return compared


def per_second(way: Way, cell: Cell, threads: int, seconds: float, rounds: int) -> float:
    """Fragments per second over all threads: the best of some rounds of some seconds each."""
    return max(_round(way, cell, threads, seconds) for _ in range(rounds))


def _round(way: Way, cell: Cell, threads: int, seconds: float) -> float:
    done = [0.0] * threads

    def work(mine: int, clock: Callable[[], float]) -> float:
        at = mine * len(cell.fragments) // threads
        begin = clock()
        while clock() - begin < seconds:
            done[mine] += way(cell.fragments[at % len(cell.fragments)], cell.source)
            at += 1
        return clock() - begin

    if threads == 1:
        took = work(0, time.thread_time)
        return done[0] / took
    begin = time.perf_counter()
    workers = [threading.Thread(target=work, args=(mine, time.perf_counter)) for mine in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - begin)


def figure(name: str, value: float) -> str:
    """As many digits as mean something."""
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"~{text}" if name in EXTRAPOLATED else text


def verdicts(results: dict[tuple[str, int, int], dict[str, float]]) -> Iterator[str]:
    """What the figures of one thread mean for the aims of the matcher."""
    one = {(kind, size): row for (kind, size, threads), row in results.items() if threads == 1}
    if "kernel exact" in next(iter(one.values())):
        least = {cell: row["kernel exact"] / row["oracle"] for cell, row in one.items()}
        yield _verdict("kernel exact, times the oracle", least, 1_000)
        edited = {cell: ratio for cell, ratio in least.items() if cell[0] == "edited"}
        yield _verdict("kernel exact on edited fragments, times the oracle", edited, 5_000)
        faster = {cell: row["kernel decide"] / row["partial_ratio"] for cell, row in one.items()}
        yield _verdict("kernel decide, times partial_ratio", faster, 1)
        told = min(row["kernel decide"] / row["same, cutoff 80"] for row in one.values())
        yield f"- kernel decide, times partial_ratio that is told the threshold: at least {figure('', told)} (no aim)"
        for kind in KINDS:
            growth = one[kind, SIZES[0]]["kernel exact"] / one[kind, SIZES[-1]]["kernel exact"]
            yield f"- kernel exact, {kind}: {SIZES[-1] / SIZES[0]:.0f} times the source costs {growth:.0f} times"
    library = {cell: row["library decide"] for cell, row in one.items() if cell[1] == SIZES[0]}
    yield _verdict(f"library decide at {SIZES[0]:,} characters, fragments/s", library, 5_000)


def _verdict(what: str, values: dict[tuple[str, int], float], aim: float) -> str:
    (kind, size), least = min(values.items(), key=lambda item: item[1])
    met = "met" if least >= aim else "MISSED"
    return f"- {what}: at least {figure('', least)} ({kind}, {size:,}); aim {aim:,}: {met}"


def agreement(all_cells: Sequence[Cell]) -> str:
    """That the paths agree on the very fragments that are timed."""
    checked = 0
    for cell in all_cells:
        if cell.size > SIZES[0]:
            continue
        for fragment in cell.fragments:
            exact = {best_window(fragment, cell.source, path=path) for path in available_paths()}  # type: ignore[arg-type]  # names of paths
            decided = best_window(fragment, cell.source, mode="decide")
            best = exact.pop()
            if exact or is_below(best, fragment, 80) != is_below(decided, fragment, 80):
                raise SystemExit(f"the paths disagree on a fragment of {cell.kind}")
            checked += 1
    return f"{' and '.join(available_paths())} agree on {checked} timed fragments"


def main() -> None:
    """Prints the table as Markdown, and writes it to a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.06, help="length of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--write", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    sys.setswitchinterval(0.001)
    spoken, other, texts = words_of_calls()
    all_cells = list(cells(spoken, other))
    compared = ways()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)  # noqa: T201 - the result

    now = dt.datetime.now(tz=dt.UTC).date()
    say("# Scoring: fragments per second\n")
    say(
        f"- {now}, clearcall {version('clearcall')}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; rapidfuzz {version('rapidfuzz')}, "
        f"cydifflib {version('cydifflib')}"
    )
    say(f"- texts: {texts}; fragments of {WORDS} words; {FRAGMENTS} a cell; threshold 80")
    say("- by `make bench-scoring BENCH_ARGS='--write docs/benchmarks/scoring.md'`")
    say("- one thread: per second of processor time; two threads: per second by the clock, so other load counts")
    say("- `~`: extrapolated from some windows, as every window would take minutes")
    say(f"- {agreement(all_cells)}\n")
    say("| source | fragments | threads | " + " | ".join(compared) + " |")
    say("|--:|---|--:|" + "--:|" * len(compared))
    results: dict[tuple[str, int, int], dict[str, float]] = {}
    for cell in all_cells:
        for threads in (1, 2):
            row = {
                name: per_second(way, cell, threads, options.seconds, 1 if name in EXTRAPOLATED else options.rounds)
                for name, way in compared.items()
            }
            results[cell.kind, cell.size, threads] = row
            figures = " | ".join(figure(name, value) for name, value in row.items())
            say(f"| {cell.size:,} | {cell.kind} | {threads} | {figures} |")
    say("")
    for line in verdicts(results):
        say(line)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
