"""The stages: which topics each reads, in which shape, and where its agent is built.

A stage's module has ``build(settings)``. It returns the agent of all the stage's topics, or an object whose
``by_topic`` maps each topic to its agent. What it returns, and each agent, may have:

- ``weight(message) -> int``, how much of the stage's limit a message takes in a batch (1 where there is none);
- ``async close()``, called once when the stage has stopped.

Modules are imported when their stage starts, so that consultant and evaluator load no database.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clearcall.agents.protocol import Agent
from clearcall.infra.settings import Settings
from clearcall.schemas import Topic

EVALUATOR_BATCH = 16
"""Drafts of one call that are scored and sent together: scoring blocks the event loop meanwhile."""


class ShapeKind(StrEnum):
    """How messages become batches."""

    PER_KEY = "per key"
    IN_BATCHES = "in batches"


@dataclass(frozen=True, slots=True)
class Stage:
    """One consumer group. ``limit`` gives the most weight of a per-key batch."""

    name: str
    topics: tuple[Topic, ...]
    shape: ShapeKind
    module: str
    limit: Callable[[Settings], int] = lambda _settings: 1


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "consultant",
            (Topic.CHUNKS, Topic.CORRECTIONS),
            ShapeKind.PER_KEY,
            "clearcall.agents.consultant",
            lambda settings: settings.window_words,
        ),
        Stage(
            "evaluator",
            (Topic.DRAFTS,),
            ShapeKind.PER_KEY,
            "clearcall.agents.evaluator",
            lambda _settings: EVALUATOR_BATCH,
        ),
        Stage(
            "sink",
            (Topic.CLEANED, Topic.EVALUATIONS, Topic.ALERTS, Topic.DEAD_LETTERS),
            ShapeKind.IN_BATCHES,
            "clearcall.agents.sink",
        ),
    )
}

ALL = "all"


class UnknownStage(ValueError):
    """There is no stage of that name."""


def chosen(stages: Sequence[str | Stage]) -> list[Stage]:
    """The stages of those names, each once; ``all`` stands for every one, and a ``Stage`` for itself.

    Raises:
        UnknownStage: with the names that there are.
    """
    wanted: dict[str, Stage | None] = {}
    for given in stages:
        if isinstance(given, Stage):
            wanted[given.name] = given
        else:
            wanted |= {name: STAGES.get(name) for name in (STAGES if given == ALL else (given,))}
    unknown = [name for name, stage in wanted.items() if stage is None]
    if unknown or not wanted:
        raise UnknownStage(f"no stage {', '.join(unknown) or 'named'}; there are {', '.join(STAGES)} and {ALL}")
    return [stage for stage in wanted.values() if stage is not None]


@dataclass(frozen=True, slots=True)
class BuiltAgents:
    """A stage's agents by topic, and what to close when it ends."""

    by_topic: Mapping[Topic, Agent[Any]]
    closers: tuple[Callable[[], Any], ...] = ()

    async def close(self) -> None:
        """Close what can be closed."""
        for close in self.closers:
            await close()


def build_agents(stage: Stage, settings: Settings) -> BuiltAgents:
    """Import the stage's module and build its agents."""
    return arrange(stage, importlib.import_module(stage.module).build(settings))


def arrange(stage: Stage, built: Any) -> BuiltAgents:
    """Sort what a ``build`` returned by the stage's topics."""
    by_topic = built.by_topic if hasattr(built, "by_topic") else dict.fromkeys(stage.topics, built)
    closeable = {id(one): one for one in (built, *by_topic.values()) if hasattr(one, "close")}
    return BuiltAgents({topic: by_topic[topic] for topic in stage.topics}, tuple(c.close for c in closeable.values()))
