"""How far the shadows of a run are: they end no chunk, so their evaluations tell it. Pure: fed with messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearcall.schemas import Cleaned, Evaluation


@dataclass
class ShadowProgress:
    """What each shadow of ``names`` has ended, against the chunks that were scored and delivered."""

    names: Sequence[str] = ()
    _expected: set[str] = field(default_factory=set)
    _ended: set[tuple[str, str]] = field(default_factory=set)
    _evaluations: set[str] = field(default_factory=set)

    @property
    def evaluations(self) -> int:
        """Distinct evaluations of shadows."""
        return len(self._evaluations)

    @property
    def ended(self) -> int:
        """Ends of chunks, over all shadows: it grows while anything comes of one."""
        return len(self._ended)

    def left(self) -> dict[str, int]:
        """Chunks that each shadow has still to end; those that have none left out."""
        counts = {name: sum((name, chunk) not in self._ended for chunk in self._expected) for name in self.names}
        return {name: count for name, count in counts.items() if count}

    def on_cleaned(self, cleaned: Cleaned) -> None:
        """A delivered chunk: one that was scored is expected of every shadow, too."""
        if cleaned.scored:
            self._expected.add(cleaned.message_id)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """A record of ``transcripts.evaluations``, of a shadow or not."""
        if not evaluation.track.shadow:
            return
        self._evaluations.add(evaluation.message_id)
        if evaluation.ends:
            self.on_end(evaluation.track.agent, evaluation.chunk.message_id)

    def on_end(self, name: str, message_id: str) -> None:
        """A shadow is done with a chunk, for good or ill."""
        self._ended.add((name, message_id))
