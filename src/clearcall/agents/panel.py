"""The evaluators of several consultants and tasks: each draft is scored by the rules of its own."""

from collections.abc import Sequence

from clearcall.agents.evaluator import Evaluator
from clearcall.agents.evaluator import build as build_evaluator
from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Draft, Incoming, Outgoing


class Panel:
    """The agent of ``transcripts.drafts`` where there are several consultants or tasks."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._evaluators = {
            (name, step): build_evaluator(team.settings_of(name, step), team.following)
            for name in (*team.consultants, team.default, "")
            for step in range(len(team.tasks))
        }

    async def __call__(self, batch: Sequence[Incoming[Draft]]) -> Sequence[Outgoing]:
        """Score each draft; one evaluation each, and a correction, a next task or the chunk's end."""
        found = [await self._of(incoming.message)([incoming]) for incoming in batch]
        return [outgoing for each in found for outgoing in each]

    async def close(self) -> None:
        """Nothing is held."""

    def judge(self, draft: Draft, traceparent: str | None = None) -> list[Outgoing]:
        """The messages that one draft leads to."""
        return self._of(draft).judge(draft, traceparent)

    def _of(self, draft: Draft) -> Evaluator:
        """By its own rules; where consultant or task are gone, by those of who is there now."""
        step = self._team.step_of(draft.track) or 0
        return self._evaluators.get((draft.track.agent, step)) or self._evaluators[self._team.default, step]


def build(settings: Settings) -> Evaluator | Panel:
    """The evaluator that the settings describe; raises as ``rules_of`` does."""
    team = Team.of(settings)
    return build_evaluator(settings) if team.alone else Panel(team)
