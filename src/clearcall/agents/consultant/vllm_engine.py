"""vLLM's ``AsyncLLM`` as an engine: the only module that imports vLLM. Checked with vLLM 0.32."""

import gc
from collections.abc import Sequence
from contextlib import aclosing
from itertools import count
from typing import Any

from vllm import AsyncEngineArgs, SamplingParams
from vllm.exceptions import VLLMClientError, VLLMServerError
from vllm.renderers import ChatParams
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
from vllm.v1.engine.async_llm import AsyncLLM

from clearcall.agents.consultant.backend import ChatMessage, Rejected, TooLong
from clearcall.agents.consultant.engine import EngineFailed, EngineOptions, GrammarRefused, Written

LEAST_ROOM = 0.5
"""Of the tokens asked for, which are about twice what an answer takes: with less room it would be cut off."""

_TOO_LONG = ("input_text", "input_tokens")  # the parameter that vLLM's refusal names
_WRITTEN = ("stop", "length")

_PROBE = tuple(ChatMessage(role, role) for role in ("system", "user", "assistant", "user"))
"""The roles of every chat that is asked for: a template that does not take them is found at the start."""


class VLLMEngine:
    """An engine of vLLM's; the work is done in a process of its own."""

    def __init__(self, llm: Any) -> None:
        self._llm: Any = llm
        self._longest: int = llm.model_config.max_model_len
        self._numbers = count()

    @property
    def alive(self) -> bool:
        """False once vLLM has lost its process."""
        return self._llm is not None and not self._llm.errored

    async def write(self, messages: Sequence[ChatMessage], max_tokens: int, ebnf: str | None) -> Written:
        """One answer, at temperature 0 and with no other of the model's own defaults for sampling."""
        prompt = await self._prompt(messages)
        length = len(prompt["prompt_token_ids"])
        room = self._longest - length
        if room < LEAST_ROOM * max_tokens:
            raise TooLong(f"{length} tokens of prompt and {max_tokens} to answer, of {self._longest}")
        sampling = SamplingParams(
            temperature=0.0,
            max_tokens=min(max_tokens, room),
            structured_outputs=None if ebnf is None else StructuredOutputsParams(grammar=ebnf),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        try:
            output = await self._generate(prompt, sampling)
        except VLLMClientError as error:
            refusal = Rejected if ebnf is None else GrammarRefused
            raise refusal(type(error).__name__) from error
        except VLLMServerError as error:
            raise EngineFailed(type(error).__name__) from error
        answer = output.outputs[0]
        if answer.finish_reason not in _WRITTEN:
            raise EngineFailed(f"the answer ended by {answer.finish_reason}")
        return Written(answer.text, answer.finish_reason, length, len(answer.token_ids))

    def close(self) -> None:
        """End vLLM's processes."""
        if self._llm is not None:
            self._llm.shutdown()
        self._llm = None
        gc.collect()  # it is in cycles, and its finaliser fails when the interpreter has gone

    async def _prompt(self, messages: Sequence[ChatMessage]) -> Any:
        """The chat by the model's template, as tokens."""
        renderer = self._llm.renderer
        try:
            _, (prompt,) = await renderer.render_chat_async(
                [_plain(messages)], ChatParams(), renderer.default_chat_tok_params
            )
        except VLLMClientError as error:
            too_long = getattr(error, "parameter", None) in _TOO_LONG
            raise (TooLong if too_long else Rejected)(type(error).__name__) from error
        return prompt

    async def _generate(self, prompt: Any, sampling: Any) -> Any:
        async with aclosing(self._llm.generate(prompt, sampling, f"clearcall-{next(self._numbers)}")) as outputs:
            return [output async for output in outputs][-1]


def start(options: EngineOptions) -> VLLMEngine:
    """Load the model; raises whatever vLLM does, and where the model's chat template does not take the prompts."""
    arguments = AsyncEngineArgs(
        model=options.model,
        max_model_len=options.max_model_len,
        max_num_seqs=options.max_num_seqs,
        gpu_memory_utilization=options.gpu_memory_utilization,
        dtype=options.dtype,
        quantization=options.quantization or None,
        tensor_parallel_size=options.tensor_parallel_size,
        enforce_eager=options.enforce_eager,
        enable_prefix_caching=True,  # instructions and examples are the same in every request
        structured_outputs_config={"backend": "xgrammar"},  # takes our grammars as they are
        enable_log_requests=False,  # what was said stays out of the log
        disable_log_stats=True,
    )
    llm = AsyncLLM.from_engine_args(arguments)
    try:
        llm.renderer.render_chat([_plain(_PROBE)], ChatParams(), llm.renderer.default_chat_tok_params)
    except Exception:
        llm.shutdown()
        raise
    return VLLMEngine(llm)


def _plain(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
