"""Where two long texts meet: phrases that each has once cut their alignment into stretches that are cheap to align."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

_PHRASES = (5, 3, 1)
"""Words of an anchor, tried in turn: a longer phrase is seldom there twice, and more rarely there by chance."""

_PIECE = 2000


class Stretch(NamedTuple):
    """Half-open ranges of words of both texts that are aligned by themselves."""

    cleaned_from: int
    cleaned_to: int
    source_from: int
    source_to: int

    @property
    def cells(self) -> int:
        """Words times words."""
        return (self.cleaned_to - self.cleaned_from) * (self.source_to - self.source_from)


def stretches(cleaned: Sequence[str], source: Sequence[str], most_cells: int) -> Iterator[Stretch]:
    """The stretches of both texts to align one by one, in order; between two of them both have the same words.

    None has more than ``most_cells`` words times words, or than a piece has. The work grows with the length of the
    texts, not its square.
    """
    waiting = [(Stretch(0, len(cleaned), 0, len(source)), 0)]
    while waiting:
        whole, tried = waiting.pop()
        stretch = _trimmed(cleaned, source, whole)
        if stretch.cells <= most_cells:
            yield stretch
        elif tried == len(_PHRASES):
            yield from _pieces(cleaned, source, stretch)
        else:
            gaps = list(_gaps(stretch, _anchors(cleaned, source, stretch, _PHRASES[tried]), _PHRASES[tried]))
            waiting += [(gap, tried + 1) for gap in reversed(gaps)]


def _trimmed(cleaned: Sequence[str], source: Sequence[str], stretch: Stretch) -> Stretch:
    """The stretch without the words that both sides begin and end with."""
    c0, c1, s0, s1 = stretch
    while c0 < c1 and s0 < s1 and cleaned[c0] == source[s0]:
        c0, s0 = c0 + 1, s0 + 1
    while c0 < c1 and s0 < s1 and cleaned[c1 - 1] == source[s1 - 1]:
        c1, s1 = c1 - 1, s1 - 1
    return Stretch(c0, c1, s0, s1)


def _anchors(cleaned: Sequence[str], source: Sequence[str], stretch: Stretch, size: int) -> list[tuple[int, int]]:
    """The places of the phrases that both sides have exactly once: the most of them that are in the same order."""
    here = _once(cleaned, stretch.cleaned_from, stretch.cleaned_to, size)
    there = _once(source, stretch.source_from, stretch.source_to, size)
    return _rising([(at, there[phrase]) for phrase, at in here.items() if phrase in there])


def _once(words: Sequence[str], first: int, last: int, size: int) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    again: set[tuple[str, ...]] = set()
    for at in range(first, last - size + 1):
        phrase = tuple(words[at : at + size])
        if phrase in found:
            again.add(phrase)
        else:
            found[phrase] = at
    return {phrase: at for phrase, at in found.items() if phrase not in again}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs, which rise in the first place, that rises in the second one too."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [place]
        ends[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _gaps(stretch: Stretch, anchors: Sequence[tuple[int, int]], size: int) -> Iterator[Stretch]:
    """What lies between the anchors; of two that overlap on one side alone, the later is none."""
    at, source_at = stretch.cleaned_from, stretch.source_from
    shift: int | None = None
    for place, source_place in anchors:
        follows = source_place - place == shift and place <= at
        if not follows:
            if place < at or source_place < source_at:
                continue
            if place > at or source_place > source_at:
                yield Stretch(at, place, source_at, source_place)
            shift = source_place - place
        at, source_at = place + size, source_place + size
    yield Stretch(at, stretch.cleaned_to, source_at, stretch.source_to)


def _pieces(cleaned: Sequence[str], source: Sequence[str], stretch: Stretch) -> Iterator[Stretch]:
    """Texts that say the same over and over, or have nothing in common: pieces of equal length from the beginning on.

    Each piece is aligned, and the next one starts where its middle stands. As both sides are of one length, the second
    half keeps the first from being matched too late.
    """
    c0, c1, s0, s1 = stretch
    while c1 - c0 > _PIECE and s1 - s0 > _PIECE:
        on, source_on = _middle(cleaned[c0 : c0 + _PIECE], source[s0 : s0 + _PIECE])
        yield Stretch(c0, c0 + on, s0, s0 + source_on)
        c0, s0 = c0 + on, s0 + source_on
    reach = max(_PIECE, min(c1 - c0, s1 - s0) * 2)
    on, source_on = min(c1, c0 + reach), min(s1, s0 + reach)
    yield Stretch(c0, on, s0, source_on)
    yield Stretch(on, c1, source_on, s1)


def _middle(part: Sequence[str], source_part: Sequence[str]) -> tuple[int, int]:
    """How far the first halves of both parts reach, at least one of them a half."""
    half = _PIECE // 2
    for code in Indel.opcodes(source_part, part):
        if code.tag == "equal" and code.dest_end > half:
            on = max(code.dest_start, half)
            return on, code.src_start + on - code.dest_start
    return half, half
