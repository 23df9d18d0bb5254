"""Chunks to lines: what is too long for one line is cut, where it tears nothing if it can be, and joined again."""

from collections.abc import Iterator, Sequence

from clearcall.agents.consultant.backend import Line
from clearcall.agents.consultant.splitting import split
from clearcall.schemas import Chunk
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.spaces import one_line, parted

LINE_WORDS = 150
"""Most words of a line: the design's longest chunk."""

LINE_CHARS = 1200
"""Most characters of a line: 150 long words, and the bound for scripts that write no spaces."""

_CAREFUL_CHARS = 12_000
"""Longer texts are cut by count alone: no speech is that long, and care takes time with the square of it."""

ALONE = 1
"""So few words in a window that every line is one."""

WINDOW_LINES = 40
"""Most lines of a request: small models lose count of more."""


def count_words(text: str) -> int:
    """Words by what parts them."""
    return len(parted(text).split())


def cut(chunk: Chunk, lexicon: Lexicon = ENGLISH) -> tuple[Line, ...]:
    """The chunk as one line, or as several of at most ``LINE_WORDS`` words and ``LINE_CHARS`` characters."""
    pieces = list(_pieces(one_line(chunk.text), lexicon))
    return tuple(
        Line(chunk, text, part=part, parts=len(pieces), glue=glue if part else "")
        for part, (glue, text) in enumerate(pieces)
    )


def _pieces(text: str, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Pairs of what stood before a piece and the piece."""
    careful = list(split(text, LINE_WORDS, lexicon)) if len(text) <= _CAREFUL_CHARS else []
    if "".join(glue + piece for glue, piece in careful) != text:
        careful = [("", text)]
    for glue, piece in careful:
        for at, (between, part) in enumerate(_short(piece)):
            yield (between if at else glue), part


def _short(text: str) -> Iterator[tuple[str, str]]:
    """The same for a piece that is still too long: words of hundreds of characters, or marks without words."""
    taken: list[str] = []
    length = 0
    for word in text.split(" "):
        if taken and (len(taken) == LINE_WORDS or length + 1 + len(word) > LINE_CHARS):
            yield " ", " ".join(taken)
            taken, length = [], 0
        if len(word) <= LINE_CHARS:
            taken.append(word)
            length += len(word) + (1 if length else 0)
            continue
        parts = [word[at : at + LINE_CHARS] for at in range(0, len(word), LINE_CHARS)]
        yield " ", parts[0]
        yield from (("", part) for part in parts[1:])
    if taken:
        yield " ", " ".join(taken)


def windows(lines: Sequence[Line], words: int) -> list[tuple[Line, ...]]:
    """Consecutive lines in groups of at most ``words`` words and ``WINDOW_LINES`` lines, each of at least one line."""
    groups: list[tuple[Line, ...]] = []
    group: list[Line] = []
    weight = 0
    for line in lines:
        own = count_words(line.text)
        if group and (weight + own > words or len(group) == WINDOW_LINES):
            groups.append(tuple(group))
            group, weight = [], 0
        group.append(line)
        weight += own
    if group:
        groups.append(tuple(group))
    return groups


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` split by weight in whole numbers that add up to it."""
    whole = sum(weights)
    if not whole:
        weights, whole = (1,) * len(weights), len(weights)
    found: list[int] = []
    passed = 0
    for weight in weights:
        passed += weight
        found.append(total * passed // whole - sum(found))
    return found
