"""A text in the form that is compared, with the way back to the text as given.

Both sides of a comparison are normalised alike: NFKC, case folded, punctuation and fillers out, contractions written
out, numbers, spelled letters and immediate repeats in one form. Every word keeps its place in the text as given, so
each score can be shown there.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.number_words import REPEATS, UNITS, WORDS
from clearcall.scoring.numbers import is_number, join_numbers
from clearcall.scoring.numerals import Number
from clearcall.scoring.spaces import parted
from clearcall.scoring.types import SpanOffsets
from clearcall.scoring.words import Kind, Piece, pieces

_RUN = re.compile(r"\S+")
_LONGEST_REPEAT = 4
_CACHED_LENGTH = 1000
"""Characters up to which a text is remembered: a turn is read again as a neighbour of the next ones."""
_new = tuple.__new__  # a third of the time of calling the class, once for every word
_ZEROS = frozenset({"oh", "o"})
_NO_NUMBERS: Mapping[int, Number] = {}


@dataclass(frozen=True, slots=True)
class Normalised:
    """``text`` is the forms joined by spaces; ``starts`` and ``ends`` are their places in the text as given.

    ``places`` are the forms' starts in ``text``; ``numbers`` the forms that are numbers, by index.
    """

    text: str
    forms: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    places: tuple[int, ...]
    numbers: Mapping[int, Number] = field(default_factory=dict)

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of forms that lie, at least in part, in ``start`` to ``end`` of the text as given."""
        return bisect_right(self.ends, start), bisect_left(self.starts, end)

    def slice(self, first: int, last: int) -> str:
        """The forms ``first`` to ``last`` (half-open) joined by spaces."""
        if first >= last:
            return ""
        return self.text[self.places[first] : self.places[last - 1] + len(self.forms[last - 1])]

    def original(self, start: int, end: int) -> SpanOffsets:
        """The place in the text as given of ``start`` to ``end`` in ``text``, in whole words."""
        if not self.forms or start >= end:
            return (0, 0)
        first = max(0, bisect_right(self.places, start) - 1)
        if start >= self.places[first] + len(self.forms[first]) and first + 1 < len(self.forms):
            first += 1
        last = max(first, bisect_left(self.places, end) - 1)
        return self.starts[first], self.ends[last]


def normalise(text: str, lexicon: Lexicon = ENGLISH) -> Normalised:
    """The normalised form of ``text``; never raises."""
    if len(text) > _CACHED_LENGTH:
        return _normalise(text, lexicon)
    return _cached(text, lexicon)


def _normalise(text: str, lexicon: Lexicon) -> Normalised:
    read = _without_fillers(_read(text), lexicon)
    numbers = _NO_NUMBERS
    if any(piece.form in _ZEROS for piece in read):
        read = _with_zeros(read, lexicon)
    if any(piece.kind is Kind.LETTER for piece in read):
        read = _join_letters(read)
    if any(piece.kind is Kind.NUMBER or piece.form in WORDS for piece in read):
        read, numbers = join_numbers(read)
    kept = _without_repeats(read)
    if len(kept) != len(read):
        renumbered = {old: new for new, old in enumerate(kept)}
        numbers = {renumbered[index]: number for index, number in numbers.items() if index in renumbered}
        read = [read[index] for index in kept]
    forms = tuple([piece.form for piece in read])
    places, at = [], 0
    for form in forms:
        places.append(at)
        at += len(form) + 1
    starts, ends = tuple([piece.start for piece in read]), tuple([piece.end for piece in read])
    return Normalised(" ".join(forms), forms, starts, ends, tuple(places), numbers)


_cached = lru_cache(maxsize=512)(_normalise)


def _read(text: str) -> list[Piece]:
    read: list[Piece] = []
    for match in _RUN.finditer(parted(text)):
        at = match.start()
        for form, start, end, kind, loose in pieces(match.group()):
            read.append(_new(Piece, (form, start + at, end + at, kind, loose)))
    return read


def _without_fillers(read: list[Piece], lexicon: Lexicon) -> list[Piece]:
    """Without sounds, fillers and words cut off, but with every "oh"; an answer made of sounds becomes one word."""
    kept: list[Piece] = []
    phrases, sounds = lexicon.phrases, lexicon.sounds
    at, count = 0, len(read)
    while at < count:
        piece = read[at]
        form = piece.form
        if form in _ZEROS and piece.kind is not Kind.CUT:
            kept.append(piece)
        elif form in phrases and (length := _phrase(read, at, phrases[form])):
            at += length
            continue
        elif form not in sounds:
            if piece.kind is not Kind.CUT:
                kept.append(piece)
        elif length := _phrase(read, at, lexicon.answers):
            answer = "".join([part.form for part in read[at : at + length]])
            kept.append(Piece(answer, piece.start, read[at + length - 1].end))
            at += length
            continue
        at += 1
    return kept


def _phrase(read: Sequence[Piece], at: int, phrases: Iterable[tuple[str, ...]]) -> int:
    for phrase in phrases:
        if tuple([piece.form for piece in read[at : at + len(phrase)]]) == phrase:
            return len(phrase)
    return 0


def _with_zeros(read: Sequence[Piece], lexicon: Lexicon) -> list[Piece]:
    """An "oh" among digits is a zero; any other is what the lexicon says."""
    kept: list[Piece] = []
    for at, piece in enumerate(read):
        if piece.form not in _ZEROS:
            kept.append(piece)
        elif _is_zero(read, at, kept):
            kept.append(piece._replace(form="zero", kind=Kind.WORD))
        elif (piece.form,) not in lexicon.fillers:
            kept.append(piece)
    return kept


def _is_zero(read: Sequence[Piece], at: int, kept: Sequence[Piece]) -> bool:
    if kept and kept[-1].form in REPEATS and read[at].start - kept[-1].end == 1:
        return True
    following = [piece for piece in read[at + 1 : at + 4] if piece.form not in _ZEROS]
    if not following or not (is_number(following[0]) or following[0].form in REPEATS):
        return False
    if kept and is_number(kept[-1]):
        return True
    return len(following) > 1 and all(_is_digit(piece) for piece in following[:2])


def _is_digit(piece: Piece) -> bool:
    return piece.form in UNITS or piece.form in REPEATS or (piece.kind is Kind.NUMBER and len(piece.form) == 1)


def _join_letters(read: list[Piece]) -> list[Piece]:
    """Letters spelled one by one as one word: "d f w", "D.F.W." and "DFW" are "dfw"."""
    joined: list[Piece] = []
    at = 0
    while at < len(read):
        end = at
        while end < len(read) and read[end].kind is Kind.LETTER:
            end += 1
        run = read[at:end]
        if len(run) > 1 and any(piece.form not in ("i", "a") for piece in run):
            form = "".join(piece.form for piece in run)
            joined.append(Piece(form, run[0].start, run[-1].end))
            at = end
        elif run:
            joined.extend(run)
            at = end
        else:
            joined.append(read[at])
            at += 1
    return joined


def _without_repeats(read: Sequence[Piece]) -> list[int]:
    """The indices of the pieces without immediate repeats of one to four words ("in the in the"); the last one stays.

    A repeated number is kept: "five five" is another number than "five".
    """
    forms: list[str] = []
    kept: list[int] = []
    for index, piece in enumerate(read):
        forms.append(piece.form)
        kept.append(index)
        if piece.kind is Kind.NUMBER:
            continue
        for size in range(1, _LONGEST_REPEAT + 1):
            if len(forms) < 2 * size:
                break
            if forms[-1] == forms[-1 - size] and forms[-size:] == forms[-2 * size : -size]:
                if any(read[place].kind is Kind.NUMBER for place in kept[-size:]):
                    continue
                del forms[-2 * size : -size]
                del kept[-2 * size : -size]
                break
    return kept
