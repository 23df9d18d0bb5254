"""The consultant's benchmark: what a real model makes of real turns, by decoding mode, and how fast."""

from clearcall.agents.consultant.bench.answers import UnreadableAnswers
from clearcall.agents.consultant.bench.run import Result, run
from clearcall.agents.consultant.bench.turns import NoTurns
from clearcall.agents.consultant.bench.view import render

__all__ = ["NoTurns", "Result", "UnreadableAnswers", "render", "run"]
