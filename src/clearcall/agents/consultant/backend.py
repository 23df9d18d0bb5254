"""What the consultant asks of whatever answers, and what comes back.

``Backend`` answers lines; ``ChatModel`` is the smaller thing under those backends that are language models.

ModelError
├── TooLong     the request does not fit the model: ask for less at once
└── Rejected    the server refuses this request; asking again changes nothing

A server that is away raises ``clearcall.agents.protocol.Unavailable``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from clearcall.agents.protocol import Unavailable
from clearcall.schemas import Attempt, Chunk, ConsultantInfo, ContextTurn, Failure


class ModelError(Exception):
    """A request that this server will not answer; ``said`` begins its reason, which may quote what was asked."""

    def __init__(self, detail: str = "", said: str = "") -> None:
        super().__init__(detail)
        self.said = said


class TooLong(ModelError):
    """Prompt and answer do not fit the model's context."""


class Rejected(ModelError):
    """The server refuses the request for another reason of its own."""


class Slow(Unavailable):
    """No answer within the request's own deadline: less may be answered in time."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line to clean: a chunk, or piece ``part`` (from 0) of a chunk cut in ``parts``.

    ``glue`` is what stood between this piece and the one before: a space, or nothing within a word.
    """

    chunk: Chunk
    text: str
    part: int = 0
    parts: int = 1
    glue: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Lines of one call to clean at once; ``attempts`` (with a single line only) makes it a correction."""

    iteration: int
    lines: tuple[Line, ...]
    context: tuple[ContextTurn, ...] = ()
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one line. With a ``failure``, ``text`` is what was written all the same."""

    text: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer for each line of the request, in its order."""

    answers: tuple[Answer, ...]
    consultant: ConsultantInfo
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Backend(Protocol):
    """Cleans lines. Safe to call from several tasks at once."""

    def info(self, iteration: int) -> ConsultantInfo:
        """Who would answer at this iteration, as far as is known without asking."""
        ...

    async def answer(self, request: Request) -> Answers:
        """Clean the lines.

        Raises:
            ModelError: this request cannot be answered, a smaller one perhaps.
            Unavailable: nothing answers now.
            Poison: there can never be an answer.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; called once, at the end."""
        ...


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote; ``finish_reason`` ``length`` is an answer cut off at ``max_tokens``.

    ``constrained`` says that the server held the model to the grammar that was given, as far as can be known: it was
    not seen to write anything else.
    """

    text: str
    finish_reason: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    constrained: bool = False


class Grammar(Protocol):
    """All that a model may write."""

    @property
    def ebnf(self) -> str:
        """As a server takes it."""
        ...

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is an answer by this grammar: some servers do not obey one, and do not say so."""
        ...


class ChatModel(Protocol):
    """A language model behind a chat: in another process, or in this one."""

    @property
    def name(self) -> str:
        """The backend's name on every row."""
        ...

    @property
    def model(self) -> str:
        """The model's name; empty while it is not known."""
        ...

    async def complete(
        self, messages: Sequence[ChatMessage], max_tokens: int, grammar: Grammar | None = None
    ) -> Completion:
        """The model's answer at temperature 0, by the grammar where that can be; raises as ``Backend.answer`` does."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
