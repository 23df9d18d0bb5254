"""A model server's response: its status and content type on one line, then the body; what it leads to is a draft."""

import asyncio
import random

import httpx

from clearcall.agents.consultant.build import build
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.openai import OpenAI
from clearcall.agents.protocol import Unavailable
from clearcall.infra.settings import Settings
from clearcall.schemas import Chunk, Incoming, Outgoing, encode

WORDS = (
    *("200 application/json\n", "400 text/plain\n", "429 text/plain\n", "200 application/json; charset=utf-16\n"),
    *('{"choices":[{"message":{"content":"', '"finish_reason":"length"', '"usage":{"prompt_tokens":', '"model":'),
    *(
        "Infinity",
        "NaN",
        "-1",
        "1e999",
        "maximum context length",
        "grammar",
        "structured_outputs",
        r"\ud800",
        "1 agent: ",
    ),
)

_CHUNKS = [
    Chunk(call_id="c", chunk_id=number, speaker=number, text=text)
    for number, text in enumerate(("um it costs forty dollars", "oh no it does not"))
]
_SETTINGS = Settings.model_construct(**Settings().model_dump() | {"model": "given"})


def check(data: bytes) -> None:
    """Any response leads to drafts that can be sent, or to ``Unavailable``."""
    first, _, body = data.partition(b"\n")
    status, _, content_type = first.partition(b" ")
    code = int(status) if status.isdigit() and 200 <= int(status[:9]) <= 599 else httpx.codes.OK
    headers = [(b"content-type", content_type.strip() or b"application/json")]
    for draft in asyncio.run(_drafts(httpx.Response(code, headers=headers, content=body))):
        assert encode(draft.message)


async def _drafts(response: httpx.Response) -> list[Outgoing]:
    def respond(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)

    model = OpenAI(
        ["http://model/v1"],
        model="given",
        sleep=_at_once,
        rng=random.Random(1),
        clock=lambda: 0.0,
        transport=httpx.MockTransport(respond),
    )
    consultant = build(_SETTINGS, ChatBackend(model))
    try:
        return await consultant.chunks([Incoming(chunk) for chunk in _CHUNKS])
    except Unavailable:
        return []
    finally:
        await consultant.close()


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)
