"""One line of the doctor's report."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How bad it is: ``warn`` works but deserves a look, ``fail`` does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and what to do about it (nothing where it is ok)."""

    part: str
    state: State
    what: str
    todo: str = ""
