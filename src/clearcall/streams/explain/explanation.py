"""What is shown of a comparison, whatever the format."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from clearcall.scoring import Evaluation, Flag, Fragment, Rules, Turn, evaluate
from clearcall.scoring.sources import spoken_by
from clearcall.streams.explain.diff import Piece, difference, window_difference
from clearcall.streams.explain.inputs import Transcript


@dataclass(frozen=True, slots=True)
class ShownFragment:
    """A fragment, its difference from its best window, and the spans (in the fragment) that guards point at."""

    number: int
    fragment: Fragment
    difference: tuple[Piece, ...]
    marked: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A cleaned turn beside the turn that it was made from."""

    speaker: int
    difference: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A scored comparison; ``turns`` is empty where the two texts do not have the same turns."""

    rules: Rules
    names: Mapping[int, str]
    evaluation: Evaluation
    fragments: tuple[ShownFragment, ...]
    turns: tuple[ShownTurn, ...]

    @property
    def flagged_count(self) -> int:
        """Fragments below the threshold or with a guard."""
        return sum(fragment.flagged for fragment in self.evaluation.fragments)

    @property
    def mean(self) -> float | None:
        """Mean similarity of the fragments, ``None`` where there are none."""
        return fmean(item.score for item in self.evaluation.fragments) if self.evaluation.fragments else None

    @property
    def lowest(self) -> float | None:
        """Lowest similarity of the fragments, ``None`` where there are none."""
        return min((item.score for item in self.evaluation.fragments), default=None)

    def name(self, speaker: int) -> str:
        """Who speaks, or nothing where the texts do not say."""
        return self.names.get(speaker, f"speaker {speaker}") if self.names else ""


def title(flag: Flag) -> str:
    """The guard's name for a person."""
    return flag.guard.replace("_", " ")


def explain_texts(source: Transcript, cleaned: Transcript, rules: Rules) -> Explanation:
    """Score ``cleaned`` against ``source`` and find the differences."""
    evaluation = evaluate(
        cleaned.turns,
        source.turns,
        mode=rules.mode,
        threshold=rules.threshold,
        words=rules.words,
        overlap=rules.overlap,
    )
    said = {turn.speaker: spoken_by(turn.speaker, source.turns).text for turn in cleaned.turns}
    shown = [
        ShownFragment(
            number,
            item,
            window_difference(said[item.speaker], item.source_start, item.source_end, item.text),
            _marked(item),
        )
        for number, item in enumerate(evaluation.fragments, 1)
    ]
    names = {**cleaned.names, **source.names}
    return Explanation(rules, names, evaluation, tuple(shown), _turns(source.turns, cleaned.turns))


def _marked(item: Fragment) -> tuple[tuple[int, int], ...]:
    spans = [flag.cleaned for flag in item.flags if flag.cleaned is not None]
    inside = [(max(start, item.start) - item.start, min(end, item.end) - item.start) for start, end in spans]
    return tuple(sorted({(start, end) for start, end in inside if start < end}))


def _turns(source: tuple[Turn, ...], cleaned: tuple[Turn, ...]) -> tuple[ShownTurn, ...]:
    if [turn.speaker for turn in source] != [turn.speaker for turn in cleaned]:
        return ()
    pairs = zip(source, cleaned, strict=True)
    return tuple(ShownTurn(wrote.speaker, difference(said.text, wrote.text)) for said, wrote in pairs)
