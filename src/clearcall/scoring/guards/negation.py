"""A negation that was not said, or one that was said and is gone."""

from collections.abc import Iterator

from clearcall.scoring.alignment import Block, Comparison
from clearcall.scoring.lexicon import word_set
from clearcall.scoring.types import Flag

NAME = "negation"
NEGATIONS = word_set("not no never none nothing nobody nowhere neither nor without nope nah")


def negation(comparison: Comparison) -> Iterator[Flag]:
    """Flags each "not", "never", "without" that is added or dropped; one said twice in a restart may go once."""
    for block in comparison.blocks:
        wrote = [i for i in range(block.cleaned_from, block.cleaned_to) if comparison.cleaned.forms[i] in NEGATIONS]
        said = [i for i in range(block.source_from, block.source_to) if comparison.source.forms[i] in NEGATIONS]
        if len(wrote) > len(said):
            yield _added(comparison, block, wrote)
        elif len(said) > len(wrote) and not _said_again(comparison, block, said):
            yield _dropped(comparison, block, said)


def _added(comparison: Comparison, block: Block, wrote: list[int]) -> Flag:
    first, last = wrote[0], wrote[-1] + 1
    said = comparison.source_words(block.source_from, block.source_to) or "nothing there"
    return Flag(
        NAME,
        f"said {said}, wrote {comparison.cleaned_words(block.cleaned_from, block.cleaned_to)}",
        comparison.cleaned_span(first, last),
        comparison.source_span(block.source_from, block.source_to),
    )


def _dropped(comparison: Comparison, block: Block, said: list[int]) -> Flag:
    wrote = comparison.cleaned_words(block.cleaned_from, block.cleaned_to) or "nothing there"
    return Flag(
        NAME,
        f"said {comparison.source_words(block.source_from, block.source_to)}, wrote {wrote}",
        comparison.cleaned_span(block.cleaned_from, block.cleaned_to),
        comparison.source_span(said[0], said[-1] + 1),
    )


def _said_again(comparison: Comparison, block: Block, said: list[int]) -> bool:
    """Whether the same negation follows in a restart: what was dropped with it is said again, too."""
    forms = comparison.source.forms
    reach = range(block.source_to, block.source_to + (block.source_to - block.source_from) + 4)
    kept = [forms[place] for place in reach if place in comparison.kept]
    return all(forms[index] in kept for index in said)
