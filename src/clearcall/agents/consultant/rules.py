"""The consultant without a model: fillers and restarts out, case and punctuation simply."""

from clearcall.agents.consultant.backend import Answer, Answers, Request
from clearcall.schemas import ConsultantInfo
from clearcall.scoring import rule_clean
from clearcall.scoring.lexicon import ENGLISH, Lexicon

_INFO = ConsultantInfo(backend="rules", model="rules", prompt_version="none", decoding="rules")


class RulesBackend:
    """Answers at once and always the same; ``lexicon`` says what is a filler."""

    def __init__(self, lexicon: Lexicon = ENGLISH) -> None:
        self._lexicon = lexicon

    def info(self, iteration: int) -> ConsultantInfo:  # noqa: ARG002 - the same at every iteration
        """The rules."""
        return _INFO

    async def answer(self, request: Request) -> Answers:
        """Every line by ``rule_clean``."""
        return Answers(tuple(Answer(rule_clean(line.text, self._lexicon)) for line in request.lines), _INFO)

    async def close(self) -> None:
        """Nothing is held."""


class UnchangedBackend:
    """The rules at a later task: they know of cleaning alone, so a text stays as it is."""

    def info(self, iteration: int) -> ConsultantInfo:  # noqa: ARG002 - the same at every iteration
        """The rules."""
        return _INFO

    async def answer(self, request: Request) -> Answers:
        """Every line as it was given."""
        return Answers(tuple(Answer(line.text) for line in request.lines), _INFO)

    async def close(self) -> None:
        """Nothing is held."""
