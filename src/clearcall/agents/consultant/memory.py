"""What was said lately in each call: context for the model, source for the evaluator.

A cache and nothing more: a chunk whose neighbours are forgotten is cleaned and scored with less context, never lost.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from clearcall.agents.consultant.pieces import count_words
from clearcall.schemas import Chunk, ContextTurn

CALLS = 2000
"""Calls remembered, the least recently heard forgotten first: about 20 MB at the default source length."""

TURNS = 200
"""Most turns remembered of a call, however short."""


class CallMemory:
    """The last turns of the last calls. ``chars`` is how much is kept of a call, for each of two speakers."""

    def __init__(self, chars: int, calls: int = CALLS) -> None:
        self._chars = 2 * chars
        self._calls = calls
        self._turns: OrderedDict[str, dict[int, ContextTurn]] = OrderedDict()

    def hear(self, chunks: Iterable[Chunk]) -> tuple[ContextTurn, ...]:
        """Remember chunks of one call (again does no harm); what was remembered and these, by chunk id."""
        chunks = list(chunks)
        call_id = chunks[0].call_id
        turns = dict(self._turns.get(call_id, {}))
        turns.update({c.chunk_id: ContextTurn(chunk_id=c.chunk_id, speaker=c.speaker, text=c.text) for c in chunks})
        ordered = tuple(turns[chunk_id] for chunk_id in sorted(turns))
        self._turns[call_id] = {turn.chunk_id: turn for turn in _nearest(ordered[::-1], self._chars, tail=True)[:TURNS]}
        self._turns.move_to_end(call_id)
        while len(self._turns) > self._calls:
            self._turns.popitem(last=False)
        return ordered


def around(turns: Sequence[ContextTurn], chunk: Chunk, chars: int) -> tuple[ContextTurn, ...]:
    """The chunk's neighbours among ``turns`` (by chunk id), the chunk itself left out.

    Of each speaker ``chars`` characters at most, the nearest ones, half of them from each side where both sides
    have enough; a turn that crosses the bound is cut at its far end.
    """
    at = bisect_left(turns, chunk.chunk_id, key=lambda turn: turn.chunk_id)
    own = at < len(turns) and turns[at].chunk_id == chunk.chunk_id
    before = _by_speaker(reversed(turns[:at]), chars)
    after = _by_speaker(turns[at + own :], chars)
    found: list[ContextTurn] = []
    for speaker in before.keys() | after.keys():
        earlier_turns, later_turns = before.get(speaker, []), after.get(speaker, [])
        following = _nearest(later_turns, max(chars // 2, chars - _length(earlier_turns)), tail=False)
        found += _nearest(earlier_turns, chars - _length(following), tail=True)
        found += following
    return tuple(sorted(found, key=lambda turn: turn.chunk_id))


def earlier(turns: Sequence[ContextTurn], chunk: Chunk, words: int) -> tuple[ContextTurn, ...]:
    """The turns right before the chunk, ``words`` words at most, whole turns only."""
    found: list[ContextTurn] = []
    left = words
    for turn in reversed([turn for turn in turns if turn.chunk_id < chunk.chunk_id]):
        left -= count_words(turn.text)
        if left < 0:
            break
        found.append(turn)
    return tuple(reversed(found))


def _by_speaker(turns: Iterable[ContextTurn], chars: int) -> dict[int, list[ContextTurn]]:
    """Each speaker's turns, nearest first, until they hold ``chars``."""
    found: dict[int, list[ContextTurn]] = {}
    held: dict[int, int] = {}
    for turn in turns:
        have = held.get(turn.speaker, 0)
        if have < chars:
            found.setdefault(turn.speaker, []).append(turn)
            held[turn.speaker] = have + len(turn.text)
    return found


def _length(turns: Iterable[ContextTurn]) -> int:
    return sum(len(turn.text) for turn in turns)


def _nearest(turns: Sequence[ContextTurn], chars: int, *, tail: bool) -> list[ContextTurn]:
    """Turns, nearest first, until ``chars`` are spent; the last one is cut, its ``tail`` or its head kept."""
    found: list[ContextTurn] = []
    left = chars
    for turn in turns:
        if left <= 0:
            break
        size = len(turn.text)
        if size > left:
            found.append(turn.model_copy(update={"text": turn.text[-left:] if tail else turn.text[:left]}))
            break
        found.append(turn)
        left -= size
    return found
