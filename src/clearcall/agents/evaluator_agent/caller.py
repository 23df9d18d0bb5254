"""Asking the model for its call, one fragment at a time, over the same client as the consultant's."""

from clearcall.agents.consultant.client import ModelClient
from clearcall.agents.evaluator_agent.distortion import Compared, compared, similarity
from clearcall.agents.evaluator_agent.tool import asked, called_with, shown
from clearcall.scoring import Rules


class ToolCaller:
    """The model that calls the scoring function. Safe to use from several tasks at once."""

    def __init__(self, client: ModelClient, rules: Rules) -> None:
        self._client = client
        self.rules = rules

    @property
    def model(self) -> str:
        """The model's name; empty until the server was asked."""
        return self._client.model

    async def check(self, fragment: str, source: str) -> Compared | None:
        """What the model calls the function with, beside what it should; ``None`` for a fragment without words.

        Raises:
            ModelError: the server refuses the request, or takes no tools.
            Unavailable: it does not answer.
        """
        true = shown(fragment, source)
        score = similarity(true, self.rules)
        if score is None:
            return None
        return compared(true, score, called_with(await self._client.chat(asked(true))), self.rules)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
