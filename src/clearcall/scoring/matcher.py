"""The best window of a source for a fragment.

The score is the similarity of *Mitigating LLM Hallucinations Using a Multi-Agent Framework*, Section 3.3 and
Appendix B (Algorithm 1): the Ratcliff/Obershelp ratio of a fragment and the window of the source that it matches best.
The paper leaves much open; here it is fixed:

- A window is ``source[i : i + w]`` with ``w = min(len(fragment), len(source))``, for every character offset ``i``.
- The ratio is that of ``SequenceMatcher(None, window, fragment, autojunk=False)``, window first. The order matters:
  Ratcliff/Obershelp is not symmetric where longest blocks tie.
- The score is ``100 * 2 * Km / (w + m)`` for ``Km`` matching characters and a fragment of ``m``, so between 0 and 100.
- Of windows with equal scores the earliest is the best.
- The threshold is compared in integers: at 80 a fragment is below where ``5 * Km < 2 * (w + m)``. A threshold is the
  decimal number that it prints as, so 57.1 means 571/1000 of the way and no rounding decides.
- A source shorter than the fragment is one window, the whole of it. An empty source scores 0, with offsets (0, 0).
- An empty fragment invents nothing and scores 100, with offsets (0, 0), whatever the source; callers drop it.

Where the paper disagrees with itself, both values are parameters of :class:`~clearcall.scoring.types.Rules`:
fragments of 20 words overlapping by 3 in the text (the default), of 100 words overlapping by 10 in Algorithm 1.
"""

from fractions import Fraction
from typing import Literal

from cydifflib import SequenceMatcher  # type: ignore[import-untyped]  # it ships no types

from clearcall.scoring.types import Match

MatchMode = Literal["exact", "decide"]


def best_window(fragment: str, source: str, *, mode: MatchMode = "exact", threshold: float = 80.0) -> Match:
    """The best window of ``source`` for ``fragment``, on the characters as given: nothing is normalised.

    ``exact`` finds the best window whatever its score. ``decide`` does so at or above ``threshold`` (0 to 100), and
    otherwise may stop once the score is proven to be below it; the match then has ``exact`` false and an upper bound
    below the threshold as its score.

    Raises:
        ValueError: ``threshold`` is not a finite number.
    """
    least_matching(threshold, 0)
    if not fragment:
        return Match(score=100.0, start=0, end=0)
    if not source:
        return Match(score=0.0, start=0, end=0)
    width = min(len(fragment), len(source))
    found = source.find(fragment)
    if found >= 0:
        return Match(score=100.0, start=found, end=found + width)
    best, start = -1.0, 0
    for offset in range(len(source) - width + 1):
        ratio = SequenceMatcher(None, source[offset : offset + width], fragment, autojunk=False).ratio()
        if ratio > best:
            best, start = ratio, offset
    return Match(score=best * 100, start=start, end=start + width)


def is_below(match: Match, fragment: str, threshold: float) -> bool:
    """Whether the match of ``fragment`` is below ``threshold`` (0 to 100), compared in integers."""
    length = match.end - match.start + len(fragment)
    matching = round(match.score * length / 200)
    return matching < least_matching(threshold, length)


def least_matching(threshold: float, length: int) -> int:
    """The fewest matching characters that reach ``threshold`` where window and fragment have ``length`` together.

    Raises:
        ValueError: ``threshold`` is not a finite number.
    """
    return -(-Fraction(repr(float(threshold))) * length // 200)
