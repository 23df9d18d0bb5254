"""A number that was not said, or one that was said and is gone."""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice

from clearcall.scoring.alignment import Block, Comparison
from clearcall.scoring.numerals import Number, same_number, same_numbers
from clearcall.scoring.types import Flag

NAME = "number"

_REACH = 4
"""Words beyond its own length in which a restart says again what was dropped."""

_MOST_PAIRED = 100
"""Numbers said in a block that are looked at for one that is written there."""

_MOST_TOLD = 100
"""Changed numbers of one block that are flagged one by one: more of them say no more."""


def number(comparison: Comparison) -> Iterator[Flag]:
    """Flags each number that the cleaned text changes, adds or drops. A number said twice in a restart may go once."""
    if not comparison.blocks or not (comparison.cleaned.numbers or comparison.source.numbers):
        return
    for block in comparison.blocks:
        written = _within(comparison.cleaned.numbers, block.cleaned_from, block.cleaned_to)
        said = _within(comparison.source.numbers, block.source_from, block.source_to)
        if not written and not said:
            continue
        written, said = _unmatched(written, said)
        yield from _flags(comparison, block, written, said)


_Numbers = list[tuple[int, Number]]


def _within(numbers: Mapping[int, Number], first: int, last: int) -> _Numbers:
    return [(index, numbers[index]) for index in range(first, last) if index in numbers]


def _unmatched(written: _Numbers, said: _Numbers) -> tuple[_Numbers, _Numbers]:
    if same_numbers([number for _, number in written], [number for _, number in said]):
        return [], []
    left: _Numbers = []
    remaining = deque(said)
    for index, mine in written:
        match = next((other for other in islice(remaining, _MOST_PAIRED) if same_number(mine, other[1])), None)
        if match is None:
            left.append((index, mine))
        else:
            remaining.remove(match)
    return left, list(remaining)


def _flags(comparison: Comparison, block: Block, written: _Numbers, said: _Numbers) -> Iterator[Flag]:
    for place in range(min(_MOST_TOLD, max(len(written), len(said)))):
        mine = written[place] if place < len(written) else None
        other = said[place] if place < len(said) else None
        if mine is None and other is not None:
            if _may_go(comparison, block, other[0]):
                continue
            cleaned = comparison.cleaned_span(block.cleaned_from, block.cleaned_to)
        elif mine is not None:
            cleaned = comparison.cleaned_span(mine[0], mine[0] + 1)
        source = comparison.source_span(*(other[0], other[0] + 1) if other else (block.source_from, block.source_to))
        said_form, wrote = other[1].form if other else "no number", mine[1].form if mine else "no number"
        yield Flag(NAME, f"said {said_form}, wrote {wrote}", cleaned, source)


def _may_go(comparison: Comparison, block: Block, index: int) -> bool:
    """Whether a number is dropped for a restart, in which it is said twice or corrected, or is the pronoun "one"."""
    form = comparison.source.forms[index]
    if comparison.source_words(index, index + 1).casefold() == "one":
        return True
    reach = block.source_to - block.source_from + _REACH
    near = range(max(0, block.source_from - reach), block.source_to + reach)
    kept = [place for place in near if place in comparison.kept]
    if any(comparison.source.forms[place] == form for place in kept):
        return True
    numbers = [place for place in kept if place in comparison.source.numbers]
    if any(comparison.source.forms[place].startswith(form) for place in numbers):
        return True
    return comparison.is_taken_back(block) and any(place >= block.source_to for place in numbers)
