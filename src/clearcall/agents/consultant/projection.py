"""A free answer made an allowed reduction of its source: for servers that cannot hold a model to a grammar.

The answer's words are taken where they are the source's, with their case and punctuation; what the answer invented is
dropped, what it lost is put back, and the scars are mended: "and The name", a full stop in mid-sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.moves import How, Move, moves
from clearcall.scoring.reduction import Reduction, reductions, written
from clearcall.scoring.spaces import parted
from clearcall.scoring.spoken import Word, words_of
from clearcall.scoring.types import SpanOffsets

_ENDS = ".?!"
_PAUSES = ",;:" + _ENDS


@dataclass(frozen=True, slots=True)
class Projection:
    """``text`` is an allowed reduction of the source.

    ``restored`` are the places in the source of words that the answer had lost or replaced, ``dropped`` the places in
    the answer of words that were not said there.
    """

    text: str
    restored: tuple[SpanOffsets, ...]
    dropped: tuple[SpanOffsets, ...]

    @property
    def changed(self) -> bool:
        """Whether the answer was no allowed reduction."""
        return bool(self.restored or self.dropped)


@dataclass(slots=True)
class _Placed:
    """A word of the result; ``opens`` where it stood at the beginning of a sentence in the text it is taken from."""

    word: Word
    opens: bool


class _Text(NamedTuple):
    """A text's words and what stands between them."""

    words: Sequence[Word]
    gaps: Sequence[str]


def project(source: str, answer: str, lexicon: Lexicon = ENGLISH) -> Projection:
    """The answer to ``source``, a turn as it was said, with the source's words only and with all that may not go."""
    reduction, wrote = reductions(source, lexicon), words_of(answer)
    taken = moves(reduction, [word.form for word in wrote])
    placed: list[_Placed] = []
    texts = _Text(reduction.words, _gaps(source, reduction.words)), _Text(wrote, _gaps(answer, wrote))
    for changed, group in groupby(taken, lambda move: move.how in (How.LOST, How.ADDED)):
        if changed:
            _put_back(placed, list(group), reduction, wrote)
        else:
            placed += _kept(group, *texts)
    return Projection(
        text=written(list(_mended(placed, wrote))),
        restored=tuple(_span(reduction.words[move.start]) for move in taken if move.how is How.LOST),
        dropped=tuple(_span(wrote[move.written_start]) for move in taken if move.how is How.ADDED),
    )


def _span(word: Word) -> SpanOffsets:
    return word.start, word.end


def _gaps(text: str, words: Sequence[Word]) -> list[str]:
    """What stands before the first word, then behind each one: marks and spaces, without what opens the next word."""
    plain = parted(text)
    if not words:
        return [plain.strip()]
    ends = [*(word.start - len(word.before) for word in words[1:]), len(text)]
    behind = (plain[word.end : end].rstrip() for word, end in zip(words, ends, strict=True))
    return [plain[: words[0].start].lstrip(), *behind]


def _kept(group: Iterable[Move], said: _Text, wrote: _Text) -> Iterator[_Placed]:
    """The words as the answer writes them; with their spaces where the source has the very same: ``[1,2]} ] }``."""
    for move in group:
        if move.how is How.KEPT:
            at, to = move.start, move.written_start
            theirs = wrote.words[to]
            opened = not at and not to and said.gaps[0] == wrote.gaps[0]
            same = said.gaps[at + 1] == wrote.gaps[to + 1]
            word = said.words[at]._replace(
                text=theirs.text,
                before=said.gaps[0] if opened else theirs.before,
                after=said.gaps[at + 1] if same else theirs.after,
            )
            yield _Placed(word, opens=_opens(wrote.words, to))


def _put_back(placed: list[_Placed], group: Sequence[Move], reduction: Reduction, wrote: Sequence[Word]) -> None:
    """What was lost takes the place of what was added, and the mark that stood there."""
    added = [wrote[move.written_start] for move in group if move.how is How.ADDED]
    lost = [move.start for move in group if move.how is How.LOST]
    mark = added[-1].after[-1:] if added and added[-1].after[-1:] in _PAUSES else ""
    if not lost:
        if placed and mark and mark in _ENDS:
            _mark(placed[-1], mark)
        return
    if placed and not added and placed[-1].word.after[-1:] and placed[-1].word.after[-1:] in _PAUSES:
        last = placed[-1].word
        mark, placed[-1].word = last.after[-1], last._replace(after=last.after[:-1].rstrip())
    placed += [_Placed(reduction.words[at], opens=_opens(reduction.words, at)) for at in lost]
    if mark:
        _mark(placed[-1], mark)


def _opens(words: Sequence[Word], at: int) -> bool:
    return not at or words[at - 1].ends_sentence


def _mark(placed: _Placed, mark: str) -> None:
    """The mark behind a word, in place of a weaker one; a word that ends a sentence keeps its own."""
    if placed.word.ends_sentence:
        return
    after = placed.word.after.rstrip(",;: ")
    placed.word = placed.word._replace(after=after + mark)


def _mended(placed: Sequence[_Placed], wrote: Sequence[Word]) -> Iterator[Word]:
    """Capitals where sentences now begin, none where they no longer do; none at all where the answer has none."""
    cased = any(word.text[0].isupper() for word in wrote)
    begins = True
    for index, each in enumerate(placed):
        word = each.word if index else each.word._replace(glued=False)
        if cased and (begins or word.form == "i" or word.form.startswith("i'")):
            word = word._replace(text=_capital(word.text))
        elif each.opens and not begins and not _is_shouted(word.text):
            word = word._replace(text=_small(word))
        yield word
        begins = word.ends_sentence


def _capital(text: str) -> str:
    upper = text[0].upper()
    return upper + text[1:] if len(upper) == 1 and upper.casefold() == text[0].casefold() else text


def _small(word: Word) -> str:
    """A word's text in small letters, unless it is a name by its capital in the source."""
    lower = word.text[0].lower()
    if word.guard == "name" or len(lower) != 1 or lower.casefold() != word.text[0].casefold():
        return word.text
    return lower + word.text[1:]


def _is_shouted(text: str) -> bool:
    return len(text) > 1 and text.isupper()
