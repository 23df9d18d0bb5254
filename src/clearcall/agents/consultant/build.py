"""The consultant that the settings describe."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from clearcall.agents.consultant.agent import ChunkConsultant, CorrectionConsultant
from clearcall.agents.consultant.asking import Asker
from clearcall.agents.consultant.backend import Backend
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.decoding import CONSTRAINED, WINDOW_WORDS
from clearcall.agents.consultant.openai import OpenAI
from clearcall.agents.consultant.pieces import ALONE
from clearcall.agents.consultant.recorded import RecordedBackend
from clearcall.agents.consultant.rules import RulesBackend
from clearcall.agents.lexicon import lexicon_of
from clearcall.agents.protocol import Agent
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic


@dataclass(frozen=True, slots=True)
class Consultant:
    """The stage's agents, by what they take; both ask the same backend."""

    chunks: ChunkConsultant
    corrections: CorrectionConsultant
    asker: Asker

    @property
    def by_topic(self) -> Mapping[Topic, Agent[Any]]:
        """The agent of each topic."""
        return {Topic.CHUNKS: self.chunks, Topic.CORRECTIONS: self.corrections}

    async def close(self) -> None:
        """Close the backend's connections."""
        await self.asker.close()


def build(settings: Settings, backend: Backend | None = None) -> Consultant:
    """The consultant; ``backend`` stands for the settings' own where given.

    Raises:
        ValueError: a recorded consultant without a recording.
        UnreadableRecording, OSError: the recording or the lexicon cannot be read.
    """
    lexicon = lexicon_of(settings)
    fallback = RulesBackend(lexicon) if settings.outage == "degrade" else None
    asker = Asker(backend or backend_of(settings), fallback)
    return Consultant(
        chunks=ChunkConsultant(
            asker,
            window_words=_window_words(settings),
            context_words=settings.context_words,
            source_chars=settings.source_chars,
            lexicon=lexicon,
        ),
        corrections=CorrectionConsultant(asker, context_words=settings.context_words, lexicon=lexicon),
        asker=asker,
    )


def _window_words(settings: Settings) -> int:
    if settings.request_shape == "chunk":
        return ALONE
    constrained = settings.consultant == "openai" and settings.decoding == CONSTRAINED
    return min(settings.window_words, WINDOW_WORDS) if constrained else settings.window_words


def backend_of(settings: Settings, transport: httpx.AsyncBaseTransport | None = None) -> Backend:
    """What answers; raises as ``build`` does. ``transport`` carries the requests to model servers where given."""
    if settings.consultant == "rules":
        return RulesBackend(lexicon_of(settings))
    if settings.consultant == "recorded":
        if settings.recording is None:
            raise ValueError("the recorded consultant needs a recording: set CLEARCALL_RECORDING")
        return RecordedBackend.load(settings.recording)
    return ChatBackend(
        OpenAI(
            settings.urls,
            model=settings.model,
            api_key=settings.api_key.get_secret_value(),
            in_flight=settings.requests_in_flight,
            connect_timeout=settings.connect_timeout,
            request_timeout=settings.request_timeout,
            transport=transport,
        ),
        settings.decoding,
        lexicon_of(settings),
    )
