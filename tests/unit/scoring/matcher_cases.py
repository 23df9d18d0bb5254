"""Pairs of texts for the matcher: seeded, so that a failing case can be made again from its kind and number."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WORDS = (  # noqa: SIM905 - a word a line would fill pages
    "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but"
    " not what all were we when your can said there use an each which she do how their if will up other about out"
    " many then them these so some her would make like him into time has look two more write go see number no way"
    " could people my than first water been call who oil its now find long down day did get come made may part"
    " payment account card balance three hundred fifty dollars please thank transfer"
).split()
UNUSUAL = "ab\0\u0301\u05d0\u0627\u4e00\u4e8c\U0001f600\U0001f469\u200d\ud800\udfff\xdf\u0130"


@dataclass(frozen=True)
class Case:
    """A fragment and a source, with the kind and number that made them."""

    kind: str
    number: int
    fragment: str
    source: str


def speech(rng: random.Random, length: int) -> str:
    """Common words."""
    return " ".join(rng.choices(WORDS, k=length // 3 + 1))[:length]


def letters(alphabet: str) -> Callable[[random.Random, int], str]:
    """Single characters of an alphabet, each as likely as it is frequent there."""
    return lambda rng, length: "".join(rng.choices(alphabet, k=length))


def long_runs(rng: random.Random, length: int) -> str:
    """Few characters, each many times over."""
    text = ""
    while len(text) < length:
        text += rng.choice("ab\u4e00") * rng.randint(1, 30)
    return text[:length]


def periodic(rng: random.Random, length: int) -> str:
    """A short piece over and over, sometimes with a fault in it."""
    piece = letters("abcd")(rng, rng.randint(1, 9))
    text = list((piece * (length // len(piece) + 1))[:length])
    if rng.random() < 0.5:
        text[rng.randrange(length)] = "x"
    return "".join(text)


def many_characters(rng: random.Random, length: int) -> str:
    """Text whose characters seldom recur, as Chinese and Japanese have it."""
    return "".join(chr(0x4E00 + rng.randrange(300)) for _ in range(length))


KINDS: dict[str, Callable[[random.Random, int], str]] = {
    "speech": speech,
    "two letters": letters("ab"),
    "four letters": letters("abcd"),
    "one letter mostly": letters("aaaaaaaaab"),
    "long runs": long_runs,
    "periodic": periodic,
    "many characters": many_characters,
    "unusual characters": letters(UNUSUAL),
}


def edited(rng: random.Random, text: str, edits: int) -> str:
    """The text with stretches taken out, put in and characters exchanged."""
    characters = list(text)
    for _ in range(edits):
        if not characters:
            break
        at, way = rng.randrange(len(characters)), rng.random()
        if way < 0.4:
            del characters[at : at + rng.randint(1, 4)]
        elif way < 0.8:
            characters[at:at] = rng.choice(list(KINDS.values()))(rng, rng.randint(1, 6))
        else:
            other = rng.randrange(len(characters))
            characters[at], characters[other] = characters[other], characters[at]
    return "".join(characters)


def case(kind: str, number: int) -> Case:
    """One case: a source, and a fragment of it with edits, or another text, or the source's halves exchanged."""
    rng = random.Random(f"{kind} {number}")
    make = KINDS[kind]
    large = number % 40 == 39
    source = make(rng, rng.randint(100, 260) if large else rng.randint(1, 90))
    length = rng.randint(40, 160) if large else rng.randint(1, 45)
    begin, way = rng.randrange(len(source)), rng.random()
    piece = source[begin : begin + length]
    if way < 0.5:
        fragment = edited(rng, piece, rng.randint(0, 6))
    elif way < 0.6:
        fragment = piece[len(piece) // 2 :] + piece[: len(piece) // 2]
    elif way < 0.9:
        fragment = make(rng, length)
    else:
        fragment = rng.choice(list(KINDS.values()))(rng, length)
    return Case(kind, number, fragment or "a", source)


def cases(kind: str, count: int) -> Iterator[Case]:
    """The first ``count`` cases of a kind."""
    return (case(kind, number) for number in range(count))
