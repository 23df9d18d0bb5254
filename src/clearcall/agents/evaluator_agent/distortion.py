"""How the arguments that a model handed over differ from the true ones, and what the score would have been."""

from dataclasses import dataclass, replace
from enum import StrEnum

from rapidfuzz.distance import Indel

from clearcall.agents.evaluator_agent.tool import Arguments
from clearcall.scoring import Rules, Turn, evaluate_turn
from clearcall.scoring.spoken import words_of


class Kind(StrEnum):
    """What became of a text on its way into the call, the worse the later."""

    EXACT = "exact"
    ALTERED = "altered"  # words, marks or case changed, added or moved, most words the true ones
    TRUNCATED = "truncated"  # a part of the true text and nothing else
    SWAPPED = "swapped"  # the call's other text in its place
    INVENTED = "invented"  # most words are not the true text's
    MISSING = "missing"  # no call, or one that cannot be read


_WORSE = tuple(Kind)


class Change(StrEnum):
    """What a distorted call would have done to a fragment's flag."""

    NONE = "none"
    HIDDEN = "hidden"  # flagged, and would not have been
    FALSE = "false"  # not flagged, and would have been
    UNSCORED = "unscored"  # nothing was handed over that could be scored


@dataclass(frozen=True, slots=True)
class Score:
    """A fragment's similarity, 0 to 100, and whether it is below the threshold."""

    ss: float
    flagged: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """One call beside what it should have been.

    ``true`` is the score that the rules give the true arguments, ``given`` what they give those handed over: ``None``
    where there are none, or no words in them.
    """

    fragment: Kind
    source: Kind
    arguments: Arguments | None
    true: Score
    given: Score | None

    @property
    def kind(self) -> Kind:
        """The worse of both texts'."""
        return max(self.fragment, self.source, key=_WORSE.index)

    @property
    def change(self) -> Change:
        """What it would have done to the flag."""
        if self.given is None:
            return Change.UNSCORED
        if self.given.flagged == self.true.flagged:
            return Change.NONE
        return Change.HIDDEN if self.true.flagged else Change.FALSE


def compared(true: Arguments, score: Score, given: Arguments | None, rules: Rules) -> Compared:
    """The call against the true arguments and their score; flags are by similarity alone, in the rules' mode."""
    if given is None:
        return Compared(Kind.MISSING, Kind.MISSING, None, score, None)
    return Compared(
        kind_of(given.fragment, true.fragment, true.source),
        kind_of(given.source, true.source, true.fragment),
        given,
        score,
        similarity(given, rules),
    )


def kind_of(given: str, true: str, other: str) -> Kind:
    """How ``given`` differs from ``true``, where ``other`` is the call's other text."""
    if given == true:
        return Kind.EXACT
    if given == other:
        return Kind.SWAPPED
    if given in true:
        return Kind.TRUNCATED
    wrote, wanted = _forms(given), _forms(true)
    common = (len(wrote) + len(wanted) - Indel.distance(wrote, wanted)) // 2
    return Kind.ALTERED if 2 * common >= len(wrote) else Kind.INVENTED


def similarity(arguments: Arguments, rules: Rules) -> Score | None:
    """What the function itself says: the fragment's best match in the source; ``None`` for one without words."""
    whole = replace(rules, words=max(1, len(arguments.fragment.split())), overlap=0, guards=frozenset())
    turn = Turn(0, arguments.source)
    fragments = evaluate_turn(arguments.fragment, 0, [turn], rules=whole).fragments
    return Score(fragments[0].score, fragments[0].below_threshold) if fragments else None


def _forms(text: str) -> list[str]:
    return [word.form for word in words_of(text)]
