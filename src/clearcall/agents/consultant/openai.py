"""Any server that speaks OpenAI's chat completions: ``vllm serve`` first of all.

A grammar is sent as vLLM takes it. A server that refuses it, or answers something else, gets none for a while.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import structlog

from clearcall.agents.consultant.backend import ChatMessage, Completion, Grammar, ModelError
from clearcall.agents.consultant.client import ModelClient, plain_text
from clearcall.agents.consultant.servers import Passing, Server

MOST_TOKENS = 10_000_000
"""Most tokens of a request that a server's count is believed: no model's context holds as many."""

_GRAMMAR_FIELD = "structured_outputs"
_ABOUT_GRAMMAR = re.compile(r"grammar|xgrammar|ebnf", re.IGNORECASE)

log = structlog.get_logger()


class OpenAI(ModelClient):
    """A chat model behind one or several URLs; arguments as those of ``ModelClient``."""

    name = "openai"

    async def complete(
        self, messages: Sequence[ChatMessage], max_tokens: int, grammar: Grammar | None = None
    ) -> Completion:
        """One answer, not streamed, at temperature 0, by the grammar where the server can; raises as ``chat`` does.

        The last attempt goes without a grammar: one that a server stumbles over must not hold up a call for ever.
        """
        body = {
            "model": await self.named(),
            "messages": [asdict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        return await self.persist(lambda server, last: self._chat(server, body, None if last else grammar))

    async def _chat(self, server: Server, body: dict[str, Any], grammar: Grammar | None) -> Completion:
        """A completion by the grammar, or, where the server has something against it, without."""
        if grammar is not None and server.grammars.asks():
            began = self.clock()
            asked = body | {_GRAMMAR_FIELD: {"grammar": grammar.ebnf}}
            try:
                completion = _completion(await self.ask_chat(server, asked))
            except ModelError as refused:
                if _GRAMMAR_FIELD in refused.said:
                    if server.grammars.failed(began):
                        log.warning("model_server.refuses_grammars", url=server.url)
                elif _ABOUT_GRAMMAR.search(refused.said):
                    log.warning("model_server.refused_grammar", url=server.url)
                else:
                    raise
            else:
                return _by_grammar(completion, grammar, server, began)
        return _completion(await self.ask_chat(server, body))


def _completion(content: Any) -> Completion:
    try:
        choice = content["choices"][0]
        text = choice["message"]["content"]
        usage = content.get("usage") or {}
        return Completion(
            text=plain_text(text),
            finish_reason=plain_text(choice.get("finish_reason")),
            model=plain_text(content.get("model")),
            prompt_tokens=_tokens(usage.get("prompt_tokens")),
            completion_tokens=_tokens(usage.get("completion_tokens")),
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Passing("the answer is no chat completion") from error


def _tokens(value: Any) -> int:
    """A server's count, 0 where it gives none that can be one; it is told on, and must never cost the answer."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def _by_grammar(completion: Completion, grammar: Grammar, server: Server, began: float) -> Completion:
    """The completion, marked where its server holds its model to grammars, as far as is known by now.

    A whole answer teaches that, and a cut one nothing. A server that was seen to ignore them, by this answer or by one
    that came while it was under way, has none of its answers marked, even where one happens to fit, until it is tried
    again and answers by the grammar.
    """
    cut = completion.finish_reason == "length"
    if not cut and not grammar.accepts(completion.text):
        if server.grammars.failed(began):
            log.warning("model_server.ignores_grammars", url=server.url)
        return completion
    if not cut and server.grammars.obeyed(began):
        log.info("model_server.obeys_grammars", url=server.url)
    return replace(completion, constrained=server.grammars.obeys)
