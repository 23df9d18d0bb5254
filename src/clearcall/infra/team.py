"""Who answers which call, and what a chunk passes: the settings' consultants and tasks, put in order."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from clearcall.infra.settings import Settings
from clearcall.infra.settings_tables import ConsultantTable, TaskTable
from clearcall.schemas import Track

_FREE = {"decoding": "free"}
"""Of a later task, unless it says otherwise: what it is to write is no reduction of what it was given."""


@dataclass(frozen=True)
class Team:
    """The consultants, by name, and the tasks, by step.

    ``default`` answers what no canary does: the consultant without a share, else the settings themselves, unnamed.
    """

    settings: Settings
    consultants: Mapping[str, ConsultantTable]
    default: str
    tasks: tuple[TaskTable | None, ...]
    canaries: tuple[tuple[str, float], ...] = ()
    shadows: tuple[str, ...] = ()
    delivered: tuple[str, ...] = field(default=("",))

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The team of the settings."""
        delivered = [each for each in settings.consultants if not each.shadow]
        default = next((each.name for each in delivered if each.share is None), "")
        canaries = tuple((each.name, each.share) for each in delivered if each.share is not None)
        return cls(
            settings=settings,
            consultants={each.name: each for each in settings.consultants},
            default=default,
            tasks=settings.tasks or (None,),
            canaries=canaries,
            shadows=tuple(each.name for each in settings.consultants if each.shadow),
            delivered=(default, *(name for name, _ in canaries)),
        )

    @property
    def alone(self) -> bool:
        """There is one consultant and one task, and neither has a name."""
        return not self.consultants and self.tasks == (None,)

    def answerer(self, call_id: str, step: int) -> str:
        """The consultant whose answer to the call is delivered: always the same while the shares are."""
        task = self.tasks[step]
        if task is not None and task.consultant:
            return task.consultant
        place = _place(call_id)
        for name, share in self.canaries:
            if place < share:
                return name
            place -= share
        return self.default

    def track(self, agent: str, step: int) -> Track:
        """That of an agent's chunks at a task."""
        return Track(agent=agent, shadow=agent in self.shadows, task=self._name(step), step=step)

    def step_of(self, track: Track) -> int | None:
        """The place of the track's task among today's; ``None`` where it is none of them."""
        if track.step == 0:
            return 0
        return track.step if track.step < len(self.tasks) and self._name(track.step) == track.task else None

    def following(self, track: Track, call_id: str) -> Track | None:
        """The track of a chunk's next task; ``None`` where it ends. Steps only go up, so that nothing loops."""
        step = self.step_of(track)
        if step is None or step + 1 >= len(self.tasks):
            return None
        if track.shadow and not self.is_shadowed(track.agent, step + 1):
            return None
        agent = track.agent if track.shadow else self.answerer(call_id, step + 1)
        return Track(agent=agent, shadow=track.shadow, task=self._name(step + 1), step=step + 1)

    def is_shadowed(self, agent: str, step: int) -> bool:
        """Whether a shadow takes part in a task: in the first, and on until a later one is named somebody else's."""
        return agent in self.shadows and not any(task and task.consultant for task in self.tasks[1 : step + 1])

    def settings_of(self, agent: str, step: int) -> Settings:
        """The settings of one consultant at one task: the task's over the consultant's over all the rest."""
        task, table = self.tasks[step], self.consultants.get(agent)
        changes = {**(table.overrides if table else {}), **(_FREE if step else {}), **(task.overrides if task else {})}
        return self.settings.overridden(changes) if changes else self.settings

    def _name(self, step: int) -> str:
        task = self.tasks[step]
        return task.name if task else ""


def _place(call_id: str) -> float:
    """Where a call stands from 0 to 1, evenly spread; the same on every machine."""
    digest = hashlib.blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
