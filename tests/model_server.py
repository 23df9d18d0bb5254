"""A model server for tests: OpenAI's chat completions over real HTTP, with answers as the test wants them."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(text: str | None, finish_reason: str = "stop") -> dict[str, Any]:
    """A chat completion as vLLM writes it."""
    return {
        "model": "served",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7},
    }


def asked_lines(body: dict[str, Any]) -> list[str]:
    """The numbered lines of the last transcript in a request."""
    transcript = body["messages"][-1]["content"].rpartition("<transcript>\n")[2].partition("\n</transcript>")[0]
    return [line for line in transcript.split("\n") if re.match(r"[0-9]+ [a-z]", line)]


def echo(body: dict[str, Any]) -> dict[str, Any]:
    """A perfect copy of what was asked."""
    return completion("\n".join(asked_lines(body)))


@asynccontextmanager
async def serving(answer: Callable[[dict[str, Any]], Any], *, stop_with_client: bool = False) -> AsyncIterator[str]:
    """The base URL of a server on a free port; ``answer`` makes a body's JSON or a whole response.

    With ``stop_with_client`` it is cancelled where the client goes, as vLLM aborts.
    """

    async def chat(request: web.Request) -> web.StreamResponse:
        made = answer(await request.json())
        if isinstance(made, Awaitable):
            made = await made
        return made if isinstance(made, web.StreamResponse) else web.json_response(made)

    async def models(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"data": [{"id": "served"}]})

    app = web.Application(client_max_size=2**24)
    app.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models)])
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=stop_with_client)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
