"""The stages: which topics each reads, in which shape, and where its agent is built.

A stage's module has ``build(settings)``; that of a shadow also takes its name, ``shadow=…``. It returns the agent of
all the stage's topics, or an object whose ``by_topic`` maps each topic to its agent. What it returns, and each agent,
may have:

- ``weight(message) -> int``, how much of the stage's limit a message takes in a batch (1 where there is none);
- ``async close()``, called once when the stage has stopped.

Modules are imported when their stage starts, so that consultant and evaluator load no database.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from clearcall.agents.protocol import Agent
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Topic

EVALUATOR_BATCH = 16
"""Drafts of one call that are scored and sent together: scoring blocks the event loop meanwhile."""


class ShapeKind(StrEnum):
    """How messages become batches."""

    PER_KEY = "per key"
    IN_BATCHES = "in batches"


@dataclass(frozen=True, slots=True)
class Stage:
    """One consumer group. ``limit`` gives the most weight of a per-key batch; ``shadow`` is the shadow that it runs."""

    name: str
    topics: tuple[Topic, ...]
    shape: ShapeKind
    module: str
    limit: Callable[[Settings], int] = lambda _settings: 1
    shadow: str = ""


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "consultant",
            (Topic.CHUNKS, Topic.CORRECTIONS),
            ShapeKind.PER_KEY,
            "clearcall.agents.consultant.stage",
            lambda settings: settings.window_words,
        ),
        Stage(
            "evaluator",
            (Topic.DRAFTS,),
            ShapeKind.PER_KEY,
            "clearcall.agents.panel",
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
SHADOW = "shadow"
"""Stands for every shadow of the settings; what their stages' names begin with."""

EVALUATOR_AGENT = "evaluator-agent"
"""There where the settings have it on."""


def stages_of(settings: Settings) -> dict[str, Stage]:
    """The stages of a deployment, by name; shadows and the evaluator agent have their own, and hold nobody up."""
    team = Team.of(settings)
    consultant = STAGES["consultant"]
    if len(team.tasks) > 1:
        consultant = replace(consultant, topics=(*consultant.topics, Topic.TASKS))
    shadows = [replace(consultant, name=f"{SHADOW}-{name}", shadow=name) for name in team.shadows]
    stages = {**STAGES, "consultant": consultant, **{stage.name: stage for stage in shadows}}
    if settings.evaluator_agent == "off":
        return stages
    sink = stages["sink"]
    agent = Stage(EVALUATOR_AGENT, (Topic.EVALUATIONS,), ShapeKind.PER_KEY, "clearcall.agents.evaluator_agent.build")
    return {**stages, "sink": replace(sink, topics=(*sink.topics, Topic.CHECKS)), EVALUATOR_AGENT: agent}


def stands_aside(name: str) -> bool:
    """Whether a stage of that name delivers nothing: where it fails beside others, only it ends."""
    return name == EVALUATOR_AGENT or name.startswith(f"{SHADOW}-")


class UnknownStage(ValueError):
    """There is no stage of that name."""


def chosen(stages: Sequence[str | Stage], settings: Settings) -> list[Stage]:
    """The stages of those names, each once; ``all`` stands for every one, and a ``Stage`` for itself.

    Raises:
        UnknownStage: with the names that there are.
    """
    known = stages_of(settings)
    groups = {ALL: list(known), SHADOW: [name for name, stage in known.items() if stage.shadow]}
    wanted: dict[str, Stage | None] = {}
    for given in stages:
        if isinstance(given, Stage):
            wanted[given.name] = given
        elif given == SHADOW and not groups[SHADOW]:
            raise UnknownStage("no shadow: the settings' [[consultants]] name none")
        elif given == EVALUATOR_AGENT and given not in known:
            raise UnknownStage("no evaluator agent: the setting evaluator_agent is off")
        else:
            wanted |= {name: known.get(name) for name in groups.get(given, (given,))}
    unknown = [name for name, stage in wanted.items() if stage is None]
    if unknown or not wanted:
        raise UnknownStage(f"no stage {', '.join(unknown) or 'named'}; there are {', '.join(known)} and {ALL}")
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
    module = importlib.import_module(stage.module)
    return arrange(stage, module.build(settings, shadow=stage.shadow) if stage.shadow else module.build(settings))


def arrange(stage: Stage, built: Any) -> BuiltAgents:
    """Sort what a ``build`` returned by the stage's topics."""
    by_topic = built.by_topic if hasattr(built, "by_topic") else dict.fromkeys(stage.topics, built)
    closeable = {id(one): one for one in (built, *by_topic.values()) if hasattr(one, "close")}
    return BuiltAgents({topic: by_topic[topic] for topic in stage.topics}, tuple(c.close for c in closeable.values()))
