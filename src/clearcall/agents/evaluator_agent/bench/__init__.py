"""The evaluator agent's benchmark: how a model distorts real fragments on their way into the scoring function."""

from clearcall.agents.consultant.bench.answers import UnreadableAnswers
from clearcall.agents.evaluator_agent.bench.run import Result, run
from clearcall.agents.evaluator_agent.bench.view import render

__all__ = ["Result", "UnreadableAnswers", "render", "run"]
