"""What was said and is not there: a dropped sentence, or a turn of which next to nothing is left."""

from collections.abc import Iterator

from clearcall.scoring.alignment import Block, Comparison
from clearcall.scoring.types import Flag

NAME = "coverage"

_DROPPED = 4
"""Words in a row that make a dropped sentence: none a filler, optional, or said again right after."""


def coverage(comparison: Comparison) -> Iterator[Flag]:
    """Flags stretches that were dropped, unless they are said again right after; and turns that share no word."""
    forms = comparison.source.forms
    if not forms:
        return
    if not comparison.kept:
        if comparison.cleaned.forms or any(form not in comparison.lexicon.optional for form in forms):
            yield _flag(comparison, _everything(comparison), "nothing that was said is there")
        return
    for block in comparison.blocks:
        if not may_go(comparison, block):
            yield _flag(comparison, block, f"dropped: {comparison.source_words(block.source_from, block.source_to)}")


def may_go(comparison: Comparison, block: Block) -> bool:
    """Whether what a block drops is little, or said again, or taken back."""
    dropped = comparison.source.forms[block.source_from : block.source_to]
    if sum(form not in comparison.lexicon.optional for form in dropped) < _DROPPED:
        return True
    share = 0.25 if comparison.is_taken_back(block) else 0.5
    return comparison.is_restart(block.source_from, block.source_to, share=share)


def _everything(comparison: Comparison) -> Block:
    return Block(0, len(comparison.cleaned.forms), 0, len(comparison.source.forms))


def _flag(comparison: Comparison, block: Block, reason: str) -> Flag:
    cleaned = comparison.cleaned_span(block.cleaned_from, block.cleaned_to)
    return Flag(NAME, reason, cleaned, comparison.source_span(block.source_from, block.source_to))
