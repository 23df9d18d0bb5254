"""What is delivered where even the best attempt is flagged: its flagged parts as they were said, cleaned by rules."""

import re
from collections.abc import Sequence

from clearcall.scoring.alignment import Comparison, compare
from clearcall.scoring.evaluator import evaluate_turn
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.rules_clean import rule_clean
from clearcall.scoring.types import Evaluation, Fragment, Rules, SpanOffsets, Turn

_LEAST_KEPT = 0.5
"""The share of the source's words that the cleaned text must have for its parts to be told apart."""

_SENTENCE = re.compile(r"[.?!\u2026]+[\"'\u201d)]*\s+")


def restore(cleaned: str, source: str, evaluation: Evaluation, lexicon: Lexicon = ENGLISH) -> str:
    """The cleaned turn with nothing unfaithful left in it.

    The sentences with flagged fragments are replaced by what was said there, cleaned by rules. Where the turn is
    flagged as a whole, where the texts have too little in common, or where the result would be flagged again, all of
    it is replaced; and where even the rules' text would be flagged, what was said is delivered as it was.

    Args:
        cleaned: the turn's cleaned text.
        source: the turn as it was said.
        evaluation: the flags of ``cleaned``.
        lexicon: the fillers.
    """
    if not evaluation.flagged:
        return cleaned
    candidates = []
    if not evaluation.flags:
        comparison = compare(cleaned, source, lexicon)
        if len(comparison.kept) >= _LEAST_KEPT * len(comparison.source.forms):
            flagged = [place for fragment in evaluation.fragments for place in _flagged(fragment)]
            candidates.append(_mended(comparison, flagged, lexicon))
    candidates.append(rule_clean(source, lexicon))
    return next((text for text in candidates if _is_faithful(text, source, lexicon)), source)


def _is_faithful(text: str, source: str, lexicon: Lexicon) -> bool:
    return not evaluate_turn(text, 0, [Turn(0, source)], rules=Rules(lexicon=lexicon)).flagged


def _flagged(fragment: Fragment) -> list[SpanOffsets]:
    """The flagged places of a fragment: those that guards name, or all of it; a point takes in what is beside it."""
    if not fragment.flagged:
        return []
    places = [flag.cleaned for flag in fragment.flags if flag.cleaned is not None]
    if fragment.below_threshold or len(places) < len(fragment.flags):
        return [(fragment.start, fragment.end)]
    return [(start, end) if start < end else (max(0, start - 1), end + 1) for start, end in places]


def _mended(comparison: Comparison, flagged: Sequence[SpanOffsets], lexicon: Lexicon) -> str:
    parts, at, source_at = [], 0, 0
    for start, end in _sentences(comparison.cleaned_text, flagged):
        first, last = comparison.cleaned.within(start, end)
        source_first, source_last = _said(comparison, first, last)
        source_first = max(source_at, source_first)
        kept = comparison.cleaned_text[at:start].strip()
        said = comparison.source_words(source_first, source_last) if source_first < source_last else ""
        parts += [kept, rule_clean(said, lexicon)]
        at, source_at = end, max(source_at, source_last)
    parts.append(comparison.cleaned_text[at:].strip())
    return " ".join(part for part in parts if part)


def _sentences(text: str, flagged: Sequence[SpanOffsets]) -> list[SpanOffsets]:
    """The sentences that hold the flagged places, joined where they touch."""
    bounds = [0, *[match.end() for match in _SENTENCE.finditer(text)], len(text)]
    joined: list[SpanOffsets] = []
    for start, end in sorted(flagged):
        first = max(bound for bound in bounds if bound <= start)
        last = min((bound for bound in bounds if bound >= end), default=len(text))
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _said(comparison: Comparison, first: int, last: int) -> SpanOffsets:
    """The source words that cleaned words ``first`` to ``last`` stand for, with what was dropped at either end."""
    return _boundary(comparison, first, left=True), _boundary(comparison, last, left=False)


def _boundary(comparison: Comparison, word: int, *, left: bool) -> int:
    """The place in the source's words that the place before cleaned word ``word`` stands for."""
    shift = 0
    for block in sorted((*comparison.blocks, *comparison.equivalent), key=lambda block: block.cleaned_from):
        if block.cleaned_from <= word <= block.cleaned_to:
            return block.source_from if left else block.source_to
        if block.cleaned_from > word:
            break
        shift = block.source_to - block.cleaned_to
    return word + shift
