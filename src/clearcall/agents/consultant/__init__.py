"""The consultant: what asks a model to clean chunks, and to correct what the evaluator flagged."""

from clearcall.agents.consultant.build import Consultant, build

__all__ = ["Consultant", "build"]
