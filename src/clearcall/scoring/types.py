"""The values that scoring takes and gives."""

from dataclasses import dataclass
from typing import Literal

from clearcall.scoring.lexicon import ENGLISH, Lexicon

Mode = Literal["paper", "strict"]
"""``paper`` is Algorithm 1 alone; ``strict`` adds normalisation and guards."""

SpanOffsets = tuple[int, int]
"""Half-open character offsets in a text as given."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said in one stretch, or its cleaned form."""

    speaker: int
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """The best window of a source for a fragment: ``score`` 0 to 100, ``start`` and ``end`` in the source as given.

    ``exact`` is false where ``decide`` proved the score below the threshold without finding it;
    ``score`` is then an upper bound and the window a good one, not the best.
    """

    score: float
    start: int
    end: int
    exact: bool = True


GUARDS = frozenset(
    {"number", "negation", "capitalised_new_word", "new_words", "coverage", "order", "speaker_margin"},
)
"""The names of all guards."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How text is scored. The defaults are the paper's Section 3.3 with the strict mode on top.

    ``threshold`` is on the scale of the score (0 to 100); below it a fragment is flagged.
    ``words`` and ``overlap`` shape the fragments; ``source_chars`` is how much of the same speaker's
    speech around a chunk counts as its source. ``guards`` are the names of those that run, in strict mode only;
    ``lexicon`` says what is a filler there.
    """

    mode: Mode = "strict"
    threshold: float = 80.0
    words: int = 20
    overlap: int = 3
    source_chars: int = 2400
    guards: frozenset[str] = GUARDS
    lexicon: Lexicon = ENGLISH


@dataclass(frozen=True, slots=True)
class Flag:
    """What a guard saw: its name, a sentence such as "said 140, wrote 104", and the places in both texts.

    ``cleaned`` is in the cleaned turn, ``source`` in the own source turn, both as given.
    """

    guard: str
    reason: str
    cleaned: SpanOffsets | None = None
    source: SpanOffsets | None = None


@dataclass(frozen=True, slots=True)
class Fragment:
    """One scored fragment of a cleaned turn.

    ``turn`` is the index of its cleaned turn, ``start`` and ``end`` its place there. ``score`` is the similarity
    of the mode asked for, ``paper_score`` that of Algorithm 1 alone. ``source_text`` is the best window as it was
    said, ``source_start`` and ``source_end`` its place in the same speaker's source (turns joined by a space).
    """

    turn: int
    speaker: int
    text: str
    start: int
    end: int
    score: float
    paper_score: float
    source_text: str
    source_start: int
    source_end: int
    below_threshold: bool
    flags: tuple[Flag, ...] = ()

    @property
    def flagged(self) -> bool:
        """Below the threshold, or a guard fired."""
        return self.below_threshold or bool(self.flags)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The fragments of the cleaned turns in order, and the flags that belong to no single fragment."""

    fragments: tuple[Fragment, ...]
    flags: tuple[Flag, ...] = ()

    @property
    def flagged(self) -> bool:
        """Whether anything was flagged."""
        return bool(self.flags) or any(fragment.flagged for fragment in self.fragments)
