"""A language model as a backend: the request written into a prompt, the answer taken apart."""

from dataclasses import replace

from clearcall.agents.consultant.backend import Answers, ChatModel, Request
from clearcall.agents.consultant.decoding import CONSTRAINED, PROJECT, decoding_at, projected, window_grammar
from clearcall.agents.consultant.lines import parse
from clearcall.agents.consultant.prompt import Prompts, released, render, unfenced
from clearcall.schemas import ConsultantInfo
from clearcall.scoring.lexicon import ENGLISH, Lexicon


class ChatBackend:
    """Answers by a ``ChatModel``, in one of the ways of decoding; where it takes no grammar, answers are projected.

    ``lexicon`` says what is a filler, which may be left out; ``prompts`` which prompt asks at each iteration.
    """

    def __init__(
        self,
        model: ChatModel,
        decoding: str = CONSTRAINED,
        lexicon: Lexicon = ENGLISH,
        prompts: Prompts = released,
    ) -> None:
        self._model = model
        self._decoding = decoding
        self._lexicon = lexicon
        self._prompts = prompts

    def info(self, iteration: int) -> ConsultantInfo:
        """The model as far as it is known, with the prompt and the decoding of this iteration."""
        return self._info(iteration, self._model.model, decoding_at(self._decoding, iteration))

    async def answer(self, request: Request) -> Answers:
        """One completion for all lines."""
        decoding = decoding_at(self._decoding, request.iteration)
        grammar = window_grammar(request, self._lexicon) if decoding == CONSTRAINED else None
        completion = await self._model.complete(render(request, self._prompts), max_tokens(request), grammar)
        texts = [line.text for line in request.lines]
        answers = parse(completion.text, texts, cut=completion.finish_reason == "length", lexicon=self._lexicon)
        answers = tuple(
            replace(answer, text=unfenced(answer.text, text)) for answer, text in zip(answers, texts, strict=True)
        )
        if decoding == CONSTRAINED and not completion.constrained:
            decoding = PROJECT
        if decoding == PROJECT:
            answers = projected(request, answers, self._lexicon)
        return Answers(
            answers,
            self._info(request.iteration, completion.model, decoding),
            completion.prompt_tokens,
            completion.completion_tokens,
        )

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _info(self, iteration: int, model: str, decoding: str) -> ConsultantInfo:
        return ConsultantInfo(
            backend=self._model.name, model=model, prompt_version=self._prompts(iteration).version, decoding=decoding
        )


def max_tokens(request: Request) -> int:
    """Room for the answer with its heads and punctuation; more in each correction."""
    source = sum(_tokens(line.text) for line in request.lines)
    return (source + 12 * len(request.lines) + 16) * (1 + request.iteration)


def _tokens(text: str) -> int:
    """A token for two bytes, and one more for each digit: many models write them one by one.

    A digit that stands alone may cost three: its space, itself and a comma.
    """
    digits = sum(map(str.isdigit, text))
    alone = sum(len(word) == 1 and word.isdigit() for word in text.split())
    return len(text.encode("utf-8", "replace")) // 2 + digits + alone
