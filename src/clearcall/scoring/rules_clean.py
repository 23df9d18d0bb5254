"""Cleaning without a model: fillers, repeats and false starts out, simple case and punctuation in."""

import re
import unicodedata

from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.normalise import normalise
from clearcall.scoring.reduction import clean_words, written

_I = re.compile(r"(?<![\w'\u2019.&-])i(?=$|[\s,;:!?…]|\.(?:\s|$)|['\u2019](?:m|ve|d|ll)\b)")
_SPELLED = re.compile(r"(?:(?<=^\w)|(?<=\s\w))\s(?=\w(?:\s|$))")
_DAYS = re.compile(
    r"(?<![\w-])(?:mon|tues|wednes|thurs|fri|satur|sun)days?(?![\w-])"
    r"|(?<![\w-])(?:january|february|april|june|july|september|october|november|december)(?![\w-])"
)
_SENTENCE_START = re.compile(r"(?:^|[.?!…]\s+)\W*(\w)")
_SENTENCE_END = re.compile(r"[.?!…]\s+")
_CLOSING = r"[\s\"')\]}>»\u2019\u201d]*$"
_END = re.compile(rf"[.?!…,;:\u3002\uff01\uff1f\u061f]{_CLOSING}")
_OPEN_END = re.compile(rf"[,;:]{_CLOSING}")
_QUESTION = re.compile(
    r"(?:what|where|who|why|how|which|whose)(?:'s|'re|'d|'ll)?\s+(?:is|are|was|were|do|does|did|can|could|would|will|"
    r"should|have|has|kind|time|about|many|much|long|far|often)\b"
    r"|(?:do|does|did|is|are|was|were|can|could|would|will|should|have|has)(?:n't)?\s+(?:i|you|he|she|it|we|they|there|"
    r"this|that|your|the)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\w")


def rule_clean(text: str, lexicon: Lexicon = ENGLISH) -> str:
    """The text without fillers, repeats and false starts, cased and closed with a full stop or question mark.

    Numbers, spelled letters, negations and names known by their capital are never left out. Nothing is left of a text
    that was fillers alone. Never raises.
    """
    cleaned = written(clean_words(text, lexicon))
    if not _says_something(cleaned, lexicon):
        return ""
    cleaned = _cased(cleaned)
    if _END.search(cleaned):
        return _OPEN_END.sub(".", cleaned)
    last = _SENTENCE_END.split(cleaned)[-1]
    return cleaned + ("?" if _QUESTION.match(last) else ".")


def is_nothing_to_clean(text: str, lexicon: Lexicon = ENGLISH) -> bool:
    """Whether there is nothing in the text to hand to a model: it is empty, or fillers and punctuation alone."""
    return not _says_something(written(clean_words(text, lexicon)), lexicon)


def _says_something(cleaned: str, lexicon: Lexicon) -> bool:
    return bool(_LETTER.search(cleaned) or normalise(cleaned, lexicon).forms or any(map(_is_pictograph, cleaned)))


def _is_pictograph(character: str) -> bool:
    """An emoji or the like, other than what stands for bytes that could not be read."""
    return unicodedata.category(character) == "So" and character != "\ufffd"


def _cased(text: str) -> str:
    spelled = {match.start() for match in _SPELLED.finditer(text)}
    text = _I.sub(lambda match: "i" if _is_spelled(match, spelled) else "I", text)
    text = _DAYS.sub(lambda match: match.group().capitalize(), text)
    return _SENTENCE_START.sub(lambda match: match.group()[:-1] + _capital(match[1]), text)


def _capital(letter: str) -> str:
    """The capital of a letter that has one of its own length."""
    return letter.upper() if len(letter.upper()) == 1 else letter


def _is_spelled(match: re.Match[str], spaces: set[int]) -> bool:
    """Whether an "i" stands between single letters, as a spelled one does."""
    return match.start() - 1 in spaces and match.end() in spaces
