"""Any server that speaks OpenAI's chat completions: ``vllm serve`` first of all.

Several URLs share the work by requests in flight; each takes so many at once as it bears (``limits``). What may pass
(429, 5xx, a lost connection, an unreadable answer, silence) is tried again with backoff, elsewhere if there is an
elsewhere, then ``Unavailable``. A URL that fails again and again is left alone and probed (``breaker``); while all are,
``Unavailable`` comes at once. What is the request's own fault is ``TooLong`` or ``Rejected`` at once.

A grammar is sent as vLLM takes it. A server that refuses it, or answers something else, gets none for a while.
"""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

import httpx
import structlog

from clearcall.agents.consultant.backend import ChatMessage, Completion, Grammar, Rejected, Slow, TooLong
from clearcall.agents.consultant.servers import Passing, Server, Servers
from clearcall.agents.protocol import Unavailable, show_life

TRIES = 4
"""Attempts at one request before it counts as an outage; the runtime then starts over with its own backoff."""

FIRST_DELAY = 0.5
LONGEST_DELAY = 20.0
"""Seconds before a second attempt and, doubled each time, at most."""

KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept: less than the 5 after which vLLM closes it, or a request would meet that."""

MOST_TOKENS = 10_000_000
"""Most tokens of a request that a server's count is believed: no model's context holds as many."""

_OVERLOADED = (429, 503)
_OUR_FAULT = (400, 413, 422)
_MISCONFIGURED = (401, 403, 404)
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|max_?(?:model_len|tokens)|too (?:long|large)", re.IGNORECASE
)
_GRAMMAR_FIELD = "structured_outputs"
_ABOUT_GRAMMAR = re.compile(r"grammar|xgrammar|ebnf", re.IGNORECASE)

log = structlog.get_logger()

T = TypeVar("T")


class _TimedOut(Passing):
    """No answer within the request's deadline; the same request would be as slow on the same server."""


class _GrammarRefused(Rejected):
    """The server has something against this grammar; ``always``: it takes none at all."""

    def __init__(self, detail: str, *, always: bool) -> None:
        super().__init__(detail)
        self.always = always


class OpenAI:
    """A chat model behind one or several URLs that serve the same model.

    Args:
        urls: bases such as ``http://host:8000/v1``.
        model: as the servers name it; empty asks the first that answers, once.
        api_key: sent as bearer; empty sends none.
        in_flight: most requests under way per URL; fewer while it is slow or refuses some.
        connect_timeout: seconds for a connection, and for sending a request.
        request_timeout: seconds from a request to the end of its answer.
        tries: attempts at one request before it counts as an outage.
        sleep: waits between attempts.
        rng: jitter and the choice among equally loaded servers.
        clock: seconds that only grow.
        transport: for tests.
    """

    name = "openai"

    def __init__(
        self,
        urls: Sequence[str],
        *,
        model: str = "",
        api_key: str = "",
        in_flight: int = 32,
        connect_timeout: float = 5.0,
        request_timeout: float = 120.0,
        tries: int = TRIES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._model = model
        self._asking = asyncio.Lock()
        self._request_timeout = request_timeout
        self._tries = tries
        self._sleep = sleep
        self._clock = clock
        self._rng = rng or random.Random()  # noqa: S311 - jitter, no secret
        self._servers = Servers(urls, in_flight, request_timeout, clock, self._rng)
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            # the whole request has its own deadline; the pool never waits, places are counted per server
            timeout=httpx.Timeout(request_timeout, connect=connect_timeout, write=connect_timeout, pool=None),
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=in_flight * len(urls), keepalive_expiry=KEEP_ALIVE
            ),
            transport=transport,
        )

    @property
    def model(self) -> str:
        """The model's name; empty until the server was asked."""
        return self._model

    async def complete(
        self, messages: Sequence[ChatMessage], max_tokens: int, grammar: Grammar | None = None
    ) -> Completion:
        """One answer, not streamed, at temperature 0, by the grammar where the server can.

        Raises:
            TooLong, Rejected: the server refuses this request.
            Slow: no server answers within ``request_timeout``.
            Unavailable: no server answers.
        """
        model = self._model or await self._ask_model()
        body = {
            "model": model,
            "messages": [asdict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        return await self._persist(lambda server, last: self._chat(server, body, None if last else grammar))

    async def chat(self, fields: Mapping[str, Any]) -> Any:
        """The answer's JSON to a chat request of these fields, the model's name apart; raises as ``complete`` does."""
        body = {"model": self._model or await self._ask_model(), **fields}
        return await self._persist(lambda server, _last: self._ask(server, "POST", "/chat/completions", body))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask_model(self) -> str:
        async with self._asking:
            if not self._model:
                self._model = await self._persist(self._first_model)
                log.info("model_server.model", model=self._model)
        return self._model

    async def _first_model(self, server: Server, _last: bool) -> str:
        return _first_model(await self._ask(server, "GET", "/models", None))

    async def _chat(self, server: Server, body: dict[str, Any], grammar: Grammar | None) -> Completion:
        """A completion by the grammar, or, where the server has something against it, without."""
        if grammar is not None and server.grammars.asks():
            began = self._clock()
            asked = body | {_GRAMMAR_FIELD: {"grammar": grammar.ebnf}}
            try:
                completion = _completion(await self._ask(server, "POST", "/chat/completions", asked))
            except _GrammarRefused as refused:
                if not refused.always:
                    log.warning("model_server.refused_grammar", url=server.url)
                elif server.grammars.failed(began):
                    log.warning("model_server.refuses_grammars", url=server.url)
            else:
                return _by_grammar(completion, grammar, server, began)
        return _completion(await self._ask(server, "POST", "/chat/completions", body))

    async def _persist(self, ask: Callable[[Server, bool], Awaitable[T]]) -> T:
        """Ask until an answer can be read or all tries are spent; ``ask`` is told when it is asked for the last time.

        The last time goes without a grammar: one that a server stumbles over must not hold up a call for ever.
        """
        server: Server | None = None
        delay = FIRST_DELAY
        for attempt in range(1, self._tries + 1):
            server = self._servers.chosen(server)
            try:
                return await self._servers.watched(server, ask(server, attempt == self._tries))
            except Passing as passing:
                log.warning("model_server.trouble", url=server.url, attempt=attempt, trouble=str(passing))
                trouble = passing
            if isinstance(trouble, _TimedOut) and len(self._servers) == 1:
                break
            if attempt < self._tries:
                await self._sleep(min(LONGEST_DELAY, max(self._servers.pause(), delay * self._rng.uniform(0.5, 1.0))))
                delay *= 2
        detail = f"no answer from {server.url if server else 'any server'}: {trouble}"
        if isinstance(trouble, _TimedOut):
            raise Slow("model_slow", detail)
        raise Unavailable("model_unavailable", detail)

    async def _ask(self, server: Server, method: str, path: str, body: object) -> Any:
        """One request; its answer's JSON."""
        server.load += 1
        try:
            async with server.places:
                response = await self._request(server, method, path, body)
        finally:
            server.load -= 1
            show_life()
        _check(response, server.url)
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise Passing("the answer is not JSON") from error

    async def _request(self, server: Server, method: str, path: str, body: object) -> httpx.Response:
        """One request in a place of its own; the limit of places learns from it."""
        began, limit = self._clock(), server.places.limit
        try:
            async with asyncio.timeout(self._request_timeout):
                response = await self._client.request(method, server.url + path, json=body)
        except TimeoutError as error:
            limit.overloaded(began, self._clock())
            server.tell_limit()
            raise _TimedOut(f"no answer within {self._request_timeout:g} s") from error
        except httpx.HTTPError as error:
            raise Passing(f"{type(error).__name__}: {error}") from error
        if response.status_code in _OVERLOADED:
            limit.overloaded(began, self._clock())
        else:
            limit.answered(began, self._clock(), server.places.held)
        server.tell_limit()
        return response


def _check(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in _OUR_FAULT:
        text = response.content[:2000].decode("utf-8", "replace")  # whatever character set it claims
        if _GRAMMAR_FIELD in text or _ABOUT_GRAMMAR.search(text):
            raise _GrammarRefused(f"HTTP {status}", always=_GRAMMAR_FIELD in text)
        too_long = status == httpx.codes.REQUEST_ENTITY_TOO_LARGE or _TOO_LONG.search(text)
        raise TooLong(f"HTTP {status}") if too_long else Rejected(f"HTTP {status}")
    if status in _MISCONFIGURED:
        raise Unavailable(
            "model_misconfigured", f"{url} answers HTTP {status}: check the URL, the model's name, the key"
        )
    raise Passing(f"HTTP {status}", _retry_after(response), alive=status == httpx.codes.TOO_MANY_REQUESTS)


def _retry_after(response: httpx.Response) -> float:
    """Seconds; 0 where the header is absent, a date or no number."""
    value = response.headers.get("retry-after", "")
    return float(value) if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", value) else 0.0


def _completion(content: Any) -> Completion:
    try:
        choice = content["choices"][0]
        text = choice["message"]["content"]
        usage = content.get("usage") or {}
        return Completion(
            text=_text(text),
            finish_reason=_text(choice.get("finish_reason")),
            model=_text(content.get("model")),
            prompt_tokens=_tokens(usage.get("prompt_tokens")),
            completion_tokens=_tokens(usage.get("completion_tokens")),
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Passing("the answer is no chat completion") from error


def _text(value: Any) -> str:
    """Without lone surrogates, which JSON can hold and no message can."""
    return str(value or "").encode("utf-8", "replace").decode()


def _tokens(value: Any) -> int:
    """A server's count, 0 where it gives none that can be one; it is told on, and must never cost the answer."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def _by_grammar(completion: Completion, grammar: Grammar, server: Server, began: float) -> Completion:
    """The completion, marked where it is by the grammar that it was asked with; the server is known by that."""
    cut = completion.finish_reason == "length"
    if not cut and not grammar.accepts(completion.text):
        if server.grammars.failed(began):
            log.warning("model_server.ignores_grammars", url=server.url)
        return completion
    if not cut and server.grammars.obeyed(began):
        log.info("model_server.obeys_grammars", url=server.url)
    return replace(completion, constrained=True)


def _first_model(content: Any) -> str:
    try:
        return _text(content["data"][0]["id"])
    except (IndexError, KeyError, TypeError) as error:
        raise Passing("the server names no model") from error
