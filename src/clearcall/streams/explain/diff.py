"""The difference of two texts word by word, for eyes; no score depends on it."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Literal

from rapidfuzz.distance import Indel

Kind = Literal["same", "removed", "added"]

_MOST_CELLS = 400_000_000
"""Words of one side times words of the other: the alignment takes a bit for each, so at most 50 MB."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive words with one fate; ``same`` ones are in the written form, however case and punctuation changed."""

    kind: Kind
    text: str


def difference(said: str, wrote: str) -> tuple[Piece, ...]:
    """What was removed from ``said`` and added in ``wrote``; a change of case or punctuation alone is none."""
    words = said.split()
    return _difference(words, wrote.split(), [True] * len(words))


def window_difference(said: str, start: int, end: int, wrote: str) -> tuple[Piece, ...]:
    """The difference of ``wrote`` from the window ``said[start:end]``, in whole words.

    A window is cut by characters: the words just outside it that ``wrote`` has too are part of what is shown.
    """
    found = list(re.finditer(r"\S+", said))
    inside = [min(word.end(), end) - max(word.start(), start) > 0 for word in found]
    if not any(inside):
        return difference("", wrote)
    first, last = inside.index(True), len(inside) - inside[::-1].index(True)
    near = slice(max(first - _NEAR, 0), last + _NEAR)
    return _difference([word.group() for word in found[near]], wrote.split(), inside[near])


def _difference(said: Sequence[str], wrote: Sequence[str], wanted: Sequence[bool]) -> tuple[Piece, ...]:
    """The pieces; of the removed words those that are ``wanted``."""
    if len(said) * len(wrote) > _MOST_CELLS:
        return _joined([Piece("removed", word) for word in said] + [Piece("added", word) for word in wrote])
    pieces: list[Piece] = []
    for step in Indel.opcodes(_keys(said), _keys(wrote)):
        removed, written = range(step.src_start, step.src_end), wrote[step.dest_start : step.dest_end]
        if step.tag == "delete":
            pieces += [Piece("removed", said[at]) for at in removed if wanted[at]]
        else:
            pieces += [Piece("same" if step.tag == "equal" else "added", word) for word in written]
    return _joined(_removed_first(_without_islands(_joined(pieces))))


def visible(text: str) -> str:
    """``text`` with control characters and lone surrogates made visible: they must not steer a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    if character < " ":
        return chr(_CONTROL_PICTURES + ord(character))
    category = unicodedata.category(character)
    if category in {"Cf", "Zs", "Zl", "Zp"} and character not in _BIDI_CONTROLS:
        return character
    return "\ufffd"


_ISLAND = 3
_NEAR = 4
"""Words on each side of a window that may still belong to the fragment."""
_CONTROL_PICTURES = 0x2400
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _keys(words: Iterable[str]) -> list[str]:
    """Words as they are compared; one of punctuation alone stays as it is."""
    return [re.sub(r"[^\w$%€£+-]", "", word.casefold()) or word for word in words]


def _without_islands(pieces: Sequence[Piece]) -> list[Piece]:
    """A short word that happens to be on both sides of a rewritten stretch reads better as part of the change."""
    cleared: list[Piece] = []
    for at, piece in enumerate(pieces):
        before, after = _change(reversed(pieces[:at])), _change(pieces[at + 1 :])
        lone = piece.kind == "same" and len(piece.text) <= _ISLAND and " " not in piece.text
        if lone and before and after and before | after == {"removed", "added"}:
            cleared += [Piece("removed", piece.text), Piece("added", piece.text)]
        else:
            cleared.append(piece)
    return cleared


def _change(pieces: Iterable[Piece]) -> set[Kind]:
    """What happens up to the next words that stayed."""
    return {piece.kind for piece in takewhile(lambda piece: piece.kind != "same", pieces)}


def _removed_first(pieces: Sequence[Piece]) -> list[Piece]:
    """Within each change, what was said before what was written."""
    ordered: list[Piece] = []
    for changed, group in groupby(pieces, key=lambda piece: piece.kind != "same"):
        found = list(group)
        ordered += sorted(found, key=lambda piece: piece.kind == "added") if changed else found
    return ordered


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    groups = groupby(pieces, key=lambda piece: piece.kind)
    return tuple(Piece(kind, text) for kind, group in groups if (text := " ".join(piece.text for piece in group)))
