from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from clearcall.infra.settings import Settings, load
from clearcall.schemas import Incoming, Outgoing, Topic
from clearcall.streams.stages import (
    STAGES,
    ShapeKind,
    Stage,
    UnknownStage,
    arrange,
    build_agents,
    chosen,
    stages_of,
    stands_aside,
)
from clearcall.streams.topics import names


class Agent:
    def __init__(self) -> None:
        self.closed = 0

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        del batch
        return []

    async def close(self) -> None:
        self.closed += 1


def test_all_stands_for_every_stage_once() -> None:
    assert [stage.name for stage in chosen(["sink", "all"], Settings())] == ["sink", "consultant", "evaluator"]


def test_the_evaluator_agent_is_a_stage_with_a_topic_only_where_it_is_on() -> None:
    on = Settings(evaluator_agent="tools")
    assert [stage.name for stage in chosen(["all"], on)] == ["consultant", "evaluator", "sink", "evaluator-agent"]
    (sink,), (agent,) = chosen(["sink"], on), chosen(["evaluator-agent"], on)
    assert Topic.CHECKS in sink.topics
    assert agent.topics == (Topic.EVALUATIONS,)
    assert Topic.CHECKS in names(on)
    assert Topic.CHECKS not in names(Settings())
    assert Topic.CHECKS not in chosen(["sink"], Settings())[0].topics
    with pytest.raises(UnknownStage, match="evaluator_agent is off"):
        chosen(["evaluator-agent"], Settings())


def test_what_delivers_nothing_stands_aside() -> None:
    known = stages_of(Settings(evaluator_agent="tools"))
    assert [name for name in known if stands_aside(name)] == ["evaluator-agent"]
    assert stands_aside("shadow-new")


@pytest.mark.parametrize("given", [[], ["nobody"], ["sink", "nobody"]])
def test_an_unknown_stage_is_an_error_that_names_the_known_ones(given: list[str]) -> None:
    with pytest.raises(UnknownStage, match="consultant, evaluator, sink and all"):
        chosen(given, Settings())


def test_a_stage_may_be_given_itself() -> None:
    own = Stage("own", (Topic.CHUNKS,), ShapeKind.PER_KEY, "nowhere")
    assert chosen([own, "sink"], Settings()) == [own, STAGES["sink"]]


async def test_one_agent_serves_all_topics_and_is_closed_once() -> None:
    agent = Agent()
    built = arrange(STAGES["sink"], agent)
    assert set(built.by_topic) == set(STAGES["sink"].topics)
    await built.close()
    assert agent.closed == 1


async def test_each_topic_may_have_its_own_agent() -> None:
    chunks: Any = Agent()
    corrections: Any = Agent()
    built = arrange(
        STAGES["consultant"], SimpleNamespace(by_topic={Topic.CHUNKS: chunks, Topic.CORRECTIONS: corrections})
    )
    by_topic: dict[Topic, Any] = dict(built.by_topic)
    assert by_topic[Topic.CHUNKS] is chunks
    assert by_topic[Topic.CORRECTIONS] is corrections
    await built.close()
    assert (chunks.closed, corrections.closed) == (1, 1)


SHADOWED = load(consultants=[{"name": "next", "shadow": True}, {"name": "canary", "share": 0.1}])


def test_each_shadow_has_a_stage_and_so_a_group_of_its_own() -> None:
    names = ["consultant", "evaluator", "sink", "shadow-next"]
    assert [stage.name for stage in chosen(["all"], SHADOWED)] == names
    [shadow] = chosen(["shadow"], SHADOWED)
    assert (shadow.name, shadow.shadow, shadow.topics) == ("shadow-next", "next", STAGES["consultant"].topics)


def test_without_shadows_their_stage_is_an_error_that_says_so() -> None:
    with pytest.raises(UnknownStage, match="name none"):
        chosen(["shadow"], Settings())


def test_the_topic_between_tasks_is_there_only_where_there_are_several() -> None:
    one, two = load(tasks=[{"name": "one"}]), load(tasks=[{"name": "one"}, {"name": "two"}])
    assert Topic.TASKS not in stages_of(one)["consultant"].topics
    assert Topic.TASKS in stages_of(two)["consultant"].topics
    assert (Topic.TASKS in names(one), Topic.TASKS in names(two)) == (False, True)


@pytest.mark.parametrize("name", ["consultant", "evaluator", "shadow-next"])
def test_every_stage_of_several_consultants_and_tasks_can_be_built(name: str) -> None:
    tasks = [{"name": "one"}, {"name": "two"}]
    settings = load(consultant="rules", tasks=tasks, consultants=[{"name": "next", "shadow": True}])
    stage = stages_of(settings)[name]
    assert set(build_agents(stage, settings).by_topic) == set(stage.topics)
