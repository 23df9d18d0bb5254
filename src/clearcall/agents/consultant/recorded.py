"""The consultant from a recording, and the wrapper that makes one."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from clearcall.agents.consultant.backend import Answer, Answers, Backend, Line, Request
from clearcall.agents.consultant.decoding import decoding_at
from clearcall.agents.consultant.pieces import count_words, shares
from clearcall.agents.consultant.recording import Header, Place, Recorded, digest, place_of, read
from clearcall.agents.protocol import Poison
from clearcall.schemas import ConsultantInfo, Failure


class RecordedBackend:
    """Answers what a model answered when it was recorded.

    A call that is not in it, or has other words now, is ``Poison``: the recording is of other calls. A chunk of a
    recorded call may lack an answer, since scoring may flag today what it did not flag then, and take for speech
    what counted as a filler: that is the failure ``not_recorded``.
    """

    def __init__(self, header: Header, answers: dict[Place, Recorded]) -> None:
        self._header = header
        self._answers = answers
        self._calls = {call_id for call_id, *_ in answers}

    @classmethod
    def load(cls, path: Path) -> "RecordedBackend":
        """From a file; raises ``UnreadableRecording`` or ``OSError``."""
        return cls(*read(path))

    def info(self, iteration: int) -> ConsultantInfo:
        """The recorded model, with the prompt of its answers at this iteration."""
        versions = self._header.prompt_versions
        return ConsultantInfo(
            backend="recorded",
            model=self._header.model,
            prompt_version=versions[min(iteration, len(versions) - 1)] if versions else "",
            decoding=decoding_at(self._header.decoding, iteration),
        )

    async def answer(self, request: Request) -> Answers:
        """The recorded answer of each line."""
        found = [self._find(line, request.iteration) for line in request.lines]
        return Answers(
            tuple(Answer(row.text, row.failure) if row else Answer("", Failure.NOT_RECORDED) for row in found),
            _decoded(self.info(request.iteration), [row for row in found if row]),
            sum(row.prompt_tokens for row in found if row),
            sum(row.completion_tokens for row in found if row),
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _find(self, line: Line, iteration: int) -> Recorded | None:
        found = self._answers.get(place_of(line, iteration))
        if found is None and line.chunk.call_id in self._calls:
            return None
        if found is None:
            raise Poison(
                "not_recorded",
                f"the recording does not have the call of chunk {line.chunk.message_id}",
                loggable=True,
            )
        if found.source != digest(line.text):
            raise Poison(
                "not_recorded",
                f"the recording answers other words than chunk {line.chunk.message_id} has now",
                loggable=True,
            )
        return found


class Recorder:
    """A backend that notes what another one answers, and asks for nothing twice.

    ``kept`` are notes from before; ``clock`` gives seconds.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Callable[[], float] = time.monotonic,
        kept: Mapping[Place, Recorded] = MappingProxyType({}),
    ) -> None:
        self._backend = backend
        self._clock = clock
        self.answers = dict(kept)

    def info(self, iteration: int) -> ConsultantInfo:
        """The recorded backend's."""
        return self._backend.info(iteration)

    async def answer(self, request: Request) -> Answers:
        """Ask for the lines that are not noted yet, note them, answer from the notes."""
        missing = tuple(line for line in request.lines if self._noted(line, request.iteration) is None)
        if missing:
            await self._ask(replace(request, lines=missing))
        rows = [self.answers[place_of(line, request.iteration)] for line in request.lines]
        return Answers(
            tuple(Answer(row.text, row.failure) for row in rows),
            _decoded(self.info(request.iteration), rows),
            sum(row.prompt_tokens for row in rows),
            sum(row.completion_tokens for row in rows),
        )

    async def _ask(self, request: Request) -> None:
        began = self._clock()
        answers = await self._backend.answer(request)
        latency_ms = round((self._clock() - began) * 1000, 1)
        weights = [count_words(line.text) for line in request.lines]
        prompt = shares(answers.prompt_tokens, weights)
        completion = shares(answers.completion_tokens, weights)
        for at, (line, answer) in enumerate(zip(request.lines, answers.answers, strict=True)):
            row = Recorded(
                call_id=line.chunk.call_id,
                chunk_id=line.chunk.chunk_id,
                part=line.part,
                iteration=request.iteration,
                source=digest(line.text),
                text=answer.text,
                failure=answer.failure,
                prompt_version=answers.consultant.prompt_version,
                decoding=answers.consultant.decoding,
                prompt_tokens=prompt[at],
                completion_tokens=completion[at],
                latency_ms=latency_ms,
            )
            self.answers[row.place] = row

    def _noted(self, line: Line, iteration: int) -> Recorded | None:
        found = self.answers.get(place_of(line, iteration))
        return found if found and found.source == digest(line.text) else None

    async def close(self) -> None:
        """Close the recorded backend."""
        await self._backend.close()


def _decoded(info: ConsultantInfo, rows: Sequence[Recorded]) -> ConsultantInfo:
    """With the decoding that the rows were answered with, where they say it."""
    decoding = next((row.decoding for row in rows if row.decoding), info.decoding)
    return info.model_copy(update={"decoding": decoding})
