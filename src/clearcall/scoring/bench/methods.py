"""The ways of scoring that are compared: each says of a pair which fragments it flags, or that it flags the whole."""

from collections.abc import Callable
from dataclasses import dataclass

from cydifflib import SequenceMatcher  # type: ignore[import-untyped]  # it ships no types
from rapidfuzz import fuzz

from clearcall.scoring import sources
from clearcall.scoring.bench.calls import Pair
from clearcall.scoring.evaluator import evaluate_turn
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.types import Rules

THRESHOLD = 80.0
RULES = Rules(threshold=THRESHOLD)

PAPER = "paper, as published"
NORMALISED = "normalised SS"
GUARDED = "SS with guards"
AUTOJUNK = "difflib, autojunk"
RATIO = "fuzz.ratio"
PARTIAL = "fuzz.partial_ratio"
METHODS = (PAPER, NORMALISED, GUARDED, AUTOJUNK, RATIO, PARTIAL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fragments`` has one entry a fragment: flagged or not; ``whole`` is a flag of the turn as a whole."""

    fragments: tuple[bool, ...]
    whole: bool = False

    @property
    def flagged(self) -> bool:
        """Whether the pair is flagged at all."""
        return self.whole or any(self.fragments)

    @property
    def alarms(self) -> int:
        """The flagged fragments; a flag of the whole counts for each of them."""
        return len(self.fragments) if self.whole else sum(self.fragments)


def verdicts(pair: Pair) -> dict[str, Verdict]:
    """What each method says of a pair, on the same fragments and the same source."""
    evaluation = evaluate_turn(pair.cleaned, pair.own, pair.source, rules=RULES)
    said = sources.around(pair.own, pair.source, RULES.source_chars).text
    own = pair.source[pair.own].text
    parts = [pair.cleaned[start:end] for start, end in fragment_spans(pair.cleaned, RULES.words, RULES.overlap)]
    return {
        PAPER: Verdict(tuple(round(fragment.paper_score, 6) < THRESHOLD for fragment in evaluation.fragments)),
        NORMALISED: Verdict(tuple(fragment.below_threshold for fragment in evaluation.fragments)),
        GUARDED: Verdict(tuple(fragment.flagged for fragment in evaluation.fragments), bool(evaluation.flags)),
        AUTOJUNK: _each(parts, lambda part: _autojunk(part, said)),
        RATIO: Verdict(tuple(False for _ in parts), fuzz.ratio(pair.cleaned, own) < THRESHOLD),
        PARTIAL: _each(parts, lambda part: fuzz.partial_ratio(part, said)),
    }


def _each(parts: list[str], score: Callable[[str], float]) -> Verdict:
    return Verdict(tuple(score(part) < THRESHOLD for part in parts))


def _autojunk(fragment: str, source: str) -> float:
    """The share of the fragment's characters that difflib finds in the source, in order, with its defaults."""
    blocks = SequenceMatcher(None, fragment, source).get_matching_blocks()
    found: int = sum(block[2] for block in blocks)
    return 100.0 * found / len(fragment)
