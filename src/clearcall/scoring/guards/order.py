"""Words that were said, but elsewhere: neighbours that changed places."""

from collections import deque
from collections.abc import Iterator

from clearcall.scoring.alignment import Comparison
from clearcall.scoring.types import Flag

NAME = "order"


def order(comparison: Comparison) -> Iterator[Flag]:
    """Flags stretches of the cleaned text that the source has in another place."""
    places = moved(comparison)
    for block in comparison.blocks:
        here = [index for index in range(block.cleaned_from, block.cleaned_to) if index in places]
        if not here:
            continue
        first, last = here[0], here[-1] + 1
        source = sorted(places[index] for index in here)
        yield Flag(
            NAME,
            f"moved: {comparison.cleaned_words(first, last)}",
            comparison.cleaned_span(first, last),
            comparison.source_span(source[0], source[-1] + 1),
        )


def moved(comparison: Comparison) -> dict[int, int]:
    """The cleaned words that the source has, unused, outside their block: each with its place there."""
    unused: dict[str, deque[int]] = {}
    for block in comparison.blocks:
        for index in range(block.source_from, block.source_to):
            unused.setdefault(comparison.source.forms[index], deque()).append(index)
    found: dict[int, int] = {}
    for block in comparison.blocks:
        for index in range(block.cleaned_from, block.cleaned_to):
            form = comparison.cleaned.forms[index]
            places = unused.get(form)
            if places and form not in comparison.lexicon.optional:
                found[index] = places.popleft()
    return found
