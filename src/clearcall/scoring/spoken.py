"""The words of a turn as they were said, with their places, and those that are never left out."""

import re
from typing import NamedTuple

from clearcall.scoring.guards.negation import NEGATIONS
from clearcall.scoring.lexicon import ENGLISH, word_set
from clearcall.scoring.numbers import is_number
from clearcall.scoring.spaces import parted
from clearcall.scoring.words import Kind, pieces

NUMBER, LETTER, NEGATION, NAME = "number", "letter", "negation", "name"

_NEGATIONS = NEGATIONS | word_set("hardly barely")
_NUMBER_LIKE = word_set("double triple half quarter dozen point dot plus minus percent")

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARK = (
    ".,;:!?…\"'\u2018\u2019\u201c\u201d«»()\\[\\]{}<>¿¡\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f「」『』\uff08\uff09"
)
_TOKEN = re.compile(rf"[{_MARK}]*(?:[{_CJK}]|[^\s{_CJK}]+)[{_MARK}]*|[{_MARK}]+")
_CHARACTER = re.compile(f"[{_CJK}]")
_EDGES = re.compile(rf"([{_MARK}]*)(.*?)([{_MARK}]*)", re.DOTALL)
_CUT = re.compile(r"[\w']+-")
_DASHES = re.compile(r"[-\u2010-\u2015]+")
_ENDS = re.compile(r"[.?!…\u3002\uff01\uff1f]")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\uff07`\u00b4", "''''''")
_I = re.compile(r"i(?:'\w+)?")
_AMONG_DIGITS = ENGLISH.sounds | {word for phrase in ENGLISH.fillers for word in phrase} - {"oh"}


class Word(NamedTuple):
    """A word without the punctuation at its edges, ``before`` and ``after``; ``start`` and ``end`` are its place.

    ``form`` is how it is compared. ``glued`` words follow the one before without white space. ``guard`` says why
    the word is never left out, empty where it may be. Punctuation that stands alone is no word: it goes with the
    word before it.
    """

    text: str
    start: int
    end: int
    before: str
    after: str
    form: str
    glued: bool
    guard: str

    @property
    def ends_sentence(self) -> bool:
        """It is written with a mark that ends a sentence."""
        return _ENDS.search(self.after) is not None

    @property
    def cut(self) -> bool:
        """Broken off by the speaker, as recognisers write it: "appoint-"."""
        return _CUT.fullmatch(self.form) is not None


def form_of(text: str) -> str:
    """A word without punctuation at its edges in the form that is compared."""
    return text.translate(_APOSTROPHES).casefold()


def is_character(form: str) -> bool:
    """Whether the word is one character of a script that writes no spaces."""
    return _CHARACTER.fullmatch(form) is not None


def words_of(text: str) -> tuple[Word, ...]:
    """The words of a turn, in order; control characters part words as white space does."""
    found: list[Word] = []
    cased = text != text.upper()
    last = 0
    for match in _TOKEN.finditer(parted(text)):
        before, core, after = _edges(match.group())
        glued = bool(found) and match.start() == last
        last = match.end()
        if not core or _DASHES.fullmatch(core):
            if found and core == "":
                found[-1] = found[-1]._replace(after=found[-1].after + before + after)
            continue
        form = form_of(core)
        start = match.start() + len(before)
        guard = _guard(form) or (NAME if cased and _is_name(core, form, found) else "")
        found.append(Word(core, start, start + len(core), before, after, form, glued, guard))
    return _with_neighbours(found)


def _edges(token: str) -> tuple[str, str, str]:
    match = _EDGES.fullmatch(token)
    assert match is not None
    return match[1], match[2], match[3]


def _guard(form: str) -> str:
    if form in _NEGATIONS or form.endswith("n't"):
        return NEGATION
    read = pieces(form)
    if any(is_number(piece) or piece.kind is Kind.CURRENCY for piece in read) or form in _NUMBER_LIKE:
        return NUMBER
    if any(piece.form == "not" for piece in read):
        return NEGATION
    if len(read) == 1 and read[0].kind is Kind.LETTER and form not in ("i", "a"):
        return LETTER
    return ""


def _is_name(core: str, form: str, before: list[Word]) -> bool:
    """A capital within a sentence."""
    if not core[0].isupper() or _I.fullmatch(form) or not before:
        return False
    return not before[-1].ends_sentence


def _with_neighbours(words: list[Word]) -> tuple[Word, ...]:
    """Guards that depend on what stands beside: "oh" among numbers, "i" and "a" in a spelled word."""
    for index in [*range(len(words)), *range(len(words) - 1, -1, -1)]:
        word = words[index]
        if word.guard or word.form not in ("oh", "o", "i", "a"):
            continue
        passed = _AMONG_DIGITS if word.form in ("oh", "o") else ENGLISH.sounds
        wanted = NUMBER if word.form in ("oh", "o") else LETTER
        beside = (_beside(words, index, -1, passed), _beside(words, index, 1, passed))
        if any(other is not None and other.guard == wanted for other in beside):
            words[index] = word._replace(guard=wanted)
    return tuple(words)


def _beside(words: list[Word], index: int, step: int, passed: frozenset[str]) -> Word | None:
    """The nearest word in a direction that is not broken off, beyond some: "five uh oh uh one" has three digits."""
    index += step
    while 0 <= index < len(words):
        if words[index].form not in passed and not words[index].cut:
            return words[index]
        index += step
    return None
