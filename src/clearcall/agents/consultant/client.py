"""Requests to the servers of one model, whatever is asked of it.

Several URLs share the work by requests in flight; each takes so many at once as it bears (``limits``). What may pass
(429, 5xx, a lost connection, an unreadable answer, silence) is tried again with backoff, elsewhere if there is an
elsewhere, then ``Unavailable``. A URL that fails again and again is left alone and probed (``breaker``); while all are,
``Unavailable`` comes at once. What is the request's own fault is ``TooLong`` or ``Rejected`` at once.
"""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import httpx
import structlog

from clearcall.agents.consultant.backend import Rejected, Slow, TooLong
from clearcall.agents.consultant.servers import Passing, Server, Servers
from clearcall.agents.protocol import Misconfigured, Unavailable, show_life
from clearcall.infra.settings_sources import masked

TRIES = 4
"""Attempts at one request before it counts as an outage; the runtime then starts over with its own backoff."""

FIRST_DELAY = 0.5
LONGEST_DELAY = 20.0
"""Seconds before a second attempt and, doubled each time, at most."""

KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept: less than the 5 after which vLLM closes it, or a request would meet that."""

_CHAT = "/chat/completions"
_OVERLOADED = (429, 503)
_OUR_FAULT = (400, 413, 422)
_MISCONFIGURED = (401, 403, 404)
_SAID_BYTES = 2000
_STREAM = "text/event-stream"
_KIND_CHARS = 100
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|max_?(?:model_len|tokens)|too (?:long|large)", re.IGNORECASE
)

log = structlog.get_logger()

T = TypeVar("T")


class _TimedOut(Passing):
    """No answer within the request's deadline; the same request would be as slow on the same server."""


class ModelClient:
    """A model behind one or several URLs that serve it.

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
        self.clock = clock
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

    async def named(self) -> str:
        """The model's name; the first server that answers is asked where it was not given."""
        if self._model:
            return self._model
        async with self._asking:
            if not self._model:
                self._model = await self.persist(self._first_model)
                log.info("model_server.model", model=self._model)
        return self._model

    async def chat(self, fields: Mapping[str, Any]) -> Any:
        """The answer's JSON to a chat request of these fields, the model's name apart.

        Raises:
            TooLong, Rejected: the server refuses this request.
            Slow: no server answers within ``request_timeout``.
            Unavailable: no server answers.
        """
        body = {"model": await self.named(), **fields}
        return await self.persist(lambda server, _last: self.ask_chat(server, body))

    async def ask_chat(self, server: Server, body: Mapping[str, Any]) -> Any:
        """One server's answer to a chat request, once; for use within ``persist``."""
        return await self._ask(server, "POST", _CHAT, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _first_model(self, server: Server, _last: bool) -> str:
        return _first_model(await self._ask(server, "GET", "/models", None))

    async def persist(self, ask: Callable[[Server, bool], Awaitable[T]]) -> T:
        """Ask until an answer can be read or all tries are spent; raises as ``chat`` does.

        ``ask`` is told when it is asked for the last time: what a server stumbles over can then be left out.
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
        detail = f"no answer from {masked(server.url) if server else 'any server'}: {trouble}"
        if isinstance(trouble, _TimedOut):
            raise Slow("model_slow", detail, loggable=True)
        raise Unavailable("model_unavailable", detail, loggable=True)

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
            raise _unreadable(response, server.url) from error

    async def _request(self, server: Server, method: str, path: str, body: object) -> httpx.Response:
        """One request in a place of its own; the limit of places learns from it."""
        began, limit = self.clock(), server.places.limit
        try:
            async with asyncio.timeout(self._request_timeout):
                response = await self._client.request(method, server.url + path, json=body)
        except TimeoutError as error:
            limit.overloaded(began, self.clock())
            server.tell_limit()
            raise _TimedOut(f"no answer within {self._request_timeout:g} s") from error
        except httpx.HTTPError as error:
            raise Passing(f"{type(error).__name__}: {error}") from error
        if response.status_code in _OVERLOADED:
            limit.overloaded(began, self.clock())
        else:
            limit.answered(began, self.clock(), server.places.held)
        server.tell_limit()
        return response


def _check(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in _OUR_FAULT:
        text = response.content[:_SAID_BYTES].decode("utf-8", "replace")  # whatever character set it claims
        too_long = status == httpx.codes.REQUEST_ENTITY_TOO_LARGE or _TOO_LONG.search(text)
        raise (TooLong if too_long else Rejected)(f"HTTP {status}", text)
    if status in _MISCONFIGURED:
        raise Misconfigured(
            "model_misconfigured",
            f"{masked(url)} answers HTTP {status}: check the URL, the model's name, the key",
            loggable=True,
        )
    raise Passing(f"HTTP {status}", _retry_after(response), alive=status == httpx.codes.TOO_MANY_REQUESTS)


def _unreadable(response: httpx.Response, url: str) -> Exception:
    """What an answer that is no JSON means: one in a stream, though none was asked for, comes again and again."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()[:_KIND_CHARS]
    if kind == _STREAM:
        return Unavailable("model_misconfigured", f"{url} answers in {kind}, though no stream was asked for")
    return Passing(f"the answer is {kind or 'of no content type'}, and not JSON")


def _retry_after(response: httpx.Response) -> float:
    """Seconds; 0 where the header is absent, a date or no number."""
    value = response.headers.get("retry-after", "")
    return float(value) if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", value) else 0.0


def _first_model(content: Any) -> str:
    try:
        return plain_text(content["data"][0]["id"])
    except (IndexError, KeyError, TypeError) as error:
        raise Passing("the server names no model") from error


def plain_text(value: Any) -> str:
    """A value of a server's JSON as text, without lone surrogates, which JSON can hold and no message can."""
    return str(value or "").encode("utf-8", "replace").decode()
