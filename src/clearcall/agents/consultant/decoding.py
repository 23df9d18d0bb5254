"""How a model is held to what was said: by a grammar while it writes, by projection afterwards, or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clearcall.agents.consultant.backend import Answer, Request
from clearcall.agents.consultant.grammar import TurnGrammar, turn_grammar, window_ebnf
from clearcall.agents.consultant.projection import project
from clearcall.agents.consultant.prompt import role
from clearcall.scoring.lexicon import ENGLISH, Lexicon

CONSTRAINED = "constrained"
"""The server lets the model write nothing but allowed reductions of what was said."""

FREE = "free"
"""The model may write anything; what it got wrong is flagged and corrected."""

PROJECT = "project"
"""The model may write anything; its answer is made an allowed reduction of what was said."""

FREE_THEN = "free-then-"
"""Before the decoding of corrections, where initial responses are free."""

WINDOW_WORDS = 150
"""Most words of a request with a grammar: beyond them it takes longer to compile than it saves."""


def decoding_at(decoding: str, iteration: int) -> str:
    """The decoding of an iteration, where ``decoding`` is a run's."""
    if not decoding.startswith(FREE_THEN):
        return decoding
    return decoding.removeprefix(FREE_THEN) if iteration else FREE


@dataclass(frozen=True)
class WindowGrammar:
    """The grammar of an answer to numbered lines: each with its head, such as ``3 agent:``, and its turn's grammar."""

    turns: tuple[tuple[str, TurnGrammar], ...]

    @cached_property
    def ebnf(self) -> str:
        """As a server takes it."""
        return window_ebnf(self.turns)

    def accepts(self, text: str) -> bool:
        """Whether the grammar writes ``text``."""
        lines = text.split("\n")
        return len(lines) == len(self.turns) and all(
            line.startswith(head) and grammar.accepts(line[len(head) :].removeprefix(" "))
            for line, (head, grammar) in zip(lines, self.turns, strict=True)
        )


def window_grammar(request: Request, lexicon: Lexicon = ENGLISH) -> WindowGrammar:
    """What may be answered to a request: without what the rules leave out already."""
    return WindowGrammar(
        tuple(
            (f"{number} {role(line.chunk.speaker)}:", turn_grammar(line.text, lexicon, decided=True))
            for number, line in enumerate(request.lines, 1)
        )
    )


def projected(request: Request, answers: Sequence[Answer], lexicon: Lexicon = ENGLISH) -> tuple[Answer, ...]:
    """Each answer as an allowed reduction of its line; one that failed stays as it is."""
    return tuple(
        answer if answer.failure else Answer(project(line.text, answer.text, lexicon).text)
        for line, answer in zip(request.lines, answers, strict=True)
    )
