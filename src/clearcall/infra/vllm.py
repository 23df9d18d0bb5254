"""The command that serves a model with vLLM for clearcall, and why each flag stands there.

Flags are those of the vLLM release that is pinned here. What a GPU can hold is reckoned from the model's parameters
and how they are quantised, which its name tells as a rule ("Qwen2.5-7B-Instruct-AWQ").
"""

import json
import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

VERSION = "0.32.0"
"""The vLLM release that the flags are of; the compose file has the same one."""


class Speculation(StrEnum):
    """How tokens are guessed ahead: not at all, from the prompt's n-grams, or from suffix trees."""

    AUTO = "auto"
    NONE = "none"
    NGRAM = "ngram"
    SUFFIX = "suffix"


class Load(StrEnum):
    """How many requests are under way as a rule: a few, or as many as the server takes."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: memory in GB, whether it reckons in FP8, and what it takes at once."""

    name: str
    memory: int
    fp8: bool
    sequences: int
    batched_tokens: int


class GpuName(StrEnum):
    """The kinds of GPU that are known."""

    H200 = "h200"
    A100 = "a100"
    L4 = "l4"
    RTX_3090 = "3090"


GPUS = {
    GpuName.H200: Gpu("H200", 141, fp8=True, sequences=256, batched_tokens=16_384),
    GpuName.A100: Gpu("A100 80 GB", 80, fp8=False, sequences=128, batched_tokens=8_192),
    GpuName.L4: Gpu("L4", 24, fp8=True, sequences=48, batched_tokens=4_096),
    GpuName.RTX_3090: Gpu("RTX 3090", 24, fp8=False, sequences=48, batched_tokens=4_096),
}

MODEL_LENGTH = 4096
"""Tokens of prompt and answer: instructions and examples about 700, 600 words of speech and 120 of context about 1,000,
the answer as much again, and what corrections repeat."""

_SHARE = 0.9
"""Of the GPU's memory, for weights and cache."""

_ROOM = 0.7
"""Most of that share for weights: the rest is the cache, without which few requests fit at once."""

_SIZE = re.compile(
    r"(?<![A-Za-z0-9.])([0-9]+(?:\.[0-9]+)?)(?:x([0-9]+(?:\.[0-9]+)?))?([bm])(?![a-z0-9])", re.IGNORECASE
)
_LEAST_MILLIONS = 10
"""Smaller numbers of millions in a name ("7B-Instruct-1M") are the length of its context."""

_EIGHT_BITS = re.compile(r"fp8|int8|w8a(?:8|16)|8[-_]?bit", re.IGNORECASE)
_FOUR_BITS = re.compile(r"awq|gptq|int4|w4a(?:8|16)|4[-_]?bit|(?:nv|mx)fp4|bnb|gguf", re.IGNORECASE)

_TOOL_PARSERS = """
apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots ernie45
functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b hy_v3 hy_v4 inkling
internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json llama4_pythonic longcat mimo minicpm5
minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai phi4_mini_json plamo3 poolside_v1 pythonic qwen3_coder
qwen3_json qwen3_xml seed_oss step3 step3p5 xlam
"""
TOOL_PARSERS = frozenset(_TOOL_PARSERS.split())
"""The names that the pinned release registers in ``vllm/tool_parsers/__init__.py``."""


class CannotServe(ValueError):
    """The server would not start; the text says why, and ``todo`` what else to ask for."""

    todo = ""


class UnknownParser(CannotServe):
    """The pinned release has no such parser of tool calls."""

    todo = "the one of this list that the model's card names"


class UnevenGpus(CannotServe):
    """So many GPUs cannot share a model."""

    todo = "1, 2, 4 or 8 --gpus, or a server on each GPU and a --url for each"


class DoesNotFit(CannotServe):
    """The model does not fit the GPU, or its size is not known."""

    todo = "a smaller or a quantised model, more --gpus, or --parameters"


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, its value (empty where it takes none), and the reason."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class ServeCommand:
    """``vllm serve`` with its flags; ``notes`` are what else is to be known."""

    model: str
    flags: tuple[Flag, ...]
    notes: tuple[str, ...]

    def line(self) -> str:
        """As a shell takes it, one flag a line."""
        flags = [f"{flag.name} {shlex.quote(flag.value)}" if flag.value else flag.name for flag in self.flags]
        return " \\\n  ".join([f"vllm serve {shlex.quote(self.model)}", *flags])

    def script(self) -> str:
        """The reasons as comments, then the line."""
        width = max(len(flag.name) for flag in self.flags)
        reasons = [f"# {flag.name.ljust(width)}  {flag.reason}" for flag in self.flags]
        return "\n".join([*reasons, *(f"# {note}" for note in self.notes), self.line()])


def serve_command(
    gpu: GpuName,
    model: str,
    *,
    gpus: int = 1,
    billions: float | None = None,
    load: Load = Load.HIGH,
    speculation: Speculation = Speculation.AUTO,
    shared_memory: bool = False,
    tool_parser: str = "",
    port: int = 8000,
) -> ServeCommand:
    """The command for a model on a kind of GPU.

    Args:
        gpu: what it runs on.
        model: its name on the hub, or a path.
        gpus: how many of them share the model.
        billions: of parameters; ``None`` reads them from the name.
        load: what is usual.
        speculation: ``auto`` chooses by GPU and load.
        shared_memory: whether the tokens of one call may be kept to guess those of others.
        tool_parser: the model family's parser of tool calls, where the evaluator agent is to use them.
        port: where it listens, on this machine only.

    Raises:
        DoesNotFit: even quantised it does not, or the size is not known.
        UnevenGpus: the number of GPUs is no power of two.
        UnknownParser: there is no such parser of tool calls.
    """
    if tool_parser and tool_parser not in TOOL_PARSERS:
        raise UnknownParser(f"vLLM {VERSION} has no parser {tool_parser!r}; it has {', '.join(sorted(TOOL_PARSERS))}")
    if gpus & (gpus - 1):
        raise UnevenGpus(f"{gpus} GPUs cannot share a model: each takes as many of its attention heads, mostly 2^n")
    card = GPUS[gpu]
    flags = [
        Flag("--host", "127.0.0.1", "transcripts come here unencrypted: other machines through a proxy with TLS"),
        Flag("--port", str(port), f"clearcall's url is then http://localhost:{port}/v1"),
        *_memory(card, model, gpus, billions),
        Flag(
            "--max-model-len", str(MODEL_LENGTH), "a window, its context and a correction fit; more would be idle cache"
        ),
        Flag(
            "--max-num-seqs",
            str(card.sequences),
            "requests in one step; set CLEARCALL_REQUESTS_IN_FLIGHT no higher, more would only queue",
        ),
        Flag("--max-num-batched-tokens", str(card.batched_tokens), "tokens of one step: prompts of many calls at once"),
        Flag("--enable-prefix-caching", "", "instructions and examples are the same in every request: reckoned once"),
        Flag("--enable-chunked-prefill", "", "a long prompt does not hold up the answers under way"),
        Flag(
            "--structured-outputs-config",
            json.dumps({"backend": "xgrammar"}),
            "takes clearcall's grammars as they are; auto may choose a backend that does not",
        ),
        Flag("--generation-config", "vllm", "not the model's own: a repetition penalty there works against copying"),
        Flag("--no-enable-log-requests", "", "what was said stays out of the server's log"),
    ]
    if tool_parser:
        flags += [
            Flag("--enable-auto-tool-choice", "", "without it no parser of tool calls is loaded, named or not"),
            Flag("--tool-call-parser", tool_parser, "the evaluator agent's tool calls; without one vLLM refuses them"),
        ]
    chosen, why = _speculation(card, load, speculation)
    if chosen is not Speculation.NONE:
        flags.append(Flag("--speculative-config", json.dumps(_speculative(chosen, shared=shared_memory)), why))
    return ServeCommand(model, tuple(flags), tuple(_notes(chosen, why, shared=shared_memory)))


def parameters_of(model: str) -> float | None:
    """Billions of parameters by the model's name; ``None`` where it does not say."""
    sizes = [
        float(first) * float(second or 1) / (1 if unit in "bB" else 1000)
        for first, second, unit in _SIZE.findall(model.rpartition("/")[2])
        if unit in "bB" or float(first) >= _LEAST_MILLIONS
    ]
    return max(sizes, default=0.0) or None


def bytes_of_a_weight(model: str) -> float | None:
    """By how the model's name says that it is quantised; ``None`` where it is not. The least, where names differ."""
    if _EIGHT_BITS.search(model):
        return 1.0
    return 0.5 if _FOUR_BITS.search(model) else None


def _memory(card: Gpu, model: str, gpus: int, billions: float | None) -> list[Flag]:
    """How the weights come to fit."""
    flags = [
        Flag("--gpu-memory-utilization", f"{_SHARE:g}", f"of {card.memory} GB: weights, and the cache in the rest")
    ]
    if gpus > 1:
        flags.insert(
            0, Flag("--tensor-parallel-size", str(gpus), f"the model lies on {gpus} GPUs, which divide its heads")
        )
    size = billions if billions is not None else parameters_of(model)
    if size is None:
        raise DoesNotFit(f"the name {model!r} does not tell how many parameters it has")
    room = card.memory * gpus * _SHARE * _ROOM
    if (quantised := bytes_of_a_weight(model)) is not None:
        if quantised * size > room:
            raise DoesNotFit(
                f"{size:g} billion parameters are {quantised * size:g} GB at {8 * quantised:g} bits; "
                f"{gpus} {card.name} have room for {room:.0f}"
            )
        return flags  # vLLM reads from the model how it is quantised
    if 2 * size <= room:
        return [*flags, Flag("--dtype", "bfloat16", f"{2 * size:g} GB of weights fit: nothing need be quantised")]
    if size > room:
        raise DoesNotFit(
            f"{size:g} billion parameters are {size:g} GB even in FP8; {gpus} {card.name} have room for {room:.0f}"
        )
    how = "which it reckons in" if card.fp8 else "as storage only (Marlin): it saves memory, not time"
    return [
        *flags,
        Flag("--quantization", "fp8", f"{2 * size:g} GB of weights do not fit, {size:g} GB in FP8 do, {how}"),
    ]


def _speculation(card: Gpu, load: Load, wanted: Speculation) -> tuple[Speculation, str]:
    if wanted is Speculation.NONE:
        return wanted, "off, as asked for"
    if wanted is Speculation.SUFFIX or (wanted is Speculation.AUTO and card.name == "H200"):
        return Speculation.SUFFIX, (
            "answers repeat the prompt: 1.36 times as fast with one request under way in our trial (Qwen2.5 1.5B); "
            "on an H200 the better way at every load in public tests"
        )
    if wanted is Speculation.NGRAM or load is Load.LOW:
        return Speculation.NGRAM, "answers copy the prompt: helps at low load, hurts at high load"
    return Speculation.NONE, "off: n-grams hurt at high load (--load low, or --speculation, says otherwise)"


def _speculative(chosen: Speculation, *, shared: bool) -> dict[str, str | int]:
    if chosen is Speculation.NGRAM:
        return {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_min": 2, "prompt_lookup_max": 4}
    if shared:
        return {"method": "suffix"}
    return {"method": "suffix", "suffix_decoding_max_cached_requests": 0}


def _notes(chosen: Speculation, why: str, *, shared: bool) -> list[str]:
    notes = [f"Of vLLM {VERSION}; others may call flags otherwise."]
    notes += ["A key, if wanted, goes in VLLM_API_KEY and CLEARCALL_API_KEY, not on the command line."]
    if chosen is Speculation.NONE:
        notes.append(f"Speculation is {why}.")
    if chosen is Speculation.SUFFIX:
        kept = "keeps the answers of other calls" if shared else "guesses from the request's own prompt alone"
        notes.append(f"Suffix decoding needs pip install arctic-inference; it {kept} (--shared-memory says which).")
    return notes
