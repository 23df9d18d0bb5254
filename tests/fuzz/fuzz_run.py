"""Fuzz every decoder, each for its share of the time, and say what was executed, covered and found.

What a run finds new is in ``out/fuzz/<decoder>/found``, what broke something in ``out/fuzz/<decoder>/broke``. The next
run goes on from there. ``--keep`` adds to the committed corpus the smallest inputs that cover what it does not yet.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fuzz_parts import CORPUS, FOLDER, Harness, harness, names
from rich.console import Console
from rich.table import Table

OUT = Path("out/fuzz").absolute()

SLOW_SECONDS = 20
"""An input that takes longer counts as a hang: the slowest sound ones take a tenth of a second."""

_MOST_BYTES = 4096
_MOST_MEGABYTES = 4096
_MOST_KEPT = 10
_MOST_KEPT_BYTES = 600
_COVERED = re.compile(r"cov: (\d+)")
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What became of one decoder; coverage is in branches of its code, before and after."""

    name: str
    executions: int
    covered_before: int
    covered_after: int
    found: int
    broke: tuple[Path, ...]


def main() -> int:
    """Returns 1 where anything broke, 0 also where there is no fuzzer."""
    arguments = _arguments()
    screen = Console()
    if find_spec("atheris") is None:
        screen.print(
            f"skipped: atheris is not installed; {sys.executable} -m pip install 'atheris>=3,<4' has it on Linux"
        )
        return 0
    chosen = arguments.only or names()
    seconds = max(1, round(arguments.minutes * 60 / len(chosen)))
    screen.print(f"{len(chosen)} decoders, {seconds} s each")
    found = []
    for name in chosen:
        found.append(_fuzzed(harness(name), seconds))
        screen.print(_line(found[-1]))
    screen.print(_table(found))
    if arguments.keep:
        for name in chosen:
            screen.print(f"{name}: {_kept(name)} kept")
    return int(any(one.broke for one in found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="for all decoders together")
    parser.add_argument("--only", nargs="*", choices=names(), help="these decoders alone")
    parser.add_argument("--keep", action="store_true", help="add what covers more to the committed corpus")
    return parser.parse_args()


def _fuzzed(one: Harness, seconds: int) -> Fuzzed:
    folder = OUT / one.name
    new, broke = folder / "found", folder / "broke"
    for path in (new, broke):
        path.mkdir(parents=True, exist_ok=True)
    words = folder / "words.dict"
    words.write_text("\n".join(_quoted(word) for word in one.words) + "\n", encoding="ascii")
    before, log = set(broke.iterdir()), folder / "log.txt"
    with log.open("wb") as output:
        _libfuzzer(
            one.name,
            *(str(new), str(CORPUS / one.name), f"-dict={words}", f"-artifact_prefix={broke}/"),
            *(f"-max_total_time={seconds}", f"-timeout={SLOW_SECONDS}", f"-max_len={_MOST_BYTES}"),
            *(f"-rss_limit_mb={_MOST_MEGABYTES}", "-print_final_stats=1"),
            output=output.fileno(),
        )
    text = log.read_text("utf-8", "replace")
    covered = [int(number) for number in _COVERED.findall(text)] or [0]
    executed = _EXECUTED.search(text)
    return Fuzzed(
        one.name,
        int(executed[1]) if executed else 0,
        covered[0],
        covered[-1],
        sum(1 for _ in new.iterdir()),
        tuple(sorted(set(broke.iterdir()) - before)),
    )


def _libfuzzer(name: str, *arguments: str, output: int) -> None:
    start = OUT / name / "start"
    start.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{FOLDER / "fuzz_one.py"}" {name} "$0" "$@"\n', encoding="utf-8"
    )
    start.chmod(0o755)
    subprocess.run([str(start), *arguments], stdout=output, stderr=output, check=False)


def _quoted(word: str) -> str:
    """A word as libFuzzer reads it in a dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass")) + '"'


def _line(one: Fuzzed) -> str:
    found = "".join(f"\n  broke it: {path}" for path in one.broke)
    return f"{one.name}: {one.executions} executions, {one.covered_before} to {one.covered_after} covered{found}"


def _table(found: list[Fuzzed]) -> Table:
    table = Table("decoder", box=None, pad_edge=False, header_style="bold")
    for heading in ("executions", "covered before", "covered after", "inputs found", "broke it"):
        table.add_column(heading, justify="right")
    for one in found:
        figures = (one.executions, one.covered_before, one.covered_after, one.found, len(one.broke))
        table.add_row(one.name, *(f"{figure:,}" for figure in figures))
    executions, broke = sum(one.executions for one in found), sum(len(one.broke) for one in found)
    table.add_row("together", f"{executions:,}", "", "", "", f"{broke:,}")
    return table


def _kept(name: str) -> int:
    """Add to the committed corpus what covers more than it does, smallest first, and say how many that were."""
    merged = OUT / name / "merged"
    merged.mkdir(exist_ok=True)
    for old in merged.iterdir():
        old.unlink()
    for committed in _committed(name):
        (merged / committed.name).write_bytes(committed.read_bytes())
    before = {path.name for path in merged.iterdir()}
    with (OUT / name / "merge.txt").open("wb") as output:
        _libfuzzer(name, "-merge=1", str(merged), str(OUT / name / "found"), output=output.fileno())
    new = sorted((path for path in merged.iterdir() if path.name not in before), key=lambda path: path.stat().st_size)
    kept = [path for path in new if path.stat().st_size <= _MOST_KEPT_BYTES][:_MOST_KEPT]
    for path in kept:
        (CORPUS / name / path.name[:12]).write_bytes(path.read_bytes())
    return len(kept)


def _committed(name: str) -> Iterator[Path]:
    return (path for path in (CORPUS / name).iterdir() if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
