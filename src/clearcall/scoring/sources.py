"""What a cleaned turn is scored against: the same speaker's turns, joined by a space."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clearcall.scoring.lexicon import Lexicon
from clearcall.scoring.normalise import Normalised, normalise
from clearcall.scoring.types import SpanOffsets, Turn


@dataclass(frozen=True, slots=True)
class Source:
    """Some turns of one speaker, joined by a space.

    ``starts`` are the turns' places in ``text``; ``own_start`` is that of the turn that is scored.
    """

    text: str
    turns: tuple[Turn, ...]
    starts: tuple[int, ...]
    own_start: int = 0

    def normalised(self, lexicon: Lexicon) -> "NormalSource":
        """The same turns normalised one by one; a turn that comes again is not read again."""
        parts, places, starts, at = [], [], [], 0
        for turn, start in zip(self.turns, self.starts, strict=True):
            part = normalise(turn.text, lexicon)
            if part.forms:
                parts.append(part)
                places.append(at)
                starts.append(start)
                at += len(part.text) + 1
        return NormalSource(" ".join([part.text for part in parts]), tuple(parts), tuple(places), tuple(starts))


@dataclass(frozen=True, slots=True)
class NormalSource:
    """A source in the compared form: ``places`` are the parts' starts in ``text``, ``starts`` those in the source."""

    text: str
    parts: tuple[Normalised, ...]
    places: tuple[int, ...]
    starts: tuple[int, ...]

    def original(self, start: int, end: int) -> SpanOffsets:
        """The place in the source as given of ``start`` to ``end`` in ``text``, in whole words."""
        if start >= end or not self.parts:
            return (0, 0)
        first = bisect_right(self.places, start) - 1
        last = bisect_right(self.places, end - 1) - 1
        begin = self._inside(first, start, end)[0]
        return begin, max(begin, self._inside(last, start, end)[1])

    def _inside(self, part: int, start: int, end: int) -> SpanOffsets:
        normal, place = self.parts[part], self.places[part]
        inner = normal.original(max(0, start - place), max(1, min(len(normal.text), end - place)))
        return self.starts[part] + inner[0], self.starts[part] + inner[1]


def join(turns: Sequence[Turn]) -> Source:
    """The turns as one source, in the order given."""
    starts, at = [], 0
    for turn in turns:
        starts.append(at)
        at += len(turn.text) + 1
    return Source(" ".join(turn.text for turn in turns), tuple(turns), tuple(starts))


def spoken_by(speaker: int, turns: Sequence[Turn]) -> Source:
    """All that ``speaker`` said."""
    return join([turn for turn in turns if turn.speaker == speaker])


def around(own: int, turns: Sequence[Turn], chars: int) -> Source:
    """What the speaker of ``turns[own]`` said around it: whole turns, nearest first, while they fit in ``chars``.

    The own turn is always part of it, however long. ``chars`` counts characters with the joining spaces.
    """
    speaker = turns[own].speaker
    same = [index for index, turn in enumerate(turns) if turn.speaker == speaker]
    chosen = _nearest(same, own, turns, chars)
    source = join([turns[index] for index in chosen])
    return replace(source, own_start=source.starts[chosen.index(own)])


def others_around(own: int, turns: Sequence[Turn], chars: int) -> Source:
    """What everybody else said around ``turns[own]``, chosen in the same way."""
    speaker = turns[own].speaker
    others = [index for index, turn in enumerate(turns) if turn.speaker != speaker]
    return join([turns[index] for index in _nearest(others, own, turns, chars)])


def _nearest(candidates: Sequence[int], own: int, turns: Sequence[Turn], chars: int) -> list[int]:
    chosen, room = [], chars
    for index in sorted(candidates, key=lambda index: (abs(index - own), index)):
        size = len(turns[index].text) + 1
        if index != own and size > room:
            break
        chosen.append(index)
        room -= size
    return sorted(chosen)
