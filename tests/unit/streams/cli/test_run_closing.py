"""What ``clearcall run`` says at its end."""

import io

import pytest
from rich.console import Console

from clearcall.infra.settings import Settings
from clearcall.schemas import Status
from clearcall.streams.cli.session import _closing
from clearcall.streams.progress import Progress
from clearcall.streams.run import RunResult


@pytest.mark.parametrize(
    ("dead", "line"),
    [
        (0, "3 chunks cleaned in 2.0 s (2 a second); stored in http://h/db"),
        (2, "3 chunks cleaned, 2 in the dead letters, in 2.0 s (2 a second); stored in http://h/db"),
    ],
)
def test_what_was_cleaned_and_what_died_are_told_apart(dead: int, line: str) -> None:
    progress = Progress(sent=3 + dead, dead=dead)
    progress.statuses.update({Status.CLEAN: 2, Status.RESTORED: 1})
    screen = Console(file=io.StringIO(), width=60)
    _closing(screen, Settings(db="http://h/db"), RunResult(progress, cleaning_seconds=2.0))
    assert isinstance(screen.file, io.StringIO)
    shown = screen.file.getvalue().splitlines()
    assert line in shown
    assert ("  dead letters:     clearcall dead-letters list --db http://h/db" in shown) is bool(dead)
