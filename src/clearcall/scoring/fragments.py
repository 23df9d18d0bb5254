"""Cutting a cleaned text into the units that are scored."""

import re
from functools import lru_cache

from clearcall.scoring.spaces import parted
from clearcall.scoring.types import SpanOffsets

LONGEST_WORD = 100
"""Characters of an unbroken run that count as one word, so that text without spaces is still cut."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{LONGEST_WORD}}}")
_ASCII_WORD = re.compile(rf"\S{{1,{LONGEST_WORD}}}")


@lru_cache(maxsize=64)
def _check(words: int, overlap: int) -> int:
    if words < 1 or not 0 <= overlap < words:
        raise ValueError(f"fragments need words >= 1 and 0 <= overlap < words, got {words} and {overlap}")
    return words - overlap


def fragment_spans(text: str, words: int = 20, overlap: int = 3) -> list[SpanOffsets]:
    """The places of the fragments in ``text``, in order, together covering every word.

    A word is a run of at most ``LONGEST_WORD`` characters without white space or control characters; a Chinese or
    Japanese character is a word of its own. The last fragment ends with the text and may be shorter; a text without
    words gives none.

    Raises:
        ValueError: where ``overlap`` is negative or not less than ``words``.
    """
    step = _check(words, overlap)
    pattern = _ASCII_WORD if text.isascii() else _WORD
    spans = [match.span() for match in pattern.finditer(parted(text))]
    if not spans:
        return []
    if len(spans) <= words:
        return [(spans[0][0], spans[-1][1])]
    last = len(spans) - overlap
    return [(spans[i][0], spans[min(i + words, len(spans)) - 1][1]) for i in range(0, last, step)]
