"""An explanation as JSON, for scripts."""

from typing import Any

import orjson

from clearcall.scoring import Flag
from clearcall.streams.explain.diff import Piece
from clearcall.streams.explain.explanation import Explanation, ShownFragment


def to_json(shown: Explanation) -> str:
    """The explanation as indented JSON; offsets are characters of the texts as given."""
    rules, evaluation = shown.rules, shown.evaluation
    value = {
        "mode": rules.mode,
        "threshold": rules.threshold,
        "fragment_words": rules.words,
        "fragment_overlap": rules.overlap,
        "flagged": evaluation.flagged,
        "summary": {
            "fragments": len(evaluation.fragments),
            "flagged": shown.flagged_count,
            "mean": shown.mean,
            "lowest": shown.lowest,
        },
        "fragments": [_fragment(item) for item in shown.fragments],
        "flags": [_flag(flag) for flag in evaluation.flags],
        "turns": [{"speaker": turn.speaker, "difference": _pieces(turn.difference)} for turn in shown.turns],
    }
    return orjson.dumps(_encodable(value), option=orjson.OPT_INDENT_2).decode()


def _fragment(item: ShownFragment) -> dict[str, Any]:
    fragment = item.fragment
    return {
        "turn": fragment.turn,
        "speaker": fragment.speaker,
        "text": fragment.text,
        "start": fragment.start,
        "end": fragment.end,
        "score": fragment.score,
        "paper_score": fragment.paper_score,
        "below_threshold": fragment.below_threshold,
        "flagged": fragment.flagged,
        "source_text": fragment.source_text,
        "source_start": fragment.source_start,
        "source_end": fragment.source_end,
        "flags": [_flag(flag) for flag in fragment.flags],
        "difference": _pieces(item.difference),
    }


def _flag(flag: Flag) -> dict[str, Any]:
    return {"guard": flag.guard, "reason": flag.reason, "cleaned": flag.cleaned, "source": flag.source}


def _pieces(pieces: tuple[Piece, ...]) -> list[dict[str, str]]:
    return [{"kind": piece.kind, "text": piece.text} for piece in pieces]


def _encodable(value: Any) -> Any:
    """Lone surrogates, which JSON's UTF-8 cannot hold, as replacement characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
