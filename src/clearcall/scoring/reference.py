"""The oracle: the score's definition in plain difflib, slow and obvious. Tests hold every other path against it."""

from difflib import SequenceMatcher

from clearcall.scoring.types import Match


def best_window(fragment: str, source: str) -> Match:
    """The best window of ``source`` for ``fragment``, by the definition in :mod:`clearcall.scoring.matcher`."""
    if not fragment:
        return Match(score=100.0, start=0, end=0)
    if not source:
        return Match(score=0.0, start=0, end=0)
    width = min(len(fragment), len(source))
    best = Match(score=-1.0, start=0, end=width)
    for start in range(len(source) - width + 1):
        window = source[start : start + width]
        score = 100 * SequenceMatcher(None, window, fragment, autojunk=False).ratio()
        if score > best.score:
            best = Match(score=score, start=start, end=start + width)
    return best
