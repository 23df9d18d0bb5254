"""The faithful-edit benchmark: which way of scoring tells a faithful cleaned text from one that changes what was said.

From real calls with a human's fluent text, labelled pairs: faithful edits that must not be flagged, and unfaithful
ones, one kind at a time, that must be. ``run`` is deterministic for one folder of calls and one seed.
"""

from clearcall.scoring.bench.calls import NoCalls, Pair, read_calls
from clearcall.scoring.bench.run import Result, Row, labelled_pairs, run
from clearcall.scoring.bench.view import render

__all__ = ["NoCalls", "Pair", "Result", "Row", "labelled_pairs", "read_calls", "render", "run"]
