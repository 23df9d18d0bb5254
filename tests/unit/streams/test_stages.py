from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from clearcall.schemas import Incoming, Outgoing, Topic
from clearcall.streams.stages import STAGES, ShapeKind, Stage, UnknownStage, arrange, chosen


class Agent:
    def __init__(self) -> None:
        self.closed = 0

    async def __call__(self, batch: Sequence[Incoming[Any]]) -> list[Outgoing]:
        del batch
        return []

    async def close(self) -> None:
        self.closed += 1


def test_all_stands_for_every_stage_once() -> None:
    assert [stage.name for stage in chosen(["sink", "all"])] == ["sink", "consultant", "evaluator"]


@pytest.mark.parametrize("given", [[], ["nobody"], ["sink", "nobody"]])
def test_an_unknown_stage_is_an_error_that_names_the_known_ones(given: list[str]) -> None:
    with pytest.raises(UnknownStage, match="consultant, evaluator, sink and all"):
        chosen(given)


def test_a_stage_may_be_given_itself() -> None:
    own = Stage("own", (Topic.CHUNKS,), ShapeKind.PER_KEY, "nowhere")
    assert chosen([own, "sink"]) == [own, STAGES["sink"]]


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
