"""Whatever can be read from ``transcripts.drafts``, judged by the evaluator; and stored, what comes of it."""

from harness_messages import WORDS as VALUES

from clearcall.agents.panel import build
from clearcall.infra.clickhouse.rows import columns
from clearcall.infra.settings import Settings
from clearcall.schemas import (
    MAX_ITERATION,
    Correction,
    DecodeError,
    Draft,
    Handover,
    Outgoing,
    Oversize,
    decode,
    encode,
)

WORDS = (
    *VALUES,
    '"track":{"agent":"canary"',
    '"shadow":true',
    '"task":"second"',
    '"step":1',
    '"given":',
    '"earlier":[',
)

_MOST_CHARS = 2000  # of one text: longer ones are slow, not different
_TABLES = {
    "consultants": [{"name": "canary", "share": 0.5}, {"name": "next", "shadow": True, "decoding": "free"}],
    "tasks": [{"name": "first"}, {"name": "second", "threshold": 90}],
}
_EVALUATORS = [
    build(Settings.model_validate(Settings().model_dump() | changes))
    for changes in ({}, {"mode": "paper", "policy": "keep", "reduction_check": "never"}, _TABLES)
]


def check(data: bytes) -> None:
    """Any draft ends in messages that can be sent, of which the stored ones have rows; none of them makes a loop."""
    try:
        draft = decode(Draft, data)
    except DecodeError:
        return
    if max(len(draft.cleaned), len(draft.chunk.text), len(draft.given or "")) > _MOST_CHARS:
        return
    for evaluator in _EVALUATORS:
        found = evaluator.judge(draft)
        assert found or draft.track.shadow
        try:
            assert all(encode(outgoing.message) for outgoing in found)
        except Oversize:
            return
        assert all(_goes_on(draft, outgoing) for outgoing in found)
        columns(each.message for each in found if not isinstance(each.message, Correction | Handover))


def _goes_on(draft: Draft, outgoing: Outgoing) -> bool:
    if isinstance(outgoing.message, Correction):
        return outgoing.iteration == draft.iteration + 1 <= MAX_ITERATION
    return not isinstance(outgoing.message, Handover) or outgoing.message.track.step > draft.track.step
