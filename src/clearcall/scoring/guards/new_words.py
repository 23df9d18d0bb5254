"""Words that were not said: a capitalised one (a name), or two and more of any kind."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Container, Iterator
from itertools import islice

from clearcall.scoring.alignment import Block, Comparison
from clearcall.scoring.guards.negation import NEGATIONS
from clearcall.scoring.guards.order import moved
from clearcall.scoring.lexicon import word_set
from clearcall.scoring.types import Flag

CAPITALISED = "capitalised_new_word"
NEW_WORDS = "new_words"

_TOLERATED = 1
"""One new word a stretch is taken for a repair of grammar or of the recogniser."""

_STRETCH = 20
"""Words within which new ones count together: a fragment of the paper's size."""

_MOST_HEARD = 300
"""Characters of what was said that a reason tells."""

_SENTENCE_END = re.compile(r"[.?!:\u2026\n\"\u201c]\W*\Z")
_OPENING = re.compile(r"\s*")
_AUXILIARIES = word_set("ai is has are have had would will was were am be been do does did")
_COMMON = _AUXILIARIES | word_set(
    """
    i you he she it we they me him her us them my your his its our their this that these those a the and but or
    so if because as of in on at to for with from by about into over after before than then when where who what
    which why how can could should may might must shall not no yes yeah okay all any some there here one just
    also only very too let well oh please thanks thank hello hi bye sure right now see like mean know think
    guess got get go going want
    """
)
_STEM = 4
_AUXILIARY_STEMS = frozenset(word[:_STEM] for word in _AUXILIARIES if len(word) >= _STEM)
_MOST_TWINS = 100
"""Words said with the same beginning that are looked at for one that is written."""


def capitalised_new_word(comparison: Comparison) -> Iterator[Flag]:
    """Flags a capitalised word that was not said; at the start of a sentence only where it is no common word."""
    for block in comparison.blocks:
        said = set(comparison.source.forms[block.source_from : block.source_to])
        for index in range(block.cleaned_from, block.cleaned_to):
            form = comparison.cleaned.forms[index]
            if form in said or index in comparison.cleaned.numbers or not _is_capitalised(comparison, index):
                continue
            source = comparison.source_span(block.source_from, block.source_to)
            heard = comparison.source_text[slice(*source)][:_MOST_HEARD] or "nothing there"
            wrote = comparison.cleaned_words(index, index + 1)
            yield Flag(CAPITALISED, f"said {heard}, wrote {wrote}", comparison.cleaned_span(index, index + 1), source)


def new_words(comparison: Comparison) -> Iterator[Flag]:
    """Flags two or more words that were not said, within a stretch of twenty."""
    elsewhere = moved(comparison)
    fresh = [index for block in comparison.blocks for index in _fresh(comparison, block, elsewhere)]
    group: list[int] = []
    for index in [*fresh, -1]:
        if group and (index < 0 or index - group[0] >= _STRETCH):
            if len(group) > _TOLERATED:
                yield _flag(comparison, group)
            group = []
        group.append(index)


def _flag(comparison: Comparison, group: list[int]) -> Flag:
    words = [comparison.cleaned.forms[index] for index in group]
    blocks = comparison.blocks
    first = bisect_right(blocks, group[0], key=lambda block: block.cleaned_from) - 1
    last = bisect_right(blocks, group[-1], key=lambda block: block.cleaned_to)
    return Flag(
        NEW_WORDS,
        f"wrote {len(group)} words that were not said: {', '.join(words)}",
        comparison.cleaned_span(group[0], group[-1] + 1),
        comparison.source_span(blocks[first].source_from, blocks[last].source_to),
    )


def _fresh(comparison: Comparison, block: Block, elsewhere: Container[int]) -> list[int]:
    """The words of a block that stand for nothing that was said there."""
    unused: dict[str, deque[str]] = {}
    for said in comparison.source.forms[block.source_from : block.source_to]:
        unused.setdefault("" if said in _AUXILIARIES else said[:_STEM], deque()).append(said)
    fresh = []
    for index in range(block.cleaned_from, block.cleaned_to):
        form = comparison.cleaned.forms[index]
        if index in comparison.cleaned.numbers or index in elsewhere or form in NEGATIONS:
            continue
        if not any(_take_twin(form, unused.get(stem, deque())) for stem in _stems(form)):
            fresh.append(index)
    return fresh


def _stems(form: str) -> Iterator[str]:
    """Under which beginnings the forms of a word are found; the auxiliaries are under one of their own."""
    if form in _AUXILIARIES or form[:_STEM] in _AUXILIARY_STEMS:
        yield ""
    yield form[:_STEM]


def _take_twin(form: str, said: deque[str]) -> bool:
    """Whether one of the words is a form of this one; it is taken out of them."""
    twin = next((word for word in islice(said, _MOST_TWINS) if _is_form_of(form, word)), None)
    if twin is None:
        return False
    said.remove(twin)
    return True


def _is_form_of(word: str, other: str) -> bool:
    """Whether the words are forms of one ("order", "ordered"; "is", "was")."""
    if word in _AUXILIARIES and other in _AUXILIARIES:
        return True
    shorter = min(len(word), len(other))
    return shorter >= _STEM and word[:_STEM] == other[:_STEM] and word[: shorter - 1] == other[: shorter - 1]


def _is_capitalised(comparison: Comparison, index: int) -> bool:
    start = comparison.cleaned.starts[index]
    if not comparison.cleaned_text[start].isupper() or comparison.cleaned.forms[index] == "i":
        return False
    before = comparison.cleaned_text[max(0, start - 8) : start]
    opening = _OPENING.match(comparison.cleaned_text)
    first = (opening is not None and start <= opening.end()) or _SENTENCE_END.search(before) is not None
    return not (first and comparison.cleaned.forms[index] in _COMMON)
