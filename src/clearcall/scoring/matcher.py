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

import os
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from clearcall.scoring import _library
from clearcall.scoring.types import Match

try:
    from clearcall.scoring._kernel import best_window as _kernel_search
except ImportError:  # no compiler was there when clearcall was installed
    _kernel_search = None  # type: ignore[assignment]  # the stub describes the built kernel

MatchMode = Literal["exact", "decide"]
MatchPath = Literal["kernel", "library"]

Search = Callable[[str, str, int], tuple[int, int, bool]]
"""Best window of a source for a fragment, neither empty: (matching characters, start, found).

With the fewest matching characters asked for as third argument. Where no window has them, ``found`` is false and
the first value an upper bound below them.
"""

ENVIRONMENT_VARIABLE = "CLEARCALL_MATCHER"
"""``kernel`` or ``library`` forces a path, for comparison; otherwise the kernel is used where it was built."""

_SEARCHES: dict[str, Search] = {"library": _library.search}
if _kernel_search is not None:
    _SEARCHES["kernel"] = _kernel_search


def available_paths() -> tuple[str, ...]:
    """The paths of this installation; their results are the same, their speed is not."""
    return tuple(_SEARCHES)


def default_path() -> str:
    """The path that :func:`best_window` takes when none is asked for.

    Raises:
        ValueError: the environment forces a path that is unknown or not built.
    """
    forced = os.environ.get(ENVIRONMENT_VARIABLE)
    if not forced:
        return "kernel" if "kernel" in _SEARCHES else "library"
    if forced not in _SEARCHES:
        raise ValueError(f"{ENVIRONMENT_VARIABLE}={forced!r}: this installation has {', '.join(_SEARCHES)}")
    return forced


_DEFAULT = default_path()


def best_window(
    fragment: str,
    source: str,
    *,
    mode: MatchMode = "exact",
    threshold: float = 80.0,
    path: MatchPath | None = None,
) -> Match:
    """The best window of ``source`` for ``fragment``, on the characters as given: nothing is normalised.

    ``exact`` finds the best window whatever its score. ``decide`` does so at or above ``threshold`` (0 to 100), and
    otherwise stops once the score is proven to be below it; the match then has ``exact`` false, an upper bound below
    the threshold as its score, and a window that need not be the best. ``path`` asks for one of
    :func:`available_paths`.

    Raises:
        ValueError: ``threshold`` is not a finite number (looked at by ``decide``), or ``mode`` or ``path`` is unknown.
    """
    if mode not in ("exact", "decide"):
        raise ValueError(f"mode is 'exact' or 'decide', not {mode!r}")
    search = _search(path)
    width = min(len(fragment), len(source))
    length = width + len(fragment)
    least = least_matching(threshold, length) if mode == "decide" else 0
    if not width:
        return Match(0.0 if fragment else 100.0, 0, 0)
    found_at = source.find(fragment)
    if found_at >= 0:
        return Match(100.0, found_at, found_at + width)
    try:
        matching, start, found = search(fragment, source, least)
    except OverflowError:  # beyond the kernel's tables
        matching, start, found = _library.search(fragment, source, least)
    return Match(2.0 * matching / length * 100, start, start + width, found)


def _search(path: str | None) -> Search:
    search = _SEARCHES.get(path or _DEFAULT)
    if search is None:
        raise ValueError(f"path {path!r}: this installation has {', '.join(_SEARCHES)}")
    return search


def is_below(match: Match, fragment: str, threshold: float) -> bool:
    """Whether the match of ``fragment`` is below ``threshold`` (0 to 100), compared in integers.

    Raises:
        ValueError: ``threshold`` is not a finite number.
    """
    length = match.end - match.start + len(fragment)
    return round(match.score * length / 200) < least_matching(threshold, length)


@lru_cache(4096)
def least_matching(threshold: float, length: int) -> int:
    """The fewest matching characters that reach ``threshold`` where window and fragment have ``length`` together.

    Raises:
        ValueError: ``threshold`` is not a finite number.
    """
    return -(-Fraction(repr(float(threshold))) * length // 200)
