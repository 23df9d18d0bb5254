r"""The grammar of a cleaned turn: its words in order, case and punctuation free, and only that left out which may be.

It is right-linear, one rule for each place of the turn where ways part or meet, in the dialect of xgrammar (EBNF as
llama.cpp writes it)::

    root ::= [uU] "h" m r1 | [iI] m " " [wW] "ant" m " " [iI] "t" m
    r1 ::= " " [iI] m " " [wW] "ant" m " " [iI] "t" m

The space stands before a word and never after, so that a turn ends where its last word does. After a word one of
``, . ? !`` may stand, or what the speaker's recogniser put there; between spelled letters no full stop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.reduction import Reduction, reductions
from clearcall.scoring.spoken import LETTER, Word, is_character

MOST_WORDS = 150
"""Most words of one grammar: the compile time grows faster than the words, about 17 ms at 150."""

_MARKS = ("", ",", ".", "?", "!")
_MARKS_OF_LETTERS = ("", ",")
_WIDE_MARKS = ("\uff0c", "\u3002", "\uff1f", "\uff01", "\u3001")
_NAMES = {_MARKS: "m", _MARKS_OF_LETTERS: "l"}
_COMMON_RULES = ("m ::= [,.?!]?", "l ::= [,]?")


@dataclass(frozen=True, slots=True)
class Step:
    """How one word may be written: its first letter in one of some cases, the rest as said, and what may surround it.

    ``glued`` words have no space before them. ``befores`` and ``marks`` hold the empty string where nothing is needed.
    """

    heads: tuple[str, ...]
    tail: str
    befores: tuple[str, ...]
    marks: tuple[str, ...]
    glued: bool

    def ways(self) -> Iterator[str]:
        """Every way of writing it, without the space before."""
        for before in self.befores:
            for head in self.heads:
                for mark in self.marks:
                    yield before + head + self.tail + mark


@dataclass(frozen=True)
class TurnGrammar:
    """What a model may write for one turn."""

    reduction: Reduction

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """How each word may be written."""
        words = self.reduction.words
        return tuple(
            _step(word, spelled=word.guard == LETTER and index + 1 < len(words) and words[index + 1].guard == LETTER)
            for index, word in enumerate(words)
        )

    @cached_property
    def openings(self) -> tuple[int, ...]:
        """The places where the written turn may begin; the last one if all of it may be left out."""
        reached, waiting = {0}, [0]
        while waiting:
            new = set(self.reduction.exits[waiting.pop()]) - reached
            reached |= new
            waiting.extend(new)
        return tuple(sorted(reached))

    def accepts(self, text: str) -> bool:
        """Whether the grammar writes ``text``."""
        end = len(self.steps)
        seen: set[tuple[int, int]] = set()
        waiting = [(0, at) for at in self.openings]
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            position, at = state
            if at == end and position == len(text):
                return True
            waiting.extend((position, skipped) for skipped in self.reduction.exits[at])
            if at < end:
                waiting.extend((after, at + 1) for after in self._written(text, position, at))
        return False

    def _written(self, text: str, position: int, at: int) -> Iterator[int]:
        step = self.steps[at]
        if position and not step.glued:
            if not text.startswith(" ", position):
                return
            position += 1
        for way in step.ways():
            if text.startswith(way, position):
                yield position + len(way)

    def ebnf(self) -> str:
        """The grammar as a server takes it."""
        return "\n".join([*_COMMON_RULES, *self.rules("root", "r", opened=False)])

    def rules(self, root: str, prefix: str, *, opened: bool) -> Iterator[str]:
        """The rules, ``root`` first, the others named by ``prefix`` and place; ``opened``: something stands before."""
        end = len(self.steps)
        yield _rule(root, [self._alternative(at, prefix, spaced=opened) for at in self.openings])
        for at in sorted(self._junctions - {end}):
            skipped = [f"{prefix}{place}" if place < end else '""' for place in self.reduction.exits[at]]
            yield _rule(f"{prefix}{at}", [self._alternative(at, prefix, spaced=True), *skipped])

    @cached_property
    def _junctions(self) -> frozenset[int]:
        """The places after the first word where ways part or meet: fewer rules compile faster than one for each."""
        exits = self.reduction.exits
        met = {place for places in exits for place in places} | {at for at, places in enumerate(exits) if places}
        if len(self.openings) > 1:
            met |= {at + 1 for at in self.openings}
        return frozenset(at for at in met if 0 < at <= len(self.steps))

    def _alternative(self, at: int, prefix: str, *, spaced: bool) -> str:
        """The words from a place to the next junction, and its rule; nothing at the end."""
        written = []
        while at < len(self.steps):
            step = self.steps[at]
            written += [_written_step(step, spaced=spaced and not step.glued), _marks(step.marks)]
            spaced, at = True, at + 1
            if at in self._junctions and at < len(self.steps):
                written.append(f"{prefix}{at}")
                break
        return " ".join(written) or '""'


def turn_grammar(text: str, lexicon: Lexicon = ENGLISH, *, decided: bool = False) -> TurnGrammar:
    """The grammar of a turn as it was said; where ``decided``, what the rules leave out is gone from it already."""
    reduction = reductions(text, lexicon)
    return TurnGrammar(reduction.without_sure() if decided else reduction)


def window_ebnf(turns: Sequence[tuple[str, TurnGrammar]]) -> str:
    """The grammar of numbered lines: each a head such as ``3 agent:``, which is written as it is, and a turn."""
    heads = [f"{_literal(head)} t{number}" for number, (head, _) in enumerate(turns)]
    rules = [_rule("root", [' "\\n" '.join(heads) or '""'])]
    for number, (_, grammar) in enumerate(turns):
        rules += grammar.rules(f"t{number}", f"t{number}r", opened=True)
    return "\n".join([*_COMMON_RULES, *rules])


def _step(word: Word, *, spelled: bool) -> Step:
    marks: tuple[str, ...] = _MARKS_OF_LETTERS if spelled else _MARKS
    if is_character(word.form):
        marks += _WIDE_MARKS
    if word.after not in marks:
        marks += (word.after,)
    return Step(_cases(word.text[0]), word.text[1:], tuple(dict.fromkeys(("", word.before))), marks, word.glued)


def _cases(letter: str) -> tuple[str, ...]:
    """The letter in lower, upper and title case, as far as each is one character and the same letter."""
    cases = dict.fromkeys((letter, letter.lower(), letter.upper(), letter.title()))
    return tuple(case for case in cases if len(case) == 1 and case.casefold() == letter.casefold())


def _rule(name: str, alternatives: Sequence[str]) -> str:
    return f"{name} ::= {' | '.join(dict.fromkeys(alternatives))}"


def _written_step(step: Step, *, spaced: bool) -> str:
    before = [_literal(text) for text in step.befores if text]
    optional = f"({before[0]})? " if before else ""
    if len(step.heads) == 1:
        head = _literal((" " if spaced and not optional else "") + step.heads[0] + step.tail)
    else:
        head = f"[{''.join(map(_escaped, step.heads))}]" + (f" {_literal(step.tail)}" if step.tail else "")
        if spaced and not optional:
            head = f'" " {head}'
    return f'" " {optional}{head}' if spaced and optional else f"{optional}{head}"


def _marks(marks: tuple[str, ...]) -> str:
    return _NAMES.get(marks) or f"({' | '.join(map(_literal, marks))})"


def _literal(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    r"""A character within a literal or a class; ``\U`` escapes keep the grammar itself in ASCII."""
    if char.isascii() and (char.isalnum() or char == " "):
        return char
    return f"\\U{ord(char):08x}"
