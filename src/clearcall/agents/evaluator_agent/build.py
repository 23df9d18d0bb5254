"""The evaluator agent that the settings describe."""

import httpx

from clearcall.agents.consultant.client import ModelClient
from clearcall.agents.evaluator import rules_of
from clearcall.agents.evaluator_agent.agent import EvaluatorAgent
from clearcall.agents.evaluator_agent.caller import ToolCaller
from clearcall.agents.evaluator_agent.own import own_settings
from clearcall.infra.settings import Settings

TRIES = 1
"""Attempts at a call: what is not answered at once is let go, there are more fragments where it came from."""


def caller_of(
    settings: Settings, *, in_flight: int, tries: int = TRIES, transport: httpx.AsyncBaseTransport | None = None
) -> ToolCaller:
    """The model that calls the function, on its own servers or, where none are named, on the consultant's.

    Raises:
        OSError: the lexicon cannot be read.
    """
    own = own_settings(settings)
    client = ModelClient(
        own.urls,
        model=own.model,
        api_key=own.api_key.get_secret_value(),
        in_flight=in_flight,
        connect_timeout=settings.connect_timeout,
        request_timeout=settings.request_timeout,
        tries=tries,
        transport=transport,
    )
    return ToolCaller(client, rules_of(settings))


def build(settings: Settings) -> EvaluatorAgent:
    """The stage's agent; raises as ``caller_of`` does."""
    in_flight = settings.evaluator_agent_in_flight
    return EvaluatorAgent(
        caller_of(settings, in_flight=in_flight), share=settings.evaluator_agent_share, in_flight=in_flight
    )
