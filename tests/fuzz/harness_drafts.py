"""Whatever can be read from ``transcripts.drafts``, judged by the evaluator; and stored, what comes of it."""

from harness_messages import WORDS as VALUES

from clearcall.agents.evaluator import Evaluator
from clearcall.infra.clickhouse.rows import columns
from clearcall.schemas import Correction, DecodeError, Draft, Oversize, decode, encode
from clearcall.scoring import Rules

WORDS = VALUES

_MOST_CHARS = 2000  # of one text: longer ones are slow, not different
_EVALUATORS = (Evaluator(Rules(), "restore", lambda: 0.0), Evaluator(Rules(mode="paper"), "keep", lambda: 0.0))


def check(data: bytes) -> None:
    """Any draft ends in messages that can be sent, of which the stored ones have rows."""
    try:
        draft = decode(Draft, data)
    except DecodeError:
        return
    if len(draft.cleaned) > _MOST_CHARS or len(draft.chunk.text) > _MOST_CHARS:
        return
    for evaluator in _EVALUATORS:
        found = [outgoing.message for outgoing in evaluator.judge(draft)]
        assert found
        for message in found:
            try:
                assert encode(message)
            except Oversize:
                return
        columns(message for message in found if not isinstance(message, Correction))
