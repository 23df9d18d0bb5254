"""What the consultant in process asks of an inference engine, and what comes back.

EngineFailed    no answer: the engine died, or stumbled over this request
GrammarRefused  the engine has something against this grammar (a ``Rejected``)
"""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clearcall.agents.consultant.backend import ChatMessage, Rejected

_ENVIRONMENT = {
    # the owner has threads and an event loop, which do not survive a fork, and a guard's pipe, which it would keep open
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
_DEFAULT_ENVIRONMENT = {
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is for results
    "VLLM_NO_USAGE_STATS": "1",  # what runs where transcripts are handled is nobody else's affair
}


class EngineFailed(Exception):
    """No answer: the engine died, or stumbled over this request."""


class GrammarRefused(Rejected):
    """The engine has something against this grammar."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How vLLM is started; the names are vLLM's own.

    Args:
        model: a name on the hub, or a folder.
        max_model_len: tokens of prompt and answer.
        max_num_seqs: requests in one step.
        gpu_memory_utilization: share of each GPU's memory for weights and cache.
        dtype: of the weights in memory; ``auto`` takes the model's own.
        quantization: such as ``fp8``; empty takes the model as it is.
        tensor_parallel_size: GPUs that share the model.
        enforce_eager: no graphs are compiled; starts sooner, answers slower.
    """

    model: str
    max_model_len: int
    max_num_seqs: int
    gpu_memory_utilization: float = 0.9
    dtype: str = "auto"
    quantization: str = ""
    tensor_parallel_size: int = 1
    enforce_eager: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What the engine wrote; ``finish_reason`` ``length`` is an answer cut off."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


class Engine(Protocol):
    """An engine that has started. Used from one event loop; safe for several tasks at once."""

    @property
    def alive(self) -> bool:
        """Whether it takes requests; once false, always false."""
        ...

    async def write(self, messages: Sequence[ChatMessage], max_tokens: int, ebnf: str | None) -> Written:
        """The model's answer at temperature 0, by the grammar if there is one; cancelled, it is written no further.

        Raises:
            TooLong: prompt and answer do not fit.
            GrammarRefused, Rejected: the engine refuses the request.
            EngineFailed: no answer.
        """
        ...

    def close(self) -> None:
        """End it and its processes; blocks for seconds."""
        ...


def require_vllm() -> None:
    """Raise ``ModuleNotFoundError`` where vLLM is not installed; it is not imported, which takes seconds."""
    if importlib.util.find_spec("vllm") is None:
        raise ModuleNotFoundError("the consultant vllm needs vLLM: pip install 'clearcall[vllm]'", name="vllm")


def start_vllm(options: EngineOptions) -> Engine:
    """Start vLLM and load the model; blocks for as long as that takes, and raises whatever vLLM does.

    Sets variables of vLLM's in this process's environment.
    """
    os.environ.update(_ENVIRONMENT)
    for name, value in _DEFAULT_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from clearcall.agents.consultant import vllm_engine  # noqa: PLC0415 - an extra, and it reads the environment

    return vllm_engine.start(options)
