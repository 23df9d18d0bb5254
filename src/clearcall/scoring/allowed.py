"""The last check of a cleaned turn, whatever wrote it: is it an allowed reduction of what was said?"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import Indel

from clearcall.scoring.alignment import compare
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.reduction import Reduction, reductions
from clearcall.scoring.spoken import Word, words_of
from clearcall.scoring.types import Flag, SpanOffsets

NAME = "reduction"

_MOST_STATES = 250_000
"""Words times words that are searched for the least differences; longer turns are aligned without the policy."""


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
    if accepts(reduction, [word.form for word in written]):
        return []
    size = (len(reduction.words) + 1) * (len(written) + 1)
    differences = _least(reduction, written) if size <= _MOST_STATES else _aligned(reduction, written)
    found = (
        _flag(raw, cleaned, _place(reduction.words, start, end), _place(written, cleaned_start, cleaned_end))
        for start, end, cleaned_start, cleaned_end in differences
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


_State = tuple[int, int]


def _least(reduction: Reduction, written: Sequence[Word]) -> Iterator[_Difference]:
    """The fewest words gone or added that explain ``written``: a shortest path with steps of no and of one word."""
    start, goal = (0, 0), (len(reduction.words), len(written))
    cost: dict[_State, int] = {start: 0}
    came: dict[_State, _State] = {}
    waiting = deque([(0, start)])
    while waiting:
        spent, state = waiting.popleft()
        if state == goal:
            break
        if spent > cost[state]:
            continue
        for step, target in _steps(reduction, written, state):
            total = spent + step
            if total < cost.get(target, total + 1):
                cost[target], came[target] = total, state
                waiting.append((total, target)) if step else waiting.appendleft((total, target))
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return _joined(_different(reduction, path[::-1]))


def _steps(reduction: Reduction, written: Sequence[Word], state: _State) -> Iterator[tuple[int, _State]]:
    at, to = state
    has_word, has_written = at < len(reduction.words), to < len(written)
    if has_written:
        yield 1, (at, to + 1)
    if has_word:
        yield 1, (at + 1, to)
    for end in reduction.exits[at]:
        yield 0, (end, to)
    if has_word and has_written and reduction.words[at].form == written[to].form:
        yield 0, (at + 1, to + 1)


def _different(reduction: Reduction, path: Sequence[_State]) -> Iterator[_Difference]:
    for (at, to), (next_at, next_to) in pairwise(path):
        if next_to == to and next_at not in reduction.exits[at]:
            yield _Difference(at, next_at, to, to)
        elif next_at == at:
            yield _Difference(at, at, to, next_to)


def _joined(differences: Iterable[_Difference]) -> Iterator[_Difference]:
    """Differences that touch as one."""
    last: _Difference | None = None
    for each in differences:
        if last and last.end == each.start and last.cleaned_end == each.cleaned_start:
            last = _Difference(last.start, each.end, last.cleaned_start, each.cleaned_end)
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


def _aligned(reduction: Reduction, written: Sequence[Word]) -> Iterator[_Difference]:
    """The differences of the longest common subsequence; a stretch gone that may go is none, unless nothing else is."""
    opcodes = Indel.opcodes([word.form for word in reduction.words], [word.form for word in written])
    found = list(
        _joined(
            _Difference(code.src_start, code.src_end, code.dest_start, code.dest_end)
            for code in opcodes
            if code.tag != "equal"
        )
    )
    unexplained = [each for each in found if each.cleaned_start < each.cleaned_end or not _may_go(reduction, each)]
    yield from unexplained or found


def _may_go(reduction: Reduction, difference: _Difference) -> bool:
    return accepts(reduction.part(difference.start, difference.end), ())


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
