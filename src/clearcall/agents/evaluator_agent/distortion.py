"""How the arguments that a model handed over differ from the true ones, and what the score would have been."""

from dataclasses import dataclass, replace

from rapidfuzz.distance import Indel

from clearcall.agents.evaluator_agent.tool import Arguments
from clearcall.schemas import Distortion, FlagChange
from clearcall.scoring import Rules, Turn, evaluate_turn
from clearcall.scoring.spoken import words_of

_WORSE = tuple(Distortion)


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

    fragment: Distortion
    source: Distortion
    arguments: Arguments | None
    true: Score
    given: Score | None

    @property
    def kind(self) -> Distortion:
        """The worse of both texts'."""
        return max(self.fragment, self.source, key=_WORSE.index)

    @property
    def change(self) -> FlagChange:
        """What it would have done to the flag."""
        if self.given is None:
            return FlagChange.UNSCORED
        if self.given.flagged == self.true.flagged:
            return FlagChange.NONE
        return FlagChange.HIDDEN if self.true.flagged else FlagChange.FALSE


def compared(true: Arguments, score: Score, given: Arguments | None, rules: Rules) -> Compared:
    """The call against the true arguments and their score; flags are by similarity alone, in the rules' mode."""
    if given is None:
        return Compared(Distortion.MISSING, Distortion.MISSING, None, score, None)
    return Compared(
        kind_of(given.fragment, true.fragment, true.source),
        kind_of(given.source, true.source, true.fragment),
        given,
        score,
        similarity(given, rules),
    )


def kind_of(given: str, true: str, other: str) -> Distortion:
    """How ``given`` differs from ``true``, where ``other`` is the call's other text."""
    if given == true:
        return Distortion.EXACT
    if given == other:
        return Distortion.SWAPPED
    if given in true:
        return Distortion.TRUNCATED
    wrote, wanted = _forms(given), _forms(true)
    common = (len(wrote) + len(wanted) - Indel.distance(wrote, wanted)) // 2
    return Distortion.ALTERED if 2 * common >= len(wrote) else Distortion.INVENTED


def similarity(arguments: Arguments, rules: Rules) -> Score | None:
    """What the function itself says: the fragment's best match in the source; ``None`` for one without words."""
    whole = replace(rules, words=max(1, len(arguments.fragment.split())), overlap=0, guards=frozenset())
    turn = Turn(0, arguments.source)
    fragments = evaluate_turn(arguments.fragment, 0, [turn], rules=whole).fragments
    return Score(fragments[0].score, fragments[0].below_threshold) if fragments else None


def _forms(text: str) -> list[str]:
    return [word.form for word in words_of(text)]
