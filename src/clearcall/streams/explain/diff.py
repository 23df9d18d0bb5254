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
    left, right = said.split(), wrote.split()
    if len(left) * len(right) > _MOST_CELLS:
        return _joined([Piece("removed", said), Piece("added", wrote)])
    pieces: list[Piece] = []
    for step in Indel.opcodes(_keys(left), _keys(right)):
        if step.tag == "equal":
            pieces += [Piece("same", word) for word in right[step.dest_start : step.dest_end]]
        pieces += [Piece("removed", word) for word in left[step.src_start : step.src_end] if step.tag == "delete"]
        pieces += [Piece("added", word) for word in right[step.dest_start : step.dest_end] if step.tag == "insert"]
    return _joined(_removed_first(_without_islands(_joined(pieces))))


def whole_words(text: str, start: int, end: int) -> str:
    """``text[start:end]`` with a word that is cut at either side completed, or left out where most of it is outside."""
    for word in re.finditer(r"\S+", text):
        if word.start() < start < word.end():
            start = word.start() if start - word.start() <= word.end() - start else word.end()
        if word.start() < end < word.end():
            end = word.end() if end - word.start() >= word.end() - end else word.start()
        if word.start() >= end:
            break
    return text[start:end].strip()


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
