"""Where a long source is searched for a fragment: around the place that the fragment's words stand for."""

from bisect import bisect_right
from dataclasses import dataclass, replace

from clearcall.scoring.alignment import Comparison
from clearcall.scoring.matcher import best_window
from clearcall.scoring.normalise import Normalised
from clearcall.scoring.sources import NormalSource
from clearcall.scoring.types import Match

SEARCHED_WHOLE = 20_000
"""Characters up to which a source is searched as a whole: the cost of that grows with the square of its length."""

_REACH = 2000
"""Characters on either side of the place at which a fragment of a longer source begins."""


def best_near(fragment: str, source: str, place: int) -> Match:
    """The best window of ``source``; of a long one, the best of those that begin around ``place``.

    A fragment that is moved further than that in a long source scores lower than it could, never higher.
    """
    if len(source) <= SEARCHED_WHOLE:
        return best_window(fragment, source)
    first = max(0, min(place, len(source) - len(fragment)) - _REACH)
    match = best_window(fragment, source[first : place + len(fragment) + _REACH])
    return replace(match, start=match.start + first, end=match.end + first)


@dataclass(frozen=True, slots=True)
class Aligned:
    """The way from a cleaned turn to its source.

    ``cleaned_start`` is the turn's place in the cleaned text of the comparison.
    """

    comparison: Comparison
    cleaned_start: int = 0

    def place(self, start: int) -> int:
        """The place in the comparison's source that a place in the cleaned turn stands for."""
        blocks, source = self.comparison.blocks, self.comparison.source
        if not source.starts:
            return 0
        word = bisect_right(self.comparison.cleaned.ends, start + self.cleaned_start)
        index = bisect_right(blocks, word, key=lambda block: block.cleaned_from) - 1
        if index >= 0:
            block = blocks[index]
            inside = block.source_from + (word - block.cleaned_from)
            word = (
                min(inside, block.source_to) if word < block.cleaned_to else block.source_to + word - block.cleaned_to
            )
        return source.starts[min(word, len(source.starts) - 1)]


def in_form(text: Normalised, place: int) -> int:
    """The place in the compared form of ``place`` in the text as given."""
    return text.places[max(0, bisect_right(text.starts, place) - 1)] if text.places else 0


def in_source_form(source: NormalSource, place: int) -> int:
    """The same for a source of several turns."""
    if not source.parts:
        return 0
    part = max(0, bisect_right(source.starts, place) - 1)
    return source.places[part] + in_form(source.parts[part], place - source.starts[part])
