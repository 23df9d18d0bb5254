"""A long turn in pieces, each short enough for one grammar, cut where no stretch that may be left out is torn."""

from collections.abc import Iterator

from clearcall.agents.consultant.grammar import MOST_WORDS
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.reduction import Reduction, reductions

_REACH = 12
"""Words on each side of a cut within which it must not change what may be left out."""


def split(text: str, most_words: int = MOST_WORDS, lexicon: Lexicon = ENGLISH) -> Iterator[tuple[str, str]]:
    """The pieces of ``text``, each with what stood before it: a space, or nothing (before the first, in some scripts).

    A cut stands at the end of a sentence where one is near, else where the pieces allow no more to be left out than
    the whole does, and between neither numbers nor spelled letters; only where there is no such place anywhere.

    Raises:
        ValueError: ``most_words`` is less than 1.
    """
    if most_words < 1:
        raise ValueError(f"a piece needs at least one word, not {most_words}")
    whole = reductions(text, lexicon)
    start = 0
    while start < len(whole.words) or not start:
        end = _cut(text, whole, start, most_words, lexicon)
        glue = " " if start and not whole.words[start].glued else ""
        yield glue, text[_place(text, whole, start) : _place(text, whole, end)].strip()
        start = end
        if start >= len(whole.words):
            return


def _place(text: str, whole: Reduction, at: int) -> int:
    """Where the text of a word begins, the marks before it included."""
    if not at:
        return 0
    return len(text) if at >= len(whole.words) else whole.words[at].start - len(whole.words[at].before)


def _cut(text: str, whole: Reduction, start: int, most_words: int, lexicon: Lexicon) -> int:
    last = start + most_words
    if last >= len(whole.words):
        return len(whole.words)
    near = range(last, start + most_words // 2, -1)
    clean = [at for at in near if _is_clean(whole, at)]
    sentences = [at for at in clean if whole.words[at - 1].ends_sentence]
    return next((at for at in [*sentences, *clean] if _keeps_policy(text, whole, at, lexicon)), last)


def _is_clean(whole: Reduction, at: int) -> bool:
    if whole.words[at].glued or (whole.words[at - 1].guard and whole.words[at].guard):
        return False
    return not any(skip.start < at < skip.end for skip in whole.skips)


def _keeps_policy(text: str, whole: Reduction, at: int, lexicon: Lexicon) -> bool:
    """Whether the words on each side of a cut, read alone, may lose no more than they may together."""
    for first, last in ((max(0, at - _REACH), at), (at, min(len(whole.words), at + _REACH))):
        alone = reductions(text[_place(text, whole, first) : _place(text, whole, last)], lexicon)
        allowed = {(skip.start, skip.end) for skip in whole.part(first, last).skips}
        if not {(skip.start, skip.end) for skip in alone.skips} <= allowed:
            return False
    return True
