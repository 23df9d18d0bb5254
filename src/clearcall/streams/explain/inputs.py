"""Reading the two texts: files, standard input or the words themselves, with or without speakers."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clearcall.scoring import Turn

_ROLES = {"agent": 0, "caller": 1, "customer": 1, "client": 1}
_HEAD = re.compile(
    rf"\s*(?:speaker\s+)?([0-9]{{1,9}}|{'|'.join(_ROLES)})\s*:\s*(.*)", re.IGNORECASE | re.DOTALL | re.ASCII
)
_PATH = re.compile(r"\S*(/\S*|\.(txt|md|text|transcript))")


class BadInput(Exception):
    """A text that cannot be read; ``todo`` says what to do."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(what)
        self.todo = todo


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns, and the speakers' names as the text gives them; no names where the text is of one speaker."""

    turns: tuple[Turn, ...]
    names: Mapping[int, str] = field(default_factory=dict)


def read_transcripts(source: str, cleaned: str) -> tuple[Transcript, Transcript]:
    """Both texts of a comparison.

    Args:
        source: what was said: a file's path, ``-`` for standard input, or the text itself.
        cleaned: what was written, in the same ways.

    Raises:
        BadInput: a file is missing or is not UTF-8, both are standard input, or only one names its speakers.
    """
    if source == cleaned == "-":
        raise BadInput("both texts are to be read from standard input", "give one of them as a file")
    said, wrote = read_transcript(read_text(source)), read_transcript(read_text(cleaned))
    if bool(said.names) != bool(wrote.names) and said.turns and wrote.turns:
        bare = "cleaned" if said.names else "source"
        raise BadInput(f"the {bare} text does not say who speaks", "begin its turns with 0: or agent: as in the other")
    return said, wrote


def read_transcript(text: str) -> Transcript:
    """Turns where the first line begins with a speaker (``0:``, ``speaker 1:``, ``agent:``), else one turn.

    A line without a speaker goes on with the turn before it.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not _HEAD.match(lines[0]):
        stripped = text.strip()
        return Transcript((Turn(0, stripped),) if stripped else ())
    spoken: list[tuple[int, list[str]]] = []
    names: dict[int, str] = {}
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head is None:
            spoken[-1][1].append(line.strip())
            continue
        name = head.group(1).casefold()
        speaker = _ROLES[name] if name in _ROLES else int(name)
        names.setdefault(speaker, name if name in _ROLES else f"speaker {speaker}")
        spoken.append((speaker, [head.group(2).strip()]))
    return Transcript(tuple(Turn(speaker, " ".join(filter(None, texts))) for speaker, texts in spoken), names)


def read_text(given: str) -> str:
    """A file's text, standard input's where ``-`` is given, or the words themselves; raises ``BadInput``."""
    if given == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    path = Path(given)
    try:
        if path.is_file():
            return _decoded(path.read_bytes(), given)
        is_folder = path.is_dir()
    except (OSError, ValueError):  # a text is not a path: too long, or with a NUL
        return given
    if _PATH.fullmatch(given):
        if is_folder:
            raise BadInput(f"{given}: is a folder, not a file", "name a file in it")
        raise BadInput(f"{given}: no such file", "check the path, or give a text of more than one word")
    return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: not UTF-8 at byte {error.start}", f"iconv -t UTF-8 {name}") from error
