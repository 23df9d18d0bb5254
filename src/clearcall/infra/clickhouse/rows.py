"""Messages as rows of the tables; pure. A table's batch is its columns, since that is how the engine takes them.

Times become milliseconds of the epoch. Texts are stored exactly as received, NUL and all.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from clearcall.schemas import (
    Alert,
    Cleaned,
    ConsultantInfo,
    DeadLetter,
    Evaluation,
    FragmentCheck,
    FragmentScore,
    GuardFlag,
    Message,
    Span,
    ToolCheck,
    Track,
)

Row = dict[str, Any]
Columns = Mapping[str, list[Any]]

TABLES = ("fragments", "evaluations", "cleaned", "tool_checks", "alerts", "dead_letters")
"""In the order of insertion: an evaluation is there only when its fragments are, which the views rely on."""


def rows(message: Message) -> Iterable[tuple[str, Row]]:
    """The rows of one message, each with its table.

    Raises:
        TypeError: the message is of a kind that is not stored.
    """
    match message:
        case Evaluation():
            return [("evaluations", _evaluation(message)), *(("fragments", row) for row in _fragments(message))]
        case Cleaned():
            return [("cleaned", _cleaned(message))]
        case ToolCheck():
            return [("tool_checks", row) for row in _tool_checks(message)]
        case Alert():
            return [("alerts", _alert(message))]
        case DeadLetter():
            return [("dead_letters", _dead_letter(message))]
        case _:
            raise TypeError(f"{type(message).__name__} has no table")


def columns(messages: Iterable[Message]) -> dict[str, Columns]:
    """The rows of a batch of messages as columns by table, the tables in ``TABLES``' order."""
    tables: dict[str, dict[str, list[Any]]] = {}
    for message in messages:
        for table, row in rows(message):
            found = tables.get(table)
            if found is None:
                tables[table] = {name: [value] for name, value in row.items()}
                continue
            for name, value in row.items():
                found[name].append(value)
    return {table: tables[table] for table in TABLES if table in tables}


def _evaluation(message: Evaluation) -> Row:
    chunk, attempt = message.chunk, message.attempt
    scores = [fragment.ss for fragment in attempt.fragments]
    return {
        "call_id": chunk.call_id,
        "chunk_id": chunk.chunk_id,
        "iteration": attempt.iteration,
        "speaker": chunk.speaker,
        "source_text": message.source,
        "words": len(message.source.split()),
        "cleaned": attempt.cleaned,
        "outcome": str(attempt.outcome),
        "failure": str(attempt.failure or ""),
        "flagged": attempt.flagged,
        "fragments": len(scores),
        "flagged_fragments": sum(fragment.flagged for fragment in attempt.fragments),
        "min_ss": min(scores, default=None),
        "mean_ss": sum(scores) / len(scores) if scores else None,
        "flags": [_flag(flag) for flag in attempt.flags],
        "notes": [_flag(flag) for flag in attempt.notes],
        "latency_ms": message.latency_ms,
        "prompt_tokens": message.prompt_tokens,
        "completion_tokens": message.completion_tokens,
        "fragment_words": message.fragment_words,
        "fragment_overlap": message.fragment_overlap,
        **_scored_by(message),
    }


def _fragments(message: Evaluation) -> list[Row]:
    chunk, attempt = message.chunk, message.attempt
    shared = {
        "call_id": chunk.call_id,
        "chunk_id": chunk.chunk_id,
        "iteration": attempt.iteration,
        "speaker": chunk.speaker,
        "words": len(message.source.split()),
        **_scored_by(message),
    }
    return [shared | _fragment(fragment) for fragment in attempt.fragments]


def _fragment(fragment: FragmentScore) -> Row:
    return {
        "fragment_id": fragment.fragment_id,
        "text": fragment.text,
        "cleaned_start": fragment.cleaned.start,
        "cleaned_end": fragment.cleaned.end,
        "ss": fragment.ss,
        "ss_paper": fragment.ss_paper,
        "source_text": fragment.source_text,
        "flagged": fragment.flagged,
        "flags": [_flag(flag) for flag in fragment.flags],
    }


def _cleaned(message: Cleaned) -> Row:
    chunk = message.chunk
    return {
        "call_id": chunk.call_id,
        "chunk_id": chunk.chunk_id,
        "speaker": chunk.speaker,
        "start": chunk.start,
        "end": chunk.end,
        "source_text": chunk.text,
        "text": message.text,
        "words": len(chunk.text.split()),
        "status": str(message.status),
        "iteration": message.iteration,
        "attempts": message.scored,
        "mode": message.mode,
        "threshold": message.threshold,
        "clearcall_version": message.clearcall_version,
        "cleaned_at": _milliseconds(message.cleaned_at),
        "agent": message.track.agent,
        "task": message.track.task,
        **_consultant(message.consultant),
    }


def _tool_checks(message: ToolCheck) -> list[Row]:
    shared = {
        "call_id": message.call_id,
        "chunk_id": message.chunk_id,
        "iteration": message.iteration,
        "caller_model": message.model,
        "caller_prompt_version": message.prompt_version,
        "mode": message.mode,
        "threshold": message.threshold,
        "clearcall_version": message.clearcall_version,
        "checked_at": _milliseconds(message.checked_at),
        "agent": message.track.agent,
        "task": message.track.task,
        **_consultant(message.consultant),
    }
    return [shared | _tool_check(check) for check in message.checks]


def _tool_check(check: FragmentCheck) -> Row:
    return {
        "fragment_id": check.fragment_id,
        "fragment": str(check.fragment),
        "source": str(check.source),
        "given_fragment": check.given_fragment,
        "given_source": check.given_source,
        "ss": check.ss,
        "given_ss": check.given_ss,
        "change": str(check.change),
    }


def _alert(message: Alert) -> Row:
    return {
        "fingerprint": message.fingerprint,
        "raised_at": _milliseconds(message.raised_at),
        "state": message.state,
        "monitor": message.monitor,
        "observed": message.observed,
        "reference": message.reference,
        "p_value": message.p_value,
        "calls": message.calls,
        "summary": message.summary,
        "clearcall_version": message.clearcall_version,
        **_consultant(message.consultant),
    }


def _dead_letter(message: DeadLetter) -> Row:
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "stage": message.stage,
        "reason": message.reason,
        "detail": message.detail,
        "errors": list(message.errors),
        "record_key": message.record_key,
        "record_value": message.record_value,
        "record_headers": list(message.record_headers),
        "record_timestamp": message.record_timestamp,
        "truncated": message.truncated,
        "clearcall_version": message.clearcall_version,
        "died_at": _milliseconds(message.died_at),
    }


def _scored_by(message: Evaluation) -> Row:
    return {
        "mode": message.mode,
        "threshold": message.threshold,
        "clearcall_version": message.clearcall_version,
        "evaluated_at": _milliseconds(message.evaluated_at),
        **_track(message.track),
        **_consultant(message.attempt.consultant),
    }


def _track(track: Track) -> Row:
    return {"agent": track.agent, "shadow": track.shadow, "task": track.task, "step": track.step}


def _consultant(info: ConsultantInfo) -> Row:
    return {
        "backend": info.backend,
        "model": info.model,
        "prompt_version": info.prompt_version,
        "decoding": info.decoding,
    }


def _flag(flag: GuardFlag) -> tuple[str, str, list[int], list[int]]:
    return flag.guard, flag.reason, _offsets(flag.cleaned), _offsets(flag.source)


def _offsets(span: Span | None) -> list[int]:
    return [] if span is None else [span.start, span.end]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
