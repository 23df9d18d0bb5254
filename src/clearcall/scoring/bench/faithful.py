"""Faithful edits: what a good cleaner does."""

import re
from collections.abc import Iterator

from clearcall.scoring.bench.calls import Call, Pair, Spoken, pair, without_sounds
from clearcall.scoring.bench.written import written_numbers

_FULL = {
    "n't": " not",
    "'m": " am",
    "'re": " are",
    "'ll": " will",
    "'ve": " have",
}
_WHOLE = {"won't": "will not", "can't": "cannot", "shan't": "shall not", "ain't": "ain't"}
_CONTRACTED = re.compile(r"\b(?:won't|can't|shan't|ain't)|(?<=\w)(?:n't|'m|'re|'ll|'ve)\b", re.IGNORECASE)


def faithful_pairs(call: Call) -> Iterator[Pair]:
    """Every turn of a call in each form that a good cleaner could give it."""
    for own, turn in enumerate(call.turns):
        for kind, cleaned in _forms(turn):
            if cleaned.strip():
                yield pair(kind, call, call.turns, own, cleaned)


def _forms(turn: Spoken) -> Iterator[tuple[str, str]]:
    plain = without_sounds(turn.said)
    if plain != turn.said:
        yield "filler removal", plain
    if not turn.by_human:
        return
    lower = _lower(turn.gold)
    yield "human gold", lower
    if turn.gold != lower:
        yield "punctuation and case", turn.gold
    if (digits := written_numbers(turn.gold)) != turn.gold:
        yield "number formatting", digits
    if "'" in turn.gold:
        yield "contractions kept", turn.gold.replace("'", "\u2019")
        if (full := _CONTRACTED.sub(_expand, turn.gold)) != turn.gold:
            yield "contractions written out", full


def _expand(match: re.Match[str]) -> str:
    text = match.group().lower()
    return _WHOLE.get(text) or _FULL[text]


def _lower(text: str) -> str:
    return " ".join(re.sub(r"[^\w' -]+", " ", text.lower()).split())
