"""Which fault comes when: a function of the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: how often it is in a deck, and for how long it holds, in seconds.

    ``spared`` says that something else takes over: recovery counts from the fault's beginning then, not from its end.
    """

    name: str
    cards: int = 1
    seconds: tuple[float, float] = (0.0, 0.0)
    spared: bool = False


KINDS = (
    Kind("worker killed", 3, spared=True),
    Kind("worker terminated", 2, spared=True),
    Kind("worker frozen", 2, (3, 30), spared=True),
    Kind("worker added and removed", 1, (15, 40), spared=True),
    Kind("clock jumps", 1, (10, 30), spared=True),
    Kind("broker killed", 1, (3, 20), spared=True),
    Kind("controller killed", 1, (3, 20), spared=True),
    Kind("network to Kafka cut", 2, (5, 60)),
    Kind("database down", 1, (5, 30)),
    Kind("database slow", 1, (5, 30)),
    Kind("database has too many parts", 1, (5, 30)),
    Kind("database silent after inserting", 1, (5, 30)),
    Kind("model down", 1, (5, 30)),
    Kind("model slow", 1, (5, 30)),
    Kind("model hanging", 1, (5, 30)),
    Kind("model answers 429 or 500", 1, (5, 30)),
    Kind("model answers garbage", 1, (5, 30)),
    Kind("model answers cut", 1, (5, 30)),
    Kind("dead letters refused", 1, (5, 30)),
)
BY_NAME = {kind.name: kind for kind in KINDS}

ROLLING = Kind("worker restarted in turn", spared=True)
SPARED = {kind.name for kind in (*KINDS, ROLLING) if kind.spared}

ALONE = (
    Kind("worker killed", spared=True),
    Kind("broker killed", 1, (8, 8), spared=True),
    Kind("database down", 1, (10, 10)),
)
"""What recovery is measured on: each fault by itself, all of a kind equally long."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: begins ``at`` seconds, holds for ``seconds``; ``seed`` decides what else there is to decide."""

    at: float
    kind: str
    seconds: float
    seed: int


def apart(seed: int, times: int, pause: float) -> list[Fault]:
    """Each kind of ``ALONE`` so many times, ``pause`` seconds from one fault to the next."""
    source = random.Random(seed)
    kinds = [kind for kind in ALONE for _ in range(times)]
    source.shuffle(kinds)
    return [
        Fault(1.0 + pause * number, kind.name, kind.seconds[0], source.randrange(2**32))
        for number, kind in enumerate(kinds)
    ]


def schedule(
    seed: int, length: float, kinds: Sequence[Kind] = KINDS, pause: tuple[float, float] = (5, 11), longest: float = 60.0
) -> list[Fault]:
    """Faults for ``length`` seconds: decks of all kinds, each shuffled, one after the other.

    Args:
        pause: seconds between the beginnings of two faults, at least and at most.
        longest: bound on the seconds of a fault.
    """
    source = random.Random(seed)
    faults: list[Fault] = []
    deck: list[Kind] = []
    at = source.uniform(*pause)
    while at < length:
        if not deck:
            deck = [kind for kind in kinds for _ in range(kind.cards)]
            source.shuffle(deck)
        kind = deck.pop()
        low, high = kind.seconds
        faults.append(Fault(at, kind.name, min(longest, source.uniform(low, high)), source.randrange(2**32)))
        at += source.uniform(*pause)
    return faults
