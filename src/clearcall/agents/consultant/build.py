"""The consultant that the settings describe."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from clearcall.agents.consultant.agent import ChunkConsultant, CorrectionConsultant
from clearcall.agents.consultant.asking import Asker
from clearcall.agents.consultant.backend import Backend, ChatModel
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.decoding import CONSTRAINED, WINDOW_WORDS
from clearcall.agents.consultant.engine import EngineOptions, require_vllm, start_vllm
from clearcall.agents.consultant.in_process import InProcess
from clearcall.agents.consultant.next_task import TaskConsultant
from clearcall.agents.consultant.openai import OpenAI
from clearcall.agents.consultant.pieces import ALONE
from clearcall.agents.consultant.prompt import Prompts, prompts_of
from clearcall.agents.consultant.recorded import RecordedBackend
from clearcall.agents.consultant.rules import RulesBackend
from clearcall.agents.lexicon import lexicon_of
from clearcall.agents.protocol import Agent
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic, Track

CHAT_CONSULTANTS = ("openai", "vllm")
"""Those behind which a language model answers."""


@dataclass(frozen=True, slots=True)
class Consultant:
    """The agents of one consultant, by what they take; all ask the same backend."""

    chunks: ChunkConsultant
    corrections: CorrectionConsultant
    handovers: TaskConsultant
    asker: Asker

    @property
    def by_topic(self) -> Mapping[Topic, Agent[Any]]:
        """The agent of each topic of a stage with one task."""
        return {Topic.CHUNKS: self.chunks, Topic.CORRECTIONS: self.corrections}

    async def close(self) -> None:
        """Close the backend's connections."""
        await self.asker.close()


def build(settings: Settings, backend: Backend | None = None, track: Track | None = None) -> Consultant:
    """The consultant; ``backend`` stands for the settings' own where given, ``track`` is that of its chunks.

    Raises:
        ValueError: a recorded consultant without a recording; a prompt that does not exist.
        UnreadableRecording, OSError: the recording, the lexicon or a prompt cannot be read.
        ModuleNotFoundError: vLLM is wanted in this process and not installed.
    """
    return around(settings, asker_of(settings, backend or backend_of(settings)), track or Track())


def around(settings: Settings, asker: Asker, track: Track) -> Consultant:
    """The consultant that asks by ``asker``; raises as ``build`` does."""
    lexicon = lexicon_of(settings)
    return Consultant(
        chunks=ChunkConsultant(
            asker,
            window_words=_window_words(settings),
            context_words=settings.context_words,
            source_chars=settings.source_chars,
            lexicon=lexicon,
            track=track,
        ),
        corrections=CorrectionConsultant(asker, context_words=settings.context_words, lexicon=lexicon),
        handovers=TaskConsultant(asker, context_words=settings.context_words, lexicon=lexicon),
        asker=asker,
    )


def asker_of(settings: Settings, backend: Backend, fallback: Backend | None = None) -> Asker:
    """What gets requests answered by ``backend``; while it is away by ``fallback``, else the rules, if they may."""
    degraded = fallback or RulesBackend(lexicon_of(settings))
    return Asker(backend, degraded if settings.outage == "degrade" else None)


def _window_words(settings: Settings) -> int:
    if settings.request_shape == "chunk":
        return ALONE
    constrained = settings.consultant in CHAT_CONSULTANTS and settings.decoding == CONSTRAINED
    return min(settings.window_words, WINDOW_WORDS) if constrained else settings.window_words


def backend_of(
    settings: Settings, transport: httpx.AsyncBaseTransport | None = None, prompts: Prompts | None = None
) -> Backend:
    """What answers; raises as ``build`` does.

    ``transport`` carries the requests to model servers where given; ``prompts`` stand for the settings' own.
    """
    if settings.consultant == "rules":
        return RulesBackend(lexicon_of(settings))
    if settings.consultant == "recorded":
        if settings.recording is None:
            raise ValueError("the recorded consultant needs a recording: set CLEARCALL_RECORDING")
        return RecordedBackend.load(settings.recording)
    return chat_backend(settings, chat_model(settings, transport), prompts)


def chat_model(settings: Settings, transport: httpx.AsyncBaseTransport | None = None) -> ChatModel:
    """The language model of the settings, in this process or behind URLs; one serves all tasks of a consultant.

    Raises:
        ModuleNotFoundError: vLLM is wanted in this process and not installed.
    """
    if settings.consultant == "vllm":
        require_vllm()
        return InProcess(
            settings.model,
            partial(start_vllm, engine_options(settings)),
            in_flight=settings.requests_in_flight,
            request_timeout=settings.request_timeout,
        )
    return OpenAI(
        settings.urls,
        model=settings.model,
        api_key=settings.api_key.get_secret_value(),
        in_flight=settings.requests_in_flight,
        connect_timeout=settings.connect_timeout,
        request_timeout=settings.request_timeout,
        transport=transport,
    )


def engine_options(settings: Settings) -> EngineOptions:
    """How the engine in this process is started; it takes as many requests in one step as may be under way."""
    return EngineOptions(
        model=settings.model,
        max_model_len=settings.vllm_max_model_len,
        max_num_seqs=settings.requests_in_flight,
        gpu_memory_utilization=settings.vllm_gpu_memory_utilization,
        dtype=settings.vllm_dtype,
        quantization=settings.vllm_quantization,
        tensor_parallel_size=settings.vllm_tensor_parallel_size,
        enforce_eager=settings.vllm_enforce_eager,
    )


def chat_backend(settings: Settings, model: ChatModel, prompts: Prompts | None = None) -> ChatBackend:
    """The model with the settings' decoding, lexicon and prompts; raises as ``build`` does."""
    return ChatBackend(model, settings.decoding, lexicon_of(settings), prompts or prompts_of(settings.prompt))
