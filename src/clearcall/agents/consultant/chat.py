"""A language model as a backend: the request written into a prompt, the answer taken apart."""

from clearcall.agents.consultant.backend import Answers, ChatModel, Request
from clearcall.agents.consultant.lines import parse
from clearcall.agents.consultant.prompt import render, version_for
from clearcall.schemas import ConsultantInfo

DECODING = "free"
"""The model may write anything; what it got wrong is flagged and corrected."""


class ChatBackend:
    """Answers by a ``ChatModel``."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def info(self, iteration: int) -> ConsultantInfo:
        """The model as far as it is known, with the prompt of this iteration."""
        return self._info(iteration, self._model.model)

    async def answer(self, request: Request) -> Answers:
        """One completion for all lines."""
        completion = await self._model.complete(render(request), max_tokens(request))
        texts = [line.text for line in request.lines]
        return Answers(
            parse(completion.text, texts, cut=completion.finish_reason == "length"),
            self._info(request.iteration, completion.model),
            completion.prompt_tokens,
            completion.completion_tokens,
        )

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _info(self, iteration: int, model: str) -> ConsultantInfo:
        return ConsultantInfo(
            backend=self._model.name, model=model, prompt_version=version_for(iteration), decoding=DECODING
        )


def max_tokens(request: Request) -> int:
    """Room for the answer: a token for two bytes of source, heads and punctuation apart; more in each correction."""
    source = sum(len(line.text.encode("utf-8", "replace")) for line in request.lines)
    return (source // 2 + 12 * len(request.lines) + 16) * (1 + request.iteration)
