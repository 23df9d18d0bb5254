"""What a server answered, kept: modes that ask the same thing ask it once, and an interrupted run goes on."""

import hashlib
import json
from pathlib import Path

import httpx
from typing_extensions import override


class UnreadableAnswers(Exception):
    """The file of answers holds something else."""


class Kept(httpx.AsyncBaseTransport):
    """A transport that sends a request once and answers the same one from memory, or from ``file`` where given.

    It stays open when a client closes it, so that the next one can use it: ``close`` ends it.

    Raises:
        UnreadableAnswers: the file is none of ours.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, file: Path | None = None) -> None:
        self._inner = inner
        self._file = file
        self._answers = _read(file) if file and file.exists() else {}

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        key = hashlib.sha256(request.url.path.encode() + b"\n" + request.content).hexdigest()
        known = self._answers.get(key)
        if known is None:
            response = await self._inner.handle_async_request(request)
            content = await response.aread()
            if response.status_code != httpx.codes.OK:
                return httpx.Response(response.status_code, headers=response.headers, content=content)
            known = self._answers[key] = content.decode()
            self._write(key, known)
        return httpx.Response(httpx.codes.OK, headers={"content-type": "application/json"}, content=known)

    async def close(self) -> None:
        """Close what is behind."""
        await self._inner.aclose()

    def _write(self, key: str, answer: str) -> None:
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, answer]) + "\n")


def _read(file: Path) -> dict[str, str]:
    try:
        return {str(key): str(answer) for key, answer in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    except (TypeError, ValueError) as error:
        raise UnreadableAnswers(f"{file} holds no answers: {error}") from error
