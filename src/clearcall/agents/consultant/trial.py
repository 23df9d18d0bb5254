"""A prompt tried on some turns: as the stage would ask them, and as the evaluator would score the answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import httpx

from clearcall.agents.consultant.build import Consultant, backend_of, build
from clearcall.agents.consultant.prompt import Prompt
from clearcall.agents.evaluator import rules_of, score
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    Attempt,
    Chunk,
    ConsultantInfo,
    Correction,
    Draft,
    Headers,
    Incoming,
    Outcome,
    Outgoing,
)

_STAND_IN = "MODEL"
_CUT = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}


@dataclass(frozen=True, slots=True)
class Said:
    """A turn, and the earlier answer to it where the prompt is one for corrections."""

    chunk: Chunk
    wrote: str | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a turn; ``attempt`` is ``None`` where there was nothing to clean, and no model was asked."""

    draft: Draft
    attempt: Attempt | None


async def tried(settings: Settings, prompt: Prompt, turns: Sequence[Said]) -> list[Tried]:
    """Ask with the prompt, and score what is answered; nothing goes anywhere else.

    Args:
        settings: with the model's URL, its decoding, and the rules that score.
        prompt: asks at every iteration.
        turns: of one call or several, those of a call side by side; all with an earlier answer, or none.

    Raises:
        Unavailable: the model does not answer.
    """
    rules = rules_of(settings)
    drafts = await _drafts(settings, prompt, turns)
    return [
        Tried(
            draft,
            None
            if draft.outcome is Outcome.NOTHING_TO_CLEAN
            else score(draft, rules, reduction_check=settings.reduction_check),
        )
        for draft in drafts
    ]


async def requests(settings: Settings, prompt: Prompt, turns: Sequence[Said]) -> list[dict[str, Any]]:
    """The very requests that would be sent, and nothing is; without a name the model is called ``MODEL``."""
    noted: list[dict[str, Any]] = []

    async def note(request: httpx.Request) -> httpx.Response:
        noted.append(json.loads(request.content))
        return httpx.Response(httpx.codes.OK, json=_CUT)

    named = settings.model_copy(update={"model": settings.model or _STAND_IN})
    await _drafts(named, prompt, turns, httpx.MockTransport(note))
    return noted


async def _drafts(
    settings: Settings, prompt: Prompt, turns: Sequence[Said], transport: httpx.AsyncBaseTransport | None = None
) -> list[Draft]:
    own = settings.model_copy(update={"consultant": "openai", "outage": "wait"})
    consultant = build(own, backend_of(own, transport, lambda _iteration: prompt))
    try:
        made: list[Outgoing] = []
        for _, call in groupby(turns, key=lambda turn: turn.chunk.call_id):
            made += await _ask(consultant, own, list(call))
    finally:
        await consultant.close()
    return [out.message for out in made if isinstance(out.message, Draft)]


async def _ask(consultant: Consultant, settings: Settings, call: Sequence[Said]) -> Sequence[Outgoing]:
    if all(turn.wrote is None for turn in call):
        return await consultant.chunks([Incoming(turn.chunk) for turn in call])
    corrections = [_correction(settings, turn) for turn in call]
    return await consultant.corrections([Incoming(each, Headers(iteration=1)) for each in corrections])


def _correction(settings: Settings, turn: Said) -> Correction:
    info = ConsultantInfo(backend="given", model="given", prompt_version="none")
    draft = Draft(
        chunk=turn.chunk,
        iteration=0,
        outcome=Outcome.ANSWERED,
        cleaned=turn.wrote or "",
        consultant=info,
        drafted_at=0.0,
    )
    return Correction(chunk=turn.chunk, attempts=(score(draft, rules_of(settings)),))
