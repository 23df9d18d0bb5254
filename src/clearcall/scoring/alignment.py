"""Which words of a cleaned turn stand for which words of its source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz.distance import Indel

from clearcall.scoring.anchors import stretches
from clearcall.scoring.lexicon import ENGLISH, Lexicon, word_set
from clearcall.scoring.normalise import Normalised, normalise
from clearcall.scoring.numerals import same_number, same_numbers
from clearcall.scoring.types import SpanOffsets

_MOST_CELLS = 10**8
"""Words times words that are aligned at once; longer texts are aligned stretch by stretch, in bounded memory."""

_TAKES_BACK = word_set("no sorry wait rather actually correction")
_LONGEST_TAKEN_BACK = 10


@dataclass(frozen=True, slots=True)
class Block:
    """Words ``cleaned_from`` to ``cleaned_to`` of the cleaned text stand where the source has ``source_from`` to ..."""

    cleaned_from: int
    cleaned_to: int
    source_from: int
    source_to: int


@dataclass(frozen=True)
class Comparison:
    """A cleaned turn beside its source, both as given, normalised, and the blocks where their words differ.

    ``equivalent`` are blocks whose words differ in spaces and punctuation alone.
    """

    cleaned_text: str
    source_text: str
    cleaned: Normalised
    source: Normalised
    blocks: tuple[Block, ...]
    lexicon: Lexicon = ENGLISH
    equivalent: tuple[Block, ...] = ()

    @cached_property
    def kept(self) -> frozenset[int]:
        """The indices of source words that the cleaned text has in the same order."""
        gone = {index for block in self.blocks for index in range(block.source_from, block.source_to)}
        return frozenset(index for index in range(len(self.source.forms)) if index not in gone)

    def added(self) -> Iterator[int]:
        """The indices of cleaned words that the source does not have at that place."""
        for block in self.blocks:
            yield from range(block.cleaned_from, block.cleaned_to)

    def cleaned_span(self, first: int, last: int) -> SpanOffsets:
        """The place in the cleaned text of words ``first`` to ``last`` (half-open); a point where they are none."""
        return _span(self.cleaned, first, last, len(self.cleaned_text))

    def source_span(self, first: int, last: int) -> SpanOffsets:
        """The place in the source of words ``first`` to ``last`` (half-open); a point where they are none."""
        return _span(self.source, first, last, len(self.source_text))

    def cleaned_words(self, first: int, last: int) -> str:
        """The words as the cleaned text has them."""
        start, end = self.cleaned_span(first, last)
        return self.cleaned_text[start:end]

    def source_words(self, first: int, last: int) -> str:
        """The words as the source has them."""
        start, end = self.source_span(first, last)
        return self.source_text[start:end]

    def is_restart(self, first: int, last: int, *, share: float = 0.5) -> bool:
        """Whether the dropped source words ``first`` to ``last`` are said again right after, or were just before.

        At least ``share`` of them, in order, are among the kept words within twice their number, and two more.
        """
        forms, length = self.source.forms, last - first
        reach = 2 * length + 2
        wanted = forms[first:last]
        after = [forms[index] for index in range(last, min(len(forms), last + reach)) if index in self.kept]
        before = [forms[index] for index in range(max(0, first - reach), first) if index in self.kept]
        again = max(_common(wanted, after), _common(wanted, before))
        return again >= share * length

    def is_taken_back(self, block: Block) -> bool:
        """Whether a block drops something with the word that takes it back: "thirty no" of "thirty, no, forty five"."""
        dropped = self.source.forms[block.source_from : block.source_to]
        if len(dropped) > _LONGEST_TAKEN_BACK or block.source_to == len(self.source.forms):
            return False
        return any(form in _TAKES_BACK for form in dropped[1:])


def compare(cleaned: str, source: str, lexicon: Lexicon = ENGLISH) -> Comparison:
    """Normalise and align two texts."""
    left, right = normalise(cleaned, lexicon), normalise(source, lexicon)
    blocks: list[Block] = []
    equivalent: list[Block] = []
    if left.forms != right.forms:
        for block in _align(left.forms, right.forms):
            same = _same_letters(cleaned, left, source, right, block)
            (equivalent if same else blocks).append(block)
    return Comparison(cleaned, source, left, right, tuple(blocks), lexicon, tuple(equivalent))


def _span(text: Normalised, first: int, last: int, length: int) -> SpanOffsets:
    if first < last:
        return text.starts[first], text.ends[last - 1]
    at = text.ends[first - 1] if first else 0
    return min(at, length), min(at, length)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    return (len(left) + len(right) - Indel.distance(left, right)) // 2


def _same_letters(cleaned: str, left: Normalised, source: str, right: Normalised, block: Block) -> bool:
    """Whether both sides are the same but for spaces and punctuation ("check book", "checkbook"; "its", "it's")."""
    if block.cleaned_from == block.cleaned_to or block.source_from == block.source_to:
        return False
    forms = (
        "".join(left.forms[block.cleaned_from : block.cleaned_to]),
        "".join(right.forms[block.source_from : block.source_to]),
    )
    if forms[0] == forms[1] or _same_numbers(left, right, block):
        return True
    start, end = _span(left, block.cleaned_from, block.cleaned_to, len(cleaned))
    source_start, source_end = _span(right, block.source_from, block.source_to, len(source))
    return _letters(cleaned[start:end]) == _letters(source[source_start:source_end])


def _same_numbers(left: Normalised, right: Normalised, block: Block) -> bool:
    """Whether both sides are numbers alone, and the same ones."""
    written = [left.numbers.get(index) for index in range(block.cleaned_from, block.cleaned_to)]
    said = [right.numbers.get(index) for index in range(block.source_from, block.source_to)]
    mine, others = [n for n in written if n], [n for n in said if n]
    if len(mine) < len(written) or len(others) < len(said):
        return False
    return same_numbers(mine, others) or (len(mine) == len(others) == 1 and same_number(mine[0], others[0]))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _align(cleaned: Sequence[str], source: Sequence[str]) -> Iterator[Block]:
    if len(cleaned) * len(source) <= _MOST_CELLS:
        yield from _blocks(cleaned, source, 0, 0)
        return
    last: Block | None = None
    for c0, c1, s0, s1 in stretches(cleaned, source, _MOST_CELLS):
        for block in _blocks(cleaned[c0:c1], source[s0:s1], c0, s0):
            if last and (last.cleaned_to, last.source_to) == (block.cleaned_from, block.source_from):
                last = Block(last.cleaned_from, block.cleaned_to, last.source_from, block.source_to)
                continue
            if last:
                yield last
            last = block
    if last:
        yield last


def _blocks(cleaned: Sequence[str], source: Sequence[str], at: int, source_at: int) -> Iterator[Block]:
    """The differing blocks, neighbouring insertions and deletions as one."""
    open_block: Block | None = None
    for opcode in Indel.opcodes(source, cleaned):
        s0, s1, c0, c1 = opcode.src_start, opcode.src_end, opcode.dest_start, opcode.dest_end
        if opcode.tag == "equal":
            if open_block:
                yield open_block
            open_block = None
        elif open_block:
            open_block = Block(open_block.cleaned_from, at + c1, open_block.source_from, source_at + s1)
        else:
            open_block = Block(at + c0, at + c1, source_at + s0, source_at + s1)
    if open_block:
        yield open_block
