"""What a speaker takes back: words said twice, and phrases broken off and taken up again.

Both are looked for in what is left without fillers ("in the uh in the"), each find shortens what is left, and what is
said last stays. A phrase counts as broken off where it ends in a word that cannot end one: "look at a look at the
mountains". Nothing guarded (numbers, negations, names, spelled letters) is ever part of a find.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clearcall.scoring.lexicon import word_set
from clearcall.scoring.spoken import LETTER, NUMBER, Word


class Restart(NamedTuple):
    """The half-open range of words taken back. One that is not ``sure`` is for a model to decide."""

    start: int
    end: int
    sure: bool
    repeat: bool


_LONGEST = 6
_LONGEST_RESTART = 3

_SUBJECTS = word_set("i we they he she it you that this there who what")
_NOMINATIVES = word_set("i we they he she")
_DETERMINERS = word_set("a an the my your our their his its")
_AUXILIARIES = word_set(
    "is was are were am be been have has had do does did can could will would should may might must"
)
_PREPOSITIONS = word_set("in on at of to for from with by about into as like than")
_ADVERBS = word_set("just really very actually probably also even only")
_LINKS = word_set("and but or so because if when where which how")
_JOINS = word_set("and but so because")
_OTHERS = word_set("all anything something ever either once little whatever then some any every")
_CLOSED = _OTHERS | _SUBJECTS | _DETERMINERS | _AUXILIARIES | _PREPOSITIONS | _ADVERBS | _LINKS
_CANNOT_END = _DETERMINERS | _AUXILIARIES | _ADVERBS
_END_CLAUSES = word_set("do does did")
_CANNOT_FOLLOW_SUBJECT = (
    _NOMINATIVES | _DETERMINERS | word_set("there it you in on at from when where what how if because who")
)
_DOUBLED = word_set("that had so really very over")
"""Said twice rightly or on purpose: left to the model, except where a filler stands between."""
_PAIRS = word_set("and or")
"""Between words said twice on purpose: "years and years", "over and over"."""
_FEWEST_LETTERS, _SURE_LETTERS = 2, 4
"""Letters that a word broken off has where it may be one ("un until"), and where it surely is ("appoint appointment").
Before a number the fewest do."""


def restarts(words: Sequence[Word], kept: Sequence[int]) -> Iterator[Restart]:
    """What is taken back in the words whose indexes are ``kept``, the sure finds first.

    A range covers the fillers within it, so leaving it out leaves them out too.
    """
    left = list(kept)
    at = len(left) - 1
    while at >= 0:
        find = _sure(words, left, at)
        if find is None:
            at -= 1
            continue
        length, repeat = find
        yield Restart(left[at], left[at + length - 1] + 1, sure=True, repeat=repeat)
        del left[at : at + length]
        at = min(at + _LONGEST, len(left)) - 1
    for at in range(len(left)):
        yield from _possible(words, left, at)


def _sure(words: Sequence[Word], left: Sequence[int], at: int) -> tuple[int, bool] | None:
    """How many words from ``at`` are taken back, and whether they are a repeat; ``None`` where none are."""
    for length in range(min(_LONGEST, len(left) - at - 1), 0, -1):
        if not _begins_anew(words, left, at, length) or not _may_be_taken_back(words, left[at : at + length]):
            continue
        if _is_repeat(words, left, at, length) and not _is_doubled(words, left, at, length):
            return length, True
        if _is_restart(words, left, at, length):
            return length, False
    return None


def _begins_anew(words: Sequence[Word], left: Sequence[int], at: int, length: int) -> bool:
    """Whether the word after the stretch can take up its first; one word may be given up for any other."""
    return length == 1 or _stem(words[left[at]].form) == _stem(words[left[at + length]].form)


def _may_be_taken_back(words: Sequence[Word], indexes: Sequence[int]) -> bool:
    """Nothing of it is guarded, and no sentence ends in it."""
    return not any(words[index].guard or words[index].ends_sentence for index in indexes)


def _forms(words: Sequence[Word], indexes: Sequence[int]) -> list[str]:
    return [words[index].form for index in indexes]


def _is_repeat(words: Sequence[Word], left: Sequence[int], at: int, length: int) -> bool:
    middle, end = at + length, at + 2 * length
    return end <= len(left) and _forms(words, left[at:middle]) == _forms(words, left[middle:end])


def _is_doubled(words: Sequence[Word], left: Sequence[int], at: int, length: int) -> bool:
    """Said twice on purpose: "very very", "years and years and"."""
    if left[at + length] > left[at + length - 1] + 1:
        return False
    first, last = words[left[at]].form, words[left[at + length - 1]].form
    if length > 1:
        return last in _PAIRS or (first in _PAIRS and at > 0 and words[left[at - 1]].form == last)
    return first in _DOUBLED or (first not in _CLOSED and "'" not in first)


def _stem(form: str) -> str:
    """What stands before the apostrophe: "they've" takes up "they"."""
    return form.partition("'")[0]


def _is_restart(words: Sequence[Word], left: Sequence[int], at: int, length: int) -> bool:
    middle = at + length
    if words[left[middle]].guard == LETTER or length > _LONGEST_RESTART:
        return False
    broken, again = _forms(words, left[at:middle]), _forms(words, left[middle : middle + length])
    if words[left[middle]].guard == NUMBER:
        return length == 1 and _is_broken_word(broken[0], again[0], _FEWEST_LETTERS)
    if length > 1:
        return _is_taken_up(broken, again)
    parted = left[middle] > left[at] + 1
    return _is_replaced(broken[0], again[0]) or (parted and broken[0] in _JOINS and again[0] in _JOINS)


def _is_taken_up(broken: Sequence[str], again: Sequence[str]) -> bool:
    """A phrase that cannot end so, and begins anew: "look at a look at the", "i just i", "it is it's"."""
    if _stem(broken[0]) != _stem(again[0]) or broken[-1] not in _CANNOT_END:
        return False
    if len(broken) > 2:  # noqa: PLR2004 - longer ones need more than a first word in common
        return len(again) > 1 and _stem(broken[1]) == _stem(again[1])
    if broken[-1] in _AUXILIARIES:
        return broken[0] in _SUBJECTS - {"that"} and broken[-1] not in _END_CLAUSES
    return broken[0] in _SUBJECTS | _PREPOSITIONS | _AUXILIARIES or "'" in broken[0]


def _is_replaced(broken: str, again: str) -> bool:
    """One word given up for the next: "it it's", "i where are they", "appoint appointment"."""
    if broken != again and _stem(again) == _stem(broken) and _stem(broken) in _SUBJECTS:
        return True
    if broken in _NOMINATIVES:
        return _stem(again) in _CANNOT_FOLLOW_SUBJECT
    if broken in _DETERMINERS:
        return again in _DETERMINERS or (_stem(again) in _NOMINATIVES and (broken, again) != ("a", "i"))
    return _is_broken_word(broken, again, _SURE_LETTERS)


def _is_broken_word(broken: str, again: str, letters: int) -> bool:
    """The beginning of the next word, of at least so many letters: "thr three", "appoint appointment"."""
    return len(broken) >= letters and broken not in _CLOSED and again != broken and again.startswith(broken)


def _possible(words: Sequence[Word], left: Sequence[int], at: int) -> Iterator[Restart]:
    """What may be taken back, for a model to decide."""
    for length in range(1, min(_LONGEST, len(left) - at - 1) + 1):
        if words[left[at + length - 1]].guard:
            return
        if not _begins_anew(words, left, at, length):
            continue
        repeat = _is_repeat(words, left, at, length)
        forms = _forms(words, left[at : at + 2])
        if repeat or (length == 1 and _is_broken_word(forms[0], forms[1], _FEWEST_LETTERS)):
            yield Restart(left[at], left[at + length - 1] + 1, sure=False, repeat=repeat)
