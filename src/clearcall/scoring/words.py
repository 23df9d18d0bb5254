"""One written word to its pieces: the form that is compared, its place, and what kind of thing it is."""

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from clearcall.scoring.lexicon import word_set
from clearcall.scoring.number_words import MONTHS


class Kind(IntEnum):
    """What a piece is, as far as normalisation cares."""

    WORD = 0
    LETTER = 1
    NUMBER = 2
    CURRENCY = 3
    CUT = 4


class Piece(NamedTuple):
    """A compared form with its half-open place in the text. ``loose`` marks written numbers that speech joins."""

    form: str
    start: int
    end: int
    kind: Kind = Kind.WORD
    loose: bool = False


_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
)
_MARKS += "\u0e31-\u0e4e\u0eb1-\u0ece\u135d-\u135f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\ufe20-\ufe2f"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"[^\W\d_{_CJK}]"
_PIECE = re.compile(
    r"(?P<iso>(?<!\d)[12]\d{3}-\d{2}-\d{2}(?!\d))"
    r"|(?P<date>(?<!\d)\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})(?!\d))"
    r"|(?P<time>(?<!\d)\d{1,2}:\d{2}(?!\d))"
    r"|(?P<half>(?<!\d)1/2(?!\d)|\u00bd)"
    r"|(?P<dotted>\d+(?:\.\d+){2,})"
    r"|(?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)(?P<ordinal>st|nd|rd|th|'?s(?![^\W\d_]))?"
    rf"|(?P<word>{_LETTER}(?:{_LETTER}|[{_MARKS}])*(?:'(?:{_LETTER}|[{_MARKS}])+)*)(?P<cut>-(?=\W*$))?"
    rf"|(?P<cjk>[{_CJK}])"
    r"|(?P<symbol>[$£€¥%&@¢])"
)
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\uff07`\u00b4", "''''''")
_SYMBOLS = {
    "$": "dollars",
    "£": "pounds",
    "€": "euros",
    "¥": "yen",
    "%": "percent",
    "&": "and",
    "@": "at",
    "¢": "cents",
}
_CURRENCIES = frozenset("$£€¥")
_PRONOUNS = word_set("i you he she it we they that this there here what who where how when why")
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}
_OF_PRONOUNS = {"'s": "is", "'d": "would"}
_WHOLE: dict[str, tuple[str, ...]] = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "gotta": ("got", "to"),
    "kinda": ("kind", "of"),
    "sorta": ("sort", "of"),
    "dunno": ("do", "not", "know"),
    "lemme": ("let", "me"),
    "gimme": ("give", "me"),
    "alright": ("all", "right"),
    "im": ("i", "am"),
    "ive": ("i", "have"),
    "thats": ("that", "is"),
    "ok": ("okay",),
    "kay": ("okay",),
    "cause": ("because",),
    "cuz": ("because",),
    "em": ("them",),
    "mr": ("mister",),
    "mrs": ("missus",),
    "dr": ("doctor",),
    "dollar": ("dollars",),
    "cent": ("cents",),
    "pound": ("pounds",),
    "penny": ("pence",),
    "euro": ("euros",),
    "an": ("a",),
} | {word + "nt": (word, "not") for word in word_set("do did does is was were are have has had would could should")}
_CACHED_LENGTH = 48


def pieces(word: str) -> tuple[Piece, ...]:
    """The pieces of a run without white space, with places relative to it; punctuation alone gives none."""
    return _cached(word) if len(word) <= _CACHED_LENGTH else _pieces(word)


def _pieces(word: str) -> tuple[Piece, ...]:
    plain = word.translate(_APOSTROPHES)
    if plain.isascii():
        return tuple(_read(plain.casefold(), None))
    folded, places = _fold(plain)
    return tuple(_read(folded, places))


_cached = lru_cache(maxsize=32768)(_pieces)


def _fold(word: str) -> tuple[str, list[int]]:
    """NFKC and case folding, with the place in ``word`` of each character of the result and of its end."""
    normal = _compose(word)
    if len(normal) == len(word):
        return normal, list(range(len(word) + 1))
    folded, places, start = [], [], 0
    while start < len(word):
        end = start + 1
        while end < len(word) and (unicodedata.combining(word[end]) or "\u1160" <= word[end] <= "\u11ff"):
            end += 1
        part = _compose(word[start:end])
        folded.append(part)
        places.extend([start] * len(part))
        start = end
    return "".join(folded), [*places, len(word)]


def _compose(text: str) -> str:
    return "\u00bd".join(unicodedata.normalize("NFKC", part).casefold() for part in text.split("\u00bd"))


def _read(word: str, places: list[int] | None) -> list[Piece]:
    found: list[Piece] = []
    for match in _PIECE.finditer(word):
        start, end = match.span()
        if places is not None:
            start, end = places[start], max(places[end], places[start] + 1)
        group = match.lastgroup
        if group == "word":
            found.extend(_word_forms(match["word"], start, end))
        elif group == "cut":
            found.append(Piece(match["word"], start, end, Kind.CUT))
        elif group == "symbol":
            symbol = match["symbol"]
            kind = Kind.CURRENCY if symbol in _CURRENCIES else Kind.WORD
            found.append(Piece(_SYMBOLS[symbol], start, end, kind))
        elif group == "cjk":
            found.append(Piece(match["cjk"], start, end))
        else:
            found.extend(Piece(form, start, end, kind, loose) for form, kind, loose in _number_forms(match))
    return found


def _word_forms(word: str, start: int, end: int) -> list[Piece]:
    if len(word) == 1:
        return [Piece(word, start, end, Kind.LETTER)]
    forms = _WHOLE.get(word)
    if forms is None and "'" in word:
        forms = _contraction(word)
    if forms is None:
        return [Piece(word.replace("'", ""), start, end)]
    if len(forms) == 1:
        return [Piece(forms[0], start, end)]
    split = min(end, start + max(1, min(len(forms[0]), len(word) - 2)))
    return [Piece(forms[0], start, split), *(Piece(form, min(split, end - 1), end) for form in forms[1:])]


def _contraction(word: str) -> tuple[str, ...] | None:
    if word.endswith("n't"):
        return (word[:-3] or "ai", "not")
    base, _, ending = word.rpartition("'")
    if f"'{ending}" in _ENDINGS and base:
        return (base.replace("'", ""), _ENDINGS[f"'{ending}"])
    if base in _PRONOUNS and f"'{ending}" in _OF_PRONOUNS:
        return (base, _OF_PRONOUNS[f"'{ending}"])
    return None


def _number_forms(match: re.Match[str]) -> list[tuple[str, Kind, bool]]:
    text = _ascii_digits(match.group())
    if match["half"]:
        return [("half", Kind.WORD, False)]
    if match["iso"] or match["date"]:
        return _date_forms(text)
    if match["time"]:
        hour, _, minutes = text.partition(":")
        return [(str(int(hour)) + ("" if minutes == "00" else minutes), Kind.NUMBER, True)]
    if match["dotted"]:
        return [(text.replace(".", ""), Kind.NUMBER, True)]
    ordinal = match["ordinal"] or ""
    number = text.removesuffix(ordinal).replace(",", "").removesuffix(".00")
    return [(number + ordinal.lstrip("'"), Kind.NUMBER, False)]


def _date_forms(text: str) -> list[tuple[str, Kind, bool]]:
    """A numeric date as speech has it: year-month-day, or month/day/year where the first can be a month."""
    if "-" in text:
        year, month, day = text.split("-")
    else:
        month, day, year = text.split("/")
        if int(month) > len(MONTHS):
            month, day = day, month
    if not 1 <= int(month) <= len(MONTHS):
        return [(month + day + year, Kind.NUMBER, True)]
    return [(MONTHS[int(month) - 1], Kind.WORD, False), (str(int(day)), Kind.NUMBER, False), (year, Kind.NUMBER, False)]


def _ascii_digits(number: str) -> str:
    if number.isascii():
        return number
    return "".join(str(unicodedata.digit(char)) if char.isdecimal() else char for char in number)
