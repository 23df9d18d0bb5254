"""The evaluator agent, where it is on: do its servers answer, and do they take tools."""

from dataclasses import replace

from clearcall.agents.consultant.backend import ModelError
from clearcall.agents.evaluator_agent.own import own_settings
from clearcall.agents.protocol import Unavailable
from clearcall.infra.settings import Settings
from clearcall.schemas import Distortion
from clearcall.streams.doctor.finding import Finding, State
from clearcall.streams.doctor.model import check_consultant

_PART = "evaluator agent"
_PATIENCE = 30.0
"""Seconds for one call of the function: a small model on a busy machine needs some."""

_TAKE_TOOLS = "vLLM needs --enable-auto-tool-choice --tool-call-parser hermes (or the model's own)"


async def check_evaluator_agent(settings: Settings) -> list[Finding]:
    """What is amiss with it is worth a look and no failure, since nothing waits for it."""
    if settings.evaluator_agent == "off":
        return []
    found = [_its(finding) for finding in await check_consultant(own_settings(settings))]
    if any(finding.state is State.OK for finding in found):
        found.append(await _call(settings))
    return found


def _its(finding: Finding) -> Finding:
    """A finding about model servers, in the words of its own settings."""
    todo = finding.todo.replace(" or --url", "").replace(" or --model", "")
    for name in ("URLS", "MODEL", "API_KEY"):
        todo = todo.replace(f"CLEARCALL_{name}", f"CLEARCALL_EVALUATOR_AGENT_{name}")
    state = State.WARN if finding.state is State.FAIL else finding.state
    return replace(finding, part=_PART, state=state, todo=todo)


async def _call(settings: Settings) -> Finding:
    """Whether the function is called where a model is asked to."""
    from clearcall.agents.evaluator_agent.build import caller_of  # noqa: PLC0415 - needs an extra

    patient = settings.model_copy(update={"request_timeout": min(_PATIENCE, settings.request_timeout)})
    caller = caller_of(patient, in_flight=1)
    try:
        found = await caller.check("Hello there.", "um hello there")
    except ModelError as error:
        return Finding(_PART, State.WARN, f"takes no tools: {error}", _TAKE_TOOLS)
    except Unavailable as error:
        return Finding(_PART, State.WARN, f"does not call the function: {error}", "look at the server's log")
    finally:
        await caller.close()
    if found is None or found.kind is Distortion.MISSING:
        return Finding(_PART, State.WARN, "answers without calling the function", _TAKE_TOOLS)
    return Finding(_PART, State.OK, "calls the scoring function")
