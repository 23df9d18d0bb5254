"""The matcher without a compiler: rapidfuzz for the bounds, cydifflib for what they leave.

The same way as the kernel's, whose head explains it: probes of the longest common subsequence (LCS), then the longest
block of each window with the LCS on both sides of it, then the exact sides of what may still win.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from cydifflib import SequenceMatcher  # type: ignore[import-untyped]  # it ships no types
from rapidfuzz.distance import LCSseq
from rapidfuzz.fuzz import partial_ratio_alignment

_SAMPLES = 4
_SMALLEST_SPLIT = 4
_MEMO = 4096


class _Block(NamedTuple):
    row: int
    col: int
    size: int


class _Best:
    """The characters to beat, and where they were found: -1 while they are only a demand."""

    def __init__(self, matching: int) -> None:
        self.matching = matching
        self.start = -1

    def admits(self, start: int, bound: int) -> bool:
        return bound > self.matching or (bound == self.matching and start < self.start)

    def offer(self, start: int, matching: int) -> None:
        if self.admits(start, matching):
            self.matching, self.start = matching, start


def search(fragment: str, source: str, least: int) -> tuple[int, int, bool]:
    """The kernel's ``best_window``, see :data:`clearcall.scoring.matcher.Search`."""
    width, last = len(fragment), len(source) - len(fragment)
    best = _Best(max(-1, min(width, least - 1)))
    if last <= 0:
        best.offer(0, _matching(source, fragment))
        return best.matching, 0, best.start >= 0
    good = _guess(fragment, source, best, last)
    for lo, hi in _merged(_candidates(fragment, source, best, last), near=width):
        _solve_range(fragment, source, best, lo, hi)
    return best.matching, best.start if best.start >= 0 else good, best.start >= 0


def _matching(window: str, fragment: str) -> int:
    if not window or not fragment:
        return 0
    ratio = SequenceMatcher(None, window, fragment, autojunk=False).ratio()
    total: int = round(ratio * (len(window) + len(fragment)) / 2)
    return total


def _guess(fragment: str, source: str, best: _Best, last: int) -> int:
    """A window that is likely to be good: what it scores is the first to beat."""
    cutoff = 100 * max(0, best.matching) / len(fragment)
    likely = partial_ratio_alignment(fragment, source, score_cutoff=cutoff)
    if likely is None:
        return 0
    start = min(max(0, likely.dest_start - likely.src_start), last)
    best.offer(start, _matching(source[start : start + len(fragment)], fragment))
    return start


def _candidates(fragment: str, source: str, best: _Best, last: int) -> Iterator[tuple[int, int]]:
    """First and last starts of the stretches that the LCS of a few windows does not rule out."""
    width = len(fragment)

    def lcs(start: int) -> int:
        return LCSseq.similarity(fragment, source[start : start + width])

    level = sum(lcs(last * (2 * k + 1) // (2 * _SAMPLES)) for k in range(_SAMPLES)) // _SAMPLES
    gap = 2 * (best.matching - level - width // 64)
    if gap < max(2, width // 12):
        yield 0, last
        return
    probes = [(start, lcs(start)) for start in [*range(0, last, gap), last]]
    pending = list(pairwise(probes))[::-1]
    while pending:
        (a, lcs_a), (b, lcs_b) = pending.pop()
        if best.admits(a, lcs_a):
            yield a, a
        if b == a + 1 or not best.admits(a, (lcs_a + lcs_b + b - a) // 2):
            continue
        if b - a <= _SMALLEST_SPLIT:
            yield a + 1, b - 1
            continue
        middle = ((a + b) // 2, lcs((a + b) // 2))
        pending += [(middle, (b, lcs_b)), ((a, lcs_a), middle)]
    if best.admits(*probes[-1]):
        yield last, last


def _merged(ranges: Iterable[tuple[int, int]], near: int) -> list[tuple[int, int]]:
    """The stretches with those joined whose windows share most of their text anyway."""
    merged: list[tuple[int, int]] = []
    for lo, hi in ranges:
        joins = bool(merged) and lo - merged[-1][1] < near
        merged.append((merged.pop()[0] if joins else lo, hi))
    return merged


def _solve_range(fragment: str, source: str, best: _Best, lo: int, hi: int) -> None:
    """Offers the best of the windows from ``lo`` to ``hi``."""
    width = len(fragment)

    @lru_cache(_MEMO)
    def bound_of(row: int, row_end: int, col: int, col_end: int) -> int:
        return LCSseq.similarity(source[row:row_end], fragment[col:col_end])

    @lru_cache(_MEMO)
    def exact_of(row: int, row_end: int, col: int, col_end: int) -> int:
        return _matching(source[row:row_end], fragment[col:col_end])

    bounded = []
    for start, block in enumerate(_roots(fragment, source, lo, hi), lo):
        head = (start, block.row, 0, block.col)
        tail = (block.row + block.size, start + width, block.col + block.size, width)
        tail_bound = bound_of(*tail)
        bounded.append((-block.size - bound_of(*head) - tail_bound, start, block.size, head, tail, tail_bound))
    bounded.sort()
    for negative, start, size, head, tail, tail_bound in bounded:
        if -negative < best.matching:
            return
        if not best.admits(start, -negative):
            continue
        matching = size + exact_of(*head)
        if best.admits(start, matching + tail_bound):
            best.offer(start, matching + exact_of(*tail))


def _roots(fragment: str, source: str, lo: int, hi: int) -> Iterator[_Block]:
    """The longest block of each window from ``lo`` to ``hi``, the earliest in the window and then in the fragment.

    A run that reaches past a window's end counts up to it; only the first such run can win there, as the later are
    shorter.
    """
    width = len(fragment)
    sizes = _run_sizes(fragment, source, lo, hi + width)
    queue: deque[int] = deque()
    after = lo
    for start in range(lo, hi + 1):
        end = start + width
        after = max(after, start)
        while after < end and after + sizes[after - lo] <= end:
            while queue and sizes[queue[-1] - lo] < sizes[after - lo]:
                queue.pop()
            queue.append(after)
            after += 1
        while queue and queue[0] < start:
            queue.popleft()
        row = queue[0] if queue else start
        size = sizes[row - lo] if queue else 0
        if after < end and end - after > size:
            row, size = after, end - after
        yield _Block(row, fragment.find(source[row : row + size]), size)


def _run_sizes(fragment: str, source: str, lo: int, hi: int) -> list[int]:
    """For each place of the source from ``lo``, how much from there on stands in the fragment too."""
    sizes = []
    end = lo
    for start in range(lo, hi):
        end = max(end, start)
        while end < hi and source[start : end + 1] in fragment:
            end += 1
        sizes.append(end - start)
    return sizes
