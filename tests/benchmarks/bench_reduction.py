"""How well the rules of reduction decide: the words they leave out of real calls against those that people left out.

    python tests/benchmarks/bench_reduction.py [--data ../shared/data/calls] [--half held|developed]

Lexicon and restart rules were developed on the calls with an even index in ``calls_dev.jsonl`` and are measured on
those with an odd one. A word counts as left out where the text without it, aligned from the end, lacks it: of "the the"
the first, whichever was meant. Fluent texts (questions of Disfl-QA as they were written, transcripts of podcasts) show
how much is left out where nothing should be.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clearcall.scoring.allowed import findings
from clearcall.scoring.reduction import Reduction, reductions

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "calls"
ALIGNED = 0.8
"""Least share of a podcast's chunk that its gold covers, so that both are the same stretch."""


def say(line: str) -> None:
    """Write a line of the report."""
    sys.stdout.write(line + "\n")


def chunks(data: Path, half: int) -> Iterator[dict[str, Any]]:
    """The chunks of every other call of the file, from ``half`` (0 or 1) on."""
    for line in (data / "calls_dev.jsonl").read_text(encoding="utf-8").splitlines()[half::2]:
        yield from json.loads(line)["chunks"]


def left_out(words: Sequence[str], kept: Sequence[str]) -> set[int] | None:
    """The indexes of words that ``kept`` lacks, aligned from the end; ``None`` where it is no subsequence."""
    gone, at = set(), len(kept) - 1
    for index in range(len(words) - 1, -1, -1):
        if at >= 0 and words[index] == kept[at]:
            at -= 1
        else:
            gone.add(index)
    return None if at >= 0 else gone


def forms(reduction: Reduction) -> list[str]:
    """The words as they are compared."""
    return [word.form for word in reduction.words]


def may_go(reduction: Reduction) -> set[int]:
    """All that the policy lets a model leave out, taken together."""
    return {index for skip in reduction.skips for index in range(skip.start, skip.end)}


class Deletions:
    """Counts of words left out: rightly, wrongly, and by people only."""

    def __init__(self) -> None:
        self.right = self.wrong = self.missed = 0

    def add(self, ours: set[int], gold: set[int]) -> None:
        """Count one turn."""
        self.right += len(ours & gold)
        self.wrong += len(ours - gold)
        self.missed += len(gold - ours)

    def __str__(self) -> str:
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missed)
        f1 = 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)
        return (
            f"precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  ({self.right + self.missed} words in gold)"
        )


def measure(data: Path, half: int) -> None:
    """Print the rules' and the policy's figures on one half."""
    rules, policy = Deletions(), Deletions()
    turns = skipped = refused = 0
    spent = 0.0
    for chunk in chunks(data, half):
        began = time.perf_counter()
        reduction = reductions(chunk["text"])
        spent += time.perf_counter() - began
        said, gold_words = forms(reduction), forms(reductions(chunk["gold"]))
        gold = left_out(said, gold_words)
        if gold is None:
            skipped += 1
            continue
        turns += 1
        ours = left_out(said, [said[index] for index in reduction.kept])
        assert ours is not None
        rules.add(ours, gold)
        policy.add(may_go(reduction), gold)
        refused += bool(findings(chunk["text"], chunk["gold"]))
    say(f"turns {turns}, {skipped} more whose gold has other words; {1e6 * spent / (turns + skipped):.0f} us a turn")
    say(f"rules (clean_words):           {rules}")
    say(f"all that the policy lets go:   {policy}")
    say(f"turns whose gold is no allowed reduction (it drops more than the policy does): {refused}")


def fluent(data: Path) -> None:
    """Print what the rules leave out of fluent texts."""
    questions = json.loads((data / "disfl_qa_dev.json").read_text(encoding="utf-8"))
    podcasts = (json.loads(line) for line in (data / "rev16_dev.jsonl").read_text(encoding="utf-8").splitlines())
    texts = {
        "Disfl-QA, written questions": [each["original"] for each in questions.values()],
        "podcasts, written transcripts": [
            chunk["gold"] for call in podcasts for chunk in call["chunks"] if chunk["aligned"] >= ALIGNED
        ],
    }
    for name, group in texts.items():
        read = [reductions(text) for text in group]
        words = sum(len(each.words) for each in read)
        gone = words - sum(len(each.kept) for each in read)
        say(f"{name}: {gone} of {words} words left out ({1000 * gone / words:.1f} of 1000)")


def main() -> int:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=["held", "developed"], default="held")
    arguments = parser.parse_args()
    if not (arguments.data / "calls_dev.jsonl").exists():
        say(f"no calls in {arguments.data}: nothing measured")
        return 0
    say(f"{arguments.half} half of calls_dev.jsonl")
    measure(arguments.data, 0 if arguments.half == "developed" else 1)
    fluent(arguments.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
