"""Two texts: the matcher's paths beside plain difflib, and the whole evaluation; ``N*`` before a text repeats it."""

import re

from fuzz_parts import parts, text_of

from clearcall.scoring import Turn, best_window, evaluate, reference
from clearcall.scoring.matcher import MatchPath, available_paths

WORDS = (
    "\n====\n",
    "3*",
    "64*",
    "150*",
    "e\u0301",
    "\U0001f469\u200d",
    "\ufb01",
    "\u0130",
    "one hundred and ",
    "not ",
    "$1,000.50",
)

_PATHS: tuple[MatchPath, ...] = ("kernel", "library")
_REPEATED = re.compile(rb"([0-9]{1,3})\*(.*)", re.DOTALL)
_MOST_CHARS = 150  # the oracle's time grows with the third power


def check(data: bytes) -> None:
    """Score and offset are those of plain difflib, and no texts make an evaluation fail."""
    fragment, source = (text_of(_repeated(part))[:_MOST_CHARS] for part in parts(data, 2))
    best = reference.best_window(fragment, source)
    for path in _PATHS:
        assert path not in available_paths() or best_window(fragment, source, path=path) == best, path
    evaluation = evaluate([Turn(0, fragment)], [Turn(0, source)])
    assert all(0 <= found.score <= 100 for found in evaluation.fragments)


def _repeated(part: bytes) -> bytes:
    found = _REPEATED.fullmatch(part)
    return int(found[1]) * found[2] if found else part
