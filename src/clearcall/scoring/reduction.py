"""What may be left out of a turn: the policy for models, the decision of the rules, and the check of an answer.

A cleaned turn is an allowed reduction of what was said where it has the same words in the same order, and every
stretch that is missing is made of stretches that may be left out: fillers, words broken off, words and phrases said
twice, and phrases taken up again. Numbers, negations, spelled letters and names known by their capital always stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from clearcall.scoring.fillers import fillers
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.restarts import restarts
from clearcall.scoring.spoken import Word, is_character, words_of


class Why(StrEnum):
    """Why a stretch may be left out."""

    FILLER = "filler"
    REPEAT = "repeat"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Skip:
    """The half-open range of words that may be left out; where ``sure`` the rules leave it out."""

    start: int
    end: int
    why: Why
    sure: bool


@dataclass(frozen=True)
class Reduction:
    """A turn's words, and the stretches of them that may be left out, by their start."""

    words: tuple[Word, ...]
    skips: tuple[Skip, ...]

    @cached_property
    def plain(self) -> str:
        """The turn as its words with their punctuation, one space between, none before a glued word."""
        return written(self.words)

    @cached_property
    def exits(self) -> tuple[tuple[int, ...], ...]:
        """For each word, and for the end, the places from where the turn may go on without it."""
        found: list[set[int]] = [set() for _ in range(len(self.words) + 1)]
        for skip in self.skips:
            found[skip.start].add(skip.end)
        return tuple(tuple(sorted(ends)) for ends in found)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The indexes of the words that the rules keep."""
        gone = {index for skip in self.skips if skip.sure for index in range(skip.start, skip.end)}
        return tuple(index for index in range(len(self.words)) if index not in gone)

    def part(self, start: int, end: int) -> "Reduction":
        """The words ``start`` to ``end`` (half-open) with the skips that lie within."""
        inside = (skip for skip in self.skips if start <= skip.start and skip.end <= end)
        moved = (Skip(skip.start - start, skip.end - start, skip.why, skip.sure) for skip in inside)
        return Reduction(_opened(self.words[start:end]), tuple(moved))

    def without_sure(self) -> "Reduction":
        """What is left where the rules have decided, with the skips that a model may still take."""
        new = {old: index for index, old in enumerate(self.kept)}
        at = [new.get(index, -1) for index in range(len(self.words))]
        skips = tuple(
            Skip(at[skip.start], at[skip.end - 1] + 1, skip.why, sure=False)
            for skip in self.skips
            if at[skip.start] >= 0 and at[skip.end - 1] >= 0
        )
        return Reduction(_opened(self.words[index] for index in self.kept), skips)


def _opened(words: Iterable[Word]) -> tuple[Word, ...]:
    """The words as a turn of their own: nothing stands before the first."""
    return tuple(word if index else word._replace(glued=False) for index, word in enumerate(words))


def written(words: Sequence[Word]) -> str:
    """The words with their punctuation, one space between, none before a glued word."""
    parts = []
    for index, word in enumerate(words):
        parts.append("" if not index or word.glued else " ")
        parts.append(word.before + word.text + word.after)
    return "".join(parts)


def reductions(text: str, lexicon: Lexicon = ENGLISH) -> Reduction:
    """What may be left out of ``text``, a turn as it was said; never raises."""
    return _cached(text, lexicon) if len(text) <= _CACHED_LENGTH else _reductions(text, lexicon)


def _reductions(text: str, lexicon: Lexicon) -> Reduction:
    words = words_of(text)
    skips = sorted(
        {skip for skip in _skips(words, lexicon) if not _parts_glue(words, skip)},
        key=lambda skip: (skip.start, skip.end, not skip.sure),
    )
    return Reduction(words, tuple(skips))


_CACHED_LENGTH = 2000
_cached = lru_cache(maxsize=512)(_reductions)


def _skips(words: Sequence[Word], lexicon: Lexicon) -> Iterator[Skip]:
    gone: set[int] = set()
    for start, end, sure in fillers(words, lexicon):
        yield Skip(start, end, Why.FILLER, sure)
        gone.update(range(start, end) if sure else ())
    left = [index for index in range(len(words)) if index not in gone]
    for start, end, sure, repeat in restarts(words, left):
        yield Skip(start, end, Why.REPEAT if repeat else Why.RESTART, sure)


def _parts_glue(words: Sequence[Word], skip: Skip) -> bool:
    """Leaving it out could join what stands on both sides to one word."""
    return skip.end < len(words) and words[skip.end].glued and not is_character(words[skip.end].form)


def clean_words(text: str, lexicon: Lexicon = ENGLISH) -> tuple[Word, ...]:
    """The words of ``text`` that the rules keep: without what is surely a filler, a repeat or a false start.

    A sentence whose last word goes ends with the one before.
    """
    reduction = reductions(text, lexicon)
    stays = frozenset(reduction.kept)
    kept: list[Word] = []
    for index, word in enumerate(reduction.words):
        if index in stays:
            kept.append(word)
        elif kept and word.ends_sentence and not kept[-1].ends_sentence:
            kept[-1] = kept[-1]._replace(after=kept[-1].after.rstrip(",;:") + word.after.lstrip(",;:"))
    return tuple(kept)
