"""The consultant's stages where there are several consultants or tasks: of those who deliver, and of each shadow."""

from collections.abc import Iterator, Mapping
from typing import Any

from clearcall.agents.consultant.backend import ChatModel
from clearcall.agents.consultant.build import Consultant, around, asker_of, backend_of, chat_backend, chat_model
from clearcall.agents.consultant.build import build as build_alone
from clearcall.agents.consultant.routing import ByCall, ByTrack, Ending
from clearcall.agents.consultant.rules import UnchangedBackend
from clearcall.agents.protocol import Agent
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Correction, Handover, Topic

Place = tuple[str, int]
"""A consultant's name and the step of a task."""


def build(settings: Settings, shadow: str = "") -> "Consultant | Members":
    """The agents of the consultant's stage, or of a shadow's.

    Raises:
        ValueError: a consultant cannot be as the settings say.
        UnreadableRecording, OSError: a recording, the lexicon or a prompt cannot be read.
    """
    team = Team.of(settings)
    return build_alone(settings) if team.alone else Members(team, shadow, dict(_consultants(team, shadow)))


def places(team: Team, shadow: str = "") -> Iterator[Place]:
    """Who is asked in a stage, at which tasks: those who deliver, or a shadow."""
    for step, task in enumerate(team.tasks):
        delivered = (task.consultant,) if task and task.consultant else team.delivered
        shadowed = (shadow,) if team.is_shadowed(shadow, step) else ()
        for name in shadowed if shadow else delivered:
            yield name, step


class Members:
    """A stage of several: ``consultants`` by name and step. A message that is not this stage's leads to nothing."""

    def __init__(self, team: Team, shadow: str, consultants: Mapping[Place, Consultant]) -> None:
        self._team = team
        self._shadow = shadow
        self._consultants = consultants
        some = next(iter(consultants.values()))
        self.by_topic: dict[Topic, Agent[Any]] = {
            Topic.CHUNKS: ByCall(self._answerer, some.chunks.weight),
            Topic.CORRECTIONS: ByTrack(self._agent, some.corrections.weight),
        }
        if len(team.tasks) > 1:
            self.by_topic[Topic.TASKS] = ByTrack(self._agent, some.handovers.weight)

    async def close(self) -> None:
        """Close every consultant's connections; the tasks of one share them."""
        for asker in {name: consultant.asker for (name, _), consultant in self._consultants.items()}.values():
            await asker.close()

    def _answerer(self, call_id: str) -> Agent[Any]:
        return self._consultants[self._shadow or self._team.answerer(call_id, 0), 0].chunks

    def _agent(self, message: Correction | Handover) -> Agent[Any] | None:
        """Whose message it is; where it is gone, who answers the call now; where the task is gone, the chunk's end."""
        track = message.track
        if (track.shadow, track.agent if track.shadow else "") != (bool(self._shadow), self._shadow):
            return None
        step = self._team.step_of(track)
        if step is None:
            return Ending()
        names = (track.agent,) if self._shadow else (track.agent, self._team.answerer(message.chunk.call_id, step))
        consultant = next((found for name in names if (found := self._consultants.get((name, step)))), None)
        if consultant is None:
            return Ending()
        return consultant.corrections if isinstance(message, Correction) else consultant.handovers


def _consultants(team: Team, shadow: str) -> Iterator[tuple[Place, Consultant]]:
    """Each consultant of a stage at each of its tasks; the model is one for all of them."""
    models: dict[str, ChatModel] = {}
    for name, step in places(team, shadow):
        yield (name, step), _consultant(team, name, step, models)


def _consultant(team: Team, name: str, step: int, models: dict[str, ChatModel]) -> Consultant:
    settings = team.settings_of(name, step)
    if settings.consultant == "rules" and step:
        asker = asker_of(settings, UnchangedBackend(), UnchangedBackend())
    elif settings.consultant in ("rules", "recorded"):
        if step and settings.consultant == "recorded":
            raise ValueError(f"[[tasks]] {team.track(name, step).task}: a recording has no answers to a later task")
        asker = asker_of(settings, backend_of(settings))
    else:
        if name not in models:
            models[name] = chat_model(settings)
        fallback = UnchangedBackend() if step else None
        asker = asker_of(settings, chat_backend(settings, models[name]), fallback)
    return around(settings, asker, team.track(name, step))
