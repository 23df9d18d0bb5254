"""A chat completion with the evaluator agent's tool call, as JSON."""

import json

from clearcall.agents.evaluator_agent.distortion import Score, compared
from clearcall.agents.evaluator_agent.tool import Arguments, called_with
from clearcall.schemas import Distortion
from clearcall.scoring import Rules

WORDS = (
    *(
        '{"choices":[{"message":{"tool_calls":[{"function":{"name":"score_fragment",',
        '"arguments":"',
        r"{\"fragment\":",
    ),
    *(r"\"source\":", r"\"It costs forty.\"", r"\ud800", r"\u0000", "null", "[[[[", "1e999", "NaN"),
)

_TRUE = Arguments("It costs forty.", "um it costs forty")


def check(data: bytes) -> None:
    """Any completion has arguments that can be compared and told, or none."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):  # refused before it comes here
        return
    given = called_with(content)
    found = compared(_TRUE, Score(100.0, flagged=False), given, Rules())
    assert (found.kind is Distortion.MISSING) is (given is None)
    if given is not None:
        f"{given.fragment}{given.source}".encode()
