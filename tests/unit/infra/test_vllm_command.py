"""The command that serves a model with vLLM."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from clearcall.infra.vllm import (
    GPUS,
    TOOL_PARSERS,
    VERSION,
    DoesNotFit,
    GpuName,
    Load,
    ServeCommand,
    Speculation,
    UnevenGpus,
    parameters_of,
    serve_command,
)
from clearcall.streams.cli import app

HOME = Path(os.environ.get("LOCAL_VLLM_HOME", "~/.cache/local-vllm")).expanduser()
SOURCE = next(HOME.glob("venv/lib/python3*/site-packages/vllm"), None)
SMALL, MIDDLE = "Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-14B-Instruct"


KNOWN = Path(__file__).with_name("vllm_flags.txt")
COMPOSE = Path(__file__).parents[3] / "docker-compose.kafka.yml"


def known_flags() -> set[str]:
    """The flags of the pinned release; how they were found is said in the file."""
    head, *lines = KNOWN.read_text("utf-8").splitlines()
    assert f"vLLM {VERSION}" in head
    return {line for line in lines if line.startswith("--")}


def flags_of(command: ServeCommand) -> dict[str, str]:
    return {flag.name: flag.value for flag in command.flags}


@pytest.mark.skipif(SOURCE is None, reason="vLLM is not installed beside")
@pytest.mark.parametrize("gpu", GpuName)
@pytest.mark.parametrize("speculation", Speculation)
def test_every_flag_and_its_fields_exist_in_the_installed_vllm(gpu: GpuName, speculation: Speculation) -> None:
    assert SOURCE is not None
    engine = (SOURCE / "engine" / "arg_utils.py").read_text("utf-8")
    front = "".join(path.read_text("utf-8") for path in (SOURCE / "entrypoints").rglob("cli_args.py"))
    configs = "".join(path.read_text("utf-8") for path in (SOURCE / "config").glob("*.py"))
    for model in (SMALL, MIDDLE):
        for flag in serve_command(gpu, model, gpus=2, speculation=speculation).flags:
            name = flag.name.replace("--no-", "--")
            field = name.removeprefix("--").replace("-", "_")
            assert f'"{name}"' in engine or re.search(rf"^\s+{field}: ", engine + front, re.MULTILINE), flag.name
            if flag.value.startswith("{"):
                assert all(re.search(rf"^    {key}: ", configs, re.MULTILINE) for key in json.loads(flag.value))


@pytest.mark.parametrize("gpu", GpuName)
@pytest.mark.parametrize("speculation", Speculation)
@pytest.mark.parametrize("load", Load)
def test_every_printed_flag_is_one_of_the_pinned_release(gpu: GpuName, speculation: Speculation, load: Load) -> None:
    for model in (SMALL, MIDDLE):
        command = serve_command(gpu, model, gpus=2, load=load, speculation=speculation, tool_parser="hermes")
        assert flags_of(command).keys() <= known_flags()


def test_the_compose_file_has_the_same_release_and_only_its_flags() -> None:
    service = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["vllm"]
    assert service["image"] == f"vllm/vllm-openai:v{VERSION}"
    given = [flag.partition("=")[0] for flag in service["command"] if flag.startswith("--")]
    assert given
    assert set(given) <= known_flags()


def test_a_parser_of_tool_calls_is_named_only_where_it_is_asked_for() -> None:
    assert "--tool-call-parser" not in flags_of(serve_command(GpuName.L4, SMALL))
    assert flags_of(serve_command(GpuName.L4, SMALL, tool_parser="hermes"))["--tool-call-parser"] == "hermes"


@pytest.mark.parametrize("gpu", GpuName)
def test_every_flag_has_a_reason_above_a_line_that_a_shell_reads(gpu: GpuName) -> None:
    command = serve_command(gpu, SMALL)
    script = command.script()
    assert all(flag.reason and f"# {flag.name} " in script for flag in command.flags)
    words = shlex.split(script, comments=True)
    assert words[:3] == ["vllm", "serve", SMALL]
    assert [word for word in words if word.startswith("--")] == [flag.name for flag in command.flags]


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        (SMALL, 1.5),
        ("meta-llama/Llama-3.3-70B-Instruct", 70),
        ("mistralai/Mixtral-8x7B-v0.1", 56),
        ("Qwen3-30B-A3B", 30),
        ("google/gemma-3-270m-it", 0.27),
        ("Qwen/Qwen2.5-7B-Instruct-1M", 7),
        ("mine-1M", None),
        ("mine-0B", None),
        ("/models/mine", None),
        ("b", None),
    ],
)
def test_the_size_is_read_from_the_name(model: str, billions: float | None) -> None:
    assert parameters_of(model) == billions


@pytest.mark.parametrize(
    ("gpu", "model", "quantised"),
    [
        (GpuName.L4, SMALL, False),
        (GpuName.L4, MIDDLE, True),
        (GpuName.RTX_3090, MIDDLE, True),
        (GpuName.A100, MIDDLE, False),
        (GpuName.H200, "Llama-3.3-70B", True),
        (GpuName.L4, "Qwen2.5-14B-Instruct-AWQ", False),
    ],
)
def test_weights_are_quantised_only_where_they_do_not_fit(gpu: GpuName, model: str, *, quantised: bool) -> None:
    assert ("--quantization" in flags_of(serve_command(gpu, model))) is quantised


@pytest.mark.parametrize(
    ("gpu", "model", "why"),
    [
        (GpuName.L4, "Qwen/Qwen2.5-72B-Instruct-AWQ", "36 GB at 4 bits"),
        (GpuName.L4, "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "72 GB at 8 bits"),
        (GpuName.A100, "RedHatAI/Llama-3.1-405B-FP8", "405 GB at 8 bits"),
        (GpuName.A100, "RedHatAI/Llama-3.1-405B-quantized.w8a8", "405 GB at 8 bits"),
        (GpuName.L4, "/models/mine-AWQ", "does not tell"),
    ],
)
def test_a_quantised_model_that_does_not_fit_is_refused_too(gpu: GpuName, model: str, why: str) -> None:
    with pytest.raises(DoesNotFit, match=why):
        serve_command(gpu, model)


def test_a_quantised_model_that_fits_is_left_as_it_is() -> None:
    flags = flags_of(serve_command(GpuName.L4, "Qwen/Qwen2.5-72B-Instruct-AWQ", gpus=4))
    assert not {"--quantization", "--dtype"} & flags.keys()
    assert flags["--tensor-parallel-size"] == "4"


def test_gpus_that_cannot_divide_the_heads_are_refused_with_the_reason() -> None:
    with pytest.raises(UnevenGpus, match="attention heads"):
        serve_command(GpuName.L4, SMALL, gpus=3)


def test_a_parser_of_tool_calls_that_vllm_does_not_have_is_refused_with_the_names() -> None:
    result = CliRunner().invoke(app, ["vllm", "command", "--gpu", "l4", "--model", SMALL, "--tool-parser", "hermse"])
    assert result.exit_code == 2
    assert "hermes" in result.stderr


@pytest.mark.skipif(SOURCE is None, reason="vLLM is not installed beside")
def test_the_parsers_of_tool_calls_are_those_of_the_installed_vllm() -> None:
    assert SOURCE is not None
    registered = (SOURCE / "tool_parsers" / "__init__.py").read_text("utf-8")
    assert set(re.findall(r'^    "([^"]+)": \(', registered, re.MULTILINE)) == TOOL_PARSERS


def test_two_gpus_hold_what_one_does_not() -> None:
    with pytest.raises(DoesNotFit, match="even in FP8"):
        serve_command(GpuName.L4, "Qwen2.5-32B")
    assert flags_of(serve_command(GpuName.L4, "Qwen2.5-32B", gpus=4))["--tensor-parallel-size"] == "4"


def test_a_model_of_unknown_size_is_refused_until_the_size_is_given() -> None:
    with pytest.raises(DoesNotFit, match="does not tell"):
        serve_command(GpuName.L4, "/models/mine")
    assert "--dtype" in flags_of(serve_command(GpuName.L4, "/models/mine", billions=3))


@pytest.mark.parametrize(
    ("gpu", "load", "method"),
    [(GpuName.L4, Load.LOW, "ngram"), (GpuName.L4, Load.HIGH, None), (GpuName.H200, Load.HIGH, "suffix")],
)
def test_speculation_follows_gpu_and_load(gpu: GpuName, load: Load, method: str | None) -> None:
    value = flags_of(serve_command(gpu, SMALL, load=load)).get("--speculative-config")
    assert (json.loads(value)["method"] if value else None) == method


def test_suffix_decoding_keeps_no_tokens_of_other_calls_unless_they_may_share_memory() -> None:
    alone = json.loads(flags_of(serve_command(GpuName.H200, SMALL))["--speculative-config"])
    shared = json.loads(flags_of(serve_command(GpuName.H200, SMALL, shared_memory=True))["--speculative-config"])
    assert alone["suffix_decoding_max_cached_requests"] == 0
    assert "suffix_decoding_max_cached_requests" not in shared


def test_every_named_gpu_is_known() -> None:
    assert set(GPUS) == set(GpuName)


def test_the_command_prints_the_script() -> None:
    result = CliRunner().invoke(app, ["vllm", "command", "--gpu", "a100", "--model", SMALL])
    assert result.stdout.strip() == serve_command(GpuName.A100, SMALL).script()


def test_a_model_that_does_not_fit_is_a_usage_error_with_a_way_out() -> None:
    result = CliRunner().invoke(app, ["vllm", "command", "--gpu", "l4", "--model", "Llama-70B"])
    assert result.exit_code == 2
    assert "--gpus" in result.stderr
