"""The last check of a cleaned turn, whatever wrote it: is it an allowed reduction of what was said?"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clearcall.scoring.alignment import compare
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.moves import How, Move, moves
from clearcall.scoring.reduction import Reduction, reductions
from clearcall.scoring.spoken import Word, words_of
from clearcall.scoring.types import Flag, SpanOffsets

NAME = "reduction"


class _Difference(NamedTuple):
    """Half-open ranges of words: those of the turn that are gone, and those written in their place."""

    start: int
    end: int
    cleaned_start: int
    cleaned_end: int


def is_allowed(raw: str, cleaned: str, lexicon: Lexicon = ENGLISH) -> bool:
    """Whether ``cleaned`` says what ``raw`` says, word by word, but for stretches that may be left out."""
    return not findings(raw, cleaned, lexicon)


def findings(raw: str, cleaned: str, lexicon: Lexicon = ENGLISH) -> list[Flag]:
    """Where ``cleaned`` is no allowed reduction of ``raw``, a turn as it was said; empty where it is one.

    A stretch that is written otherwise but compares equal ("forty six", "46"; "gonna", "going to") is no finding.
    Each finding has its place in both texts: a point where one of them has nothing.
    """
    reduction = reductions(raw, lexicon)
    written = words_of(cleaned)
    forms = [word.form for word in written]
    if accepts(reduction, forms):
        return []
    found = (
        _flag(raw, cleaned, _place(reduction.words, start, end), _place(written, cleaned_start, cleaned_end))
        for start, end, cleaned_start, cleaned_end in _joined(moves(reduction, forms))
    )
    return [flag for flag in found if not _compares_equal(flag, raw, cleaned, lexicon)]


def accepts(reduction: Reduction, forms: Iterable[str]) -> bool:
    """Whether words of these forms are the turn's, in order, without some stretches that may be left out."""
    places = _onwards(reduction, {0})
    for form in forms:
        places = _onwards(
            reduction,
            {at + 1 for at in places if at < len(reduction.words) and reduction.words[at].form == form},
        )
        if not places:
            return False
    return len(reduction.words) in places


def _onwards(reduction: Reduction, places: set[int]) -> set[int]:
    """The places and those reached from them by leaving something out."""
    reached, waiting = set(places), list(places)
    while waiting:
        for end in reduction.exits[waiting.pop()]:
            if end not in reached:
                reached.add(end)
                waiting.append(end)
    return reached


def _joined(taken: Iterable[Move]) -> Iterator[_Difference]:
    """The losses and additions, those that touch as one."""
    last: _Difference | None = None
    for how, *places in taken:
        if how not in (How.LOST, How.ADDED):
            continue
        each = _Difference(*places)
        if last and last.end == each.start and last.cleaned_end == each.cleaned_start:
            last = _Difference(last.start, each.end, last.cleaned_start, each.cleaned_end)
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


def _flag(raw: str, cleaned: str, source: SpanOffsets, place: SpanOffsets) -> Flag:
    heard, wrote = raw[slice(*source)] or "nothing there", cleaned[slice(*place)] or "nothing there"
    return Flag(NAME, f"said {heard}, wrote {wrote}", place, source)


def _compares_equal(flag: Flag, raw: str, cleaned: str, lexicon: Lexicon) -> bool:
    assert flag.source is not None
    assert flag.cleaned is not None
    heard, wrote = raw[slice(*flag.source)], cleaned[slice(*flag.cleaned)]
    if not heard or not wrote:
        return False
    comparison = compare(wrote, heard, lexicon)
    return bool(comparison.cleaned.forms) and not comparison.blocks


def _place(words: Sequence[Word], start: int, end: int) -> SpanOffsets:
    """The place of the words; a point where they are none."""
    if start < end:
        return words[start].start, words[end - 1].end
    at = words[start - 1].end if start else 0
    return at, at
