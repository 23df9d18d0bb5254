"""The consultant without a model: fillers and restarts out, case and punctuation simply."""

from clearcall.agents.consultant.backend import Answer, Answers, Request
from clearcall.schemas import ConsultantInfo
from clearcall.scoring import rule_clean

_INFO = ConsultantInfo(backend="rules", model="rules", prompt_version="none", decoding="rules")


class RulesBackend:
    """Answers at once and always the same."""

    def info(self, iteration: int) -> ConsultantInfo:  # noqa: ARG002 - the same at every iteration
        """The rules."""
        return _INFO

    async def answer(self, request: Request) -> Answers:
        """Every line by ``rule_clean``."""
        return Answers(tuple(Answer(rule_clean(line.text)) for line in request.lines), _INFO)

    async def close(self) -> None:
        """Nothing is held."""
