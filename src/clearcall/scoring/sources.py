"""What a cleaned turn is scored against: the same speaker's turns, joined by a space."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearcall.scoring.types import Turn


@dataclass(frozen=True, slots=True)
class Source:
    """Some turns of one speaker, joined by a space; ``starts`` are the turns' places in ``text``."""

    text: str
    turns: tuple[Turn, ...]
    starts: tuple[int, ...]


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
    return join([turns[index] for index in _nearest(same, own, turns, chars)])


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
