"""A negation that was not said, or one that was said and is gone."""

from collections.abc import Iterator

from clearcall.scoring.alignment import Block, Comparison
from clearcall.scoring.lexicon import word_set
from clearcall.scoring.types import Flag

NAME = "negation"
_REACH = 4
"""Words beyond its own length in which a restart says again what was dropped."""

NEGATIONS = word_set("not no never none nothing nobody nowhere neither nor without nope nah")


def negation(comparison: Comparison) -> Iterator[Flag]:
    """Flags each "not", "never", "without" that is added or dropped; one said twice in a restart may go once."""
    for block in comparison.blocks:
        wrote = [i for i in range(block.cleaned_from, block.cleaned_to) if comparison.cleaned.forms[i] in NEGATIONS]
        said = [i for i in range(block.source_from, block.source_to) if comparison.source.forms[i] in NEGATIONS]
        if len(wrote) > len(said):
            yield _added(comparison, block, wrote)
        elif len(said) > len(wrote) and not _may_go(comparison, block, said):
            yield _dropped(comparison, block, said)


def _added(comparison: Comparison, block: Block, wrote: list[int]) -> Flag:
    source = comparison.source_span(block.source_from, block.source_to)
    return Flag(NAME, _reason(comparison, block), comparison.cleaned_span(wrote[0], wrote[-1] + 1), source)


def _dropped(comparison: Comparison, block: Block, said: list[int]) -> Flag:
    cleaned = comparison.cleaned_span(block.cleaned_from, block.cleaned_to)
    return Flag(NAME, _reason(comparison, block), cleaned, comparison.source_span(said[0], said[-1] + 1))


def _reason(comparison: Comparison, block: Block) -> str:
    """Both sides with the word before, so that one of them may be empty: "said is not, wrote is"."""
    before = min(1, block.cleaned_from, block.source_from)
    said = comparison.source_words(block.source_from - before, block.source_to) or "nothing"
    wrote = comparison.cleaned_words(block.cleaned_from - before, block.cleaned_to) or "nothing"
    return f"said {said}, wrote {wrote}"


def _may_go(comparison: Comparison, block: Block, said: list[int]) -> bool:
    """Whether negations are dropped with a restart: they are said again after it, or all of it was said before."""
    forms = comparison.source.forms
    reach = range(block.source_to, 2 * block.source_to - block.source_from + _REACH)
    kept = {forms[place] for place in reach if place in comparison.kept}
    if all(forms[index] in kept for index in said):
        return True
    if comparison.is_taken_back(block) and {forms[index] for index in said} == {"no"}:
        return True
    return block.source_to - block.source_from > len(said) and comparison.is_restart(
        block.source_from, block.source_to, share=1.0
    )
