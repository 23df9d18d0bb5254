"""The turns that a prompt is tried on: lines of text, a file of calls, or the samples."""

from collections.abc import Sequence
from pathlib import Path

from clearcall.agents.consultant.trial import Said
from clearcall.schemas import Chunk, DecodeError, decode
from clearcall.streams.calls import CallFileError, read_calls
from clearcall.streams.cli.errors import USAGE, Stop
from clearcall.streams.explain.inputs import BadInput, read_text, read_transcript

_CALL = "tried"


def turns_of(lines: str | None, calls: Path | None, most: int, *, corrects: bool) -> list[Said]:
    """At most ``most`` turns; ``corrects`` wants an earlier answer to each, which only lines can have.

    Raises:
        Stop: they cannot be read, or there are none.
    """
    if lines is not None and calls is not None:
        raise Stop("both --lines and --calls are given", "give one of them", USAGE)
    if corrects and lines is None:
        raise Stop(
            "a prompt for corrections needs earlier answers",
            "give --lines with a tab and the answer behind each turn",
            USAGE,
        )
    found = _lines(lines) if lines is not None else _called(calls) if calls else _samples()
    if not found:
        raise Stop("there is no turn to try", "give lines of text, one turn a line", USAGE)
    bare = [turn for turn in found if turn.wrote is None]
    if corrects and bare:
        raise Stop(
            f"turn {bare[0].chunk.chunk_id} has no earlier answer",
            "this prompt corrects: write each as what was said, a tab, what was answered",
            USAGE,
        )
    if not corrects and len(bare) < len(found):
        raise Stop("a line has a tab", "only a prompt for corrections takes earlier answers", USAGE)
    return found[:most]


def _lines(given: str) -> list[Said]:
    try:
        text = read_text(given)
    except BadInput as error:
        raise Stop(str(error), error.todo, USAGE) from error
    found: list[Said] = []
    for line in filter(str.strip, text.splitlines()):
        said, tab, wrote = line.partition("\t")
        turns = read_transcript(said).turns
        if turns:
            chunk = Chunk(call_id=_CALL, chunk_id=len(found), speaker=turns[0].speaker, text=turns[0].text)
            found.append(Said(chunk, wrote.strip() if tab else None))
    return found


def _called(calls: Path) -> list[Said]:
    try:
        return _said([decode(Chunk, raw.value) for raw in read_calls(calls)])
    except (CallFileError, DecodeError) as error:
        raise Stop(f"{calls}: {error}" if isinstance(error, DecodeError) else str(error), "", USAGE) from error


def _samples() -> list[Said]:
    from clearcall.samples import load_calls  # noqa: PLC0415 - only where they are asked for

    return _said([sample.chunk for call in load_calls() for sample in call.chunks])


def _said(chunks: Sequence[Chunk]) -> list[Said]:
    return [Said(chunk) for chunk in chunks]
