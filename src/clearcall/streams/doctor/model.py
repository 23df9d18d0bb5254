"""The consultant: do the model's servers answer, and do they serve the model."""

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearcall.agents.consultant.prompt import prompts_of
from clearcall.agents.consultant.recording import UnreadableRecording, read
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.streams.doctor.finding import Finding, State

if TYPE_CHECKING:
    import httpx

_LOCKED = (401, 403)


async def check_team(settings: Settings) -> list[Finding]:
    """Every consultant, by its name; a shadow that cannot answer is worth a look, since nothing waits for it."""
    team = Team.of(settings)
    names = (*team.delivered, *team.shadows)
    found = await asyncio.gather(*(check_consultant(team.settings_of(name, 0)) for name in names))
    findings = [
        _of(name, finding, shadow=name in team.shadows)
        for name, findings in zip(names, found, strict=True)
        for finding in findings
    ]
    prompts = {team.settings_of(name, step).prompt for name in names for step in range(len(team.tasks))}
    return [*findings, *(finding for prompt in sorted(prompts) for finding in _prompt(prompt))]


def _prompt(prompt: str) -> list[Finding]:
    try:
        prompts_of(prompt)
    except (ValueError, OSError) as error:
        return [Finding("prompt", State.FAIL, str(error), "correct prompt in the settings; clearcall prompt list")]
    return []


def _of(name: str, finding: Finding, *, shadow: bool) -> Finding:
    state = State.WARN if shadow and finding.state is State.FAIL else finding.state
    return replace(finding, part=f"{finding.part} {name}".rstrip(), state=state)


async def check_consultant(settings: Settings) -> list[Finding]:
    """Every model URL for ``openai``; the others need no server, ``vllm`` an installed vLLM."""
    if settings.consultant == "rules":
        return [Finding("consultant", State.OK, "rules: no model is needed")]
    if settings.consultant == "recorded":
        return [_recording(settings)]
    if settings.consultant == "vllm":
        return [_in_process(settings.model)]
    import httpx  # noqa: PLC0415 - an extra

    key = settings.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=settings.connect_timeout) as client:
        found = await asyncio.gather(*(_ask(client, url, settings.model) for url in settings.urls))
    served = {model for _, model in found if model}
    findings = [finding for finding, _ in found]
    if len(served) > 1 and not settings.model:
        what = f"the URLs serve different models: {', '.join(sorted(served))}"
        findings.append(Finding("consultant", State.FAIL, what, "set CLEARCALL_MODEL, or leave URLs of one model"))
    return findings


async def _ask(client: "httpx.AsyncClient", url: str, wanted: str) -> tuple[Finding, str | None]:
    """What a URL says of itself, and the model that it would be asked for."""
    import httpx  # noqa: PLC0415 - an extra

    try:
        response = await client.get(f"{url}/models")
    except httpx.HTTPError as error:
        todo = "start the model server, or correct CLEARCALL_URLS or --url"
        return Finding("consultant", State.FAIL, f"{url} does not answer: {type(error).__name__}", todo), None
    if response.status_code in _LOCKED:
        what = f"{url} wants a key: HTTP {response.status_code}"
        return Finding("consultant", State.FAIL, what, "set CLEARCALL_API_KEY or CLEARCALL_API_KEY_FILE"), None
    models = _models(response)
    if not models:
        what = f"{url} answers HTTP {response.status_code} and lists no model"
        todo = "give the base of an OpenAI-compatible server, such as http://host:8000/v1"
        return Finding("consultant", State.FAIL, what, todo), None
    if wanted and wanted not in models:
        what = f"{url} does not serve {wanted}, but {', '.join(models[:5])}"
        return Finding("consultant", State.FAIL, what, "correct CLEARCALL_MODEL or --model"), None
    model = wanted or models[0]
    return Finding("consultant", State.OK, f"{url} answers and serves {model}"), model


def _models(response: "httpx.Response") -> list[str]:
    if not response.is_success:
        return []
    try:
        content: Any = response.json()
        return [str(model["id"]) for model in content["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _in_process(model: str) -> Finding:
    """Nothing is loaded: that takes a minute and the GPU."""
    if importlib.util.find_spec("vllm") is None:
        return Finding("consultant", State.FAIL, "vllm, which is not installed", "pip install 'clearcall[vllm]'")
    folder = Path(model)
    if folder.is_absolute() and not (folder / "config.json").is_file():
        return Finding("consultant", State.FAIL, f"{model}: no model's folder", "correct CLEARCALL_MODEL")
    return Finding("consultant", State.OK, f"vLLM in this process, with {model}")


def _recording(settings: Settings) -> Finding:
    if settings.recording is None or not settings.recording.is_file():
        return Finding("consultant", State.FAIL, f"{settings.recording}: no such file", "correct CLEARCALL_RECORDING")
    try:
        read(settings.recording)
    except (UnreadableRecording, OSError) as error:
        return Finding("consultant", State.FAIL, f"no recording: {error}", "clearcall record writes one")
    return Finding("consultant", State.OK, f"recorded answers from {settings.recording}: no model is needed")
