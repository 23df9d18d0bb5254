"""What a ratio cannot see. One guard a file: a name, a reason with places in both texts, and an off switch.

A guard is a function of a ``Comparison`` (a cleaned turn beside its source) that yields flags; the speaker margin alone
looks at a fragment's scores. Which ones run is ``Rules.guards``.
"""

from collections.abc import Callable, Iterator

from clearcall.scoring.alignment import Comparison
from clearcall.scoring.guards import coverage as _coverage
from clearcall.scoring.guards import negation as _negation
from clearcall.scoring.guards import new_words as _new_words
from clearcall.scoring.guards import number as _number
from clearcall.scoring.guards import order as _order
from clearcall.scoring.guards import speaker as _speaker
from clearcall.scoring.guards.speaker import MARGIN, speaker_margin
from clearcall.scoring.types import Flag

Guard = Callable[[Comparison], Iterator[Flag]]

FRAGMENT_GUARDS: dict[str, Guard] = {
    _number.NAME: _number.number,
    _negation.NAME: _negation.negation,
    _new_words.CAPITALISED: _new_words.capitalised_new_word,
    _new_words.NEW_WORDS: _new_words.new_words,
}
"""Guards whose flags belong to the fragments at their place."""

TURN_GUARDS: dict[str, Guard] = {_coverage.NAME: _coverage.coverage, _order.NAME: _order.order}
"""Guards whose flags belong to the turn as a whole."""

SPEAKER_MARGIN = _speaker.NAME

__all__ = ["FRAGMENT_GUARDS", "MARGIN", "SPEAKER_MARGIN", "TURN_GUARDS", "Guard", "speaker_margin"]
