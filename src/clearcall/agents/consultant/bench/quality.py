"""What an answer did to a turn, counted by plain means: words as they are written, none of the rules of reduction.

Where clearcall's own check is counted too (``not_allowed``), it has a figure of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import Indel

from clearcall.scoring.allowed import findings
from clearcall.scoring.guards.negation import NEGATIONS
from clearcall.scoring.spoken import NUMBER, Word, words_of
from clearcall.scoring.types import SpanOffsets

_MARKS = ",.?!"


@dataclass(slots=True)
class Hits:
    """Right ones, wrong ones and missed ones of something that is looked for."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 1 where nothing was."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """The share of what was there that was found; 1 where nothing was."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1 where there was nothing at all."""
        total = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / total if total else 1.0

    def add(self, found: set[tuple[int, str]], there: set[tuple[int, str]]) -> None:
        """Count one text."""
        self.right += len(found & there)
        self.wrong += len(found - there)
        self.missed += len(there - found)


@dataclass(slots=True)
class Quality:
    """Counts over turns. ``unanswered`` ones have no usable answer and are in no other count.

    ``foreign`` turns have a word, or one word more often, than was said; ``numbers`` and ``negations`` turns have
    other ones than were said; ``not_allowed`` turns are no allowed reduction of what was said.
    """

    turns: int = 0
    unanswered: int = 0
    foreign: int = 0
    numbers: int = 0
    negations: int = 0
    not_allowed: int = 0
    gold_words: int = 0
    gold_kept: int = 0
    deletions: Hits = field(default_factory=Hits)
    marks: Hits = field(default_factory=Hits)

    @property
    def coverage(self) -> float:
        """The share of gold words that are kept."""
        return self.gold_kept / self.gold_words if self.gold_words else 1.0

    def add(self, said: str, cleaned: str | None, gold: str, punctuated: str) -> None:
        """Count one turn; ``cleaned`` is ``None`` where there is no usable answer."""
        if cleaned is None:
            self.unanswered += 1
            return
        self.turns += 1
        heard, wrote, wanted = words_of(said), words_of(cleaned), words_of(gold)
        changed = findings(said, cleaned)
        self.not_allowed += bool(changed)
        self.foreign += _has_more(_forms(wrote), _forms(heard))
        self.negations += _negations(heard) != _negations(wrote)
        self.numbers += any(_has_number(heard, flag.source) or _has_number(wrote, flag.cleaned) for flag in changed)
        self.gold_words += len(wanted)
        self.gold_kept += len(_common(_forms(wanted), _forms(wrote)))
        self.deletions.add(_gone(heard, wrote), _gone(heard, wanted))
        if punctuated:
            self.marks.add(*_marks(wrote, words_of(punctuated)))


def _forms(words: Sequence[Word]) -> list[str]:
    return [word.form for word in words]


def _has_more(wrote: list[str], heard: list[str]) -> bool:
    return any(wrote.count(form) > heard.count(form) for form in set(wrote))


def _negations(words: Sequence[Word]) -> list[str]:
    return [word.form for word in words if word.form in NEGATIONS or word.form.endswith("n't")]


def _has_number(words: Sequence[Word], place: SpanOffsets | None) -> bool:
    """Whether a number stands at the place; the same number written otherwise is no finding and has none."""
    return place is not None and any(
        word.guard == NUMBER and word.start < place[1] and place[0] < word.end for word in words
    )


def _common(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """The pairs of places where both have the same word, in order, as many as can be."""
    return [
        (code.src_start + offset, code.dest_start + offset)
        for code in Indel.opcodes(left, right)
        if code.tag == "equal"
        for offset in range(code.src_end - code.src_start)
    ]


def _gone(heard: Sequence[Word], kept: Sequence[Word]) -> set[tuple[int, str]]:
    """The words heard that ``kept`` lacks, aligned from the end: of "the the" the first, whichever was meant."""
    said = _forms(heard)
    left = [said[at] for at, _ in _common(said, _forms(kept))]
    gone = set()
    for index in range(len(said) - 1, -1, -1):
        if left and said[index] == left[-1]:
            left.pop()
        else:
            gone.add((index, ""))
    return gone


def _marks(wrote: Sequence[Word], writer: Sequence[Word]) -> tuple[set[tuple[int, str]], set[tuple[int, str]]]:
    """The marks after each word of both, at the writer's places; after a word that he lacks a mark is never right."""
    places = {mine: his for his, mine in _common(_forms(writer), _forms(wrote))}
    found = {
        (places.get(index, -1 - index), mark)
        for index, word in enumerate(wrote)
        for mark in word.after[:1]
        if mark in _MARKS
    }
    there = {(index, mark) for index, word in enumerate(writer) for mark in word.after[:1] if mark in _MARKS}
    return found, there
