"""Events have names of one style: what it is about, a dot, what became of it, as in ``dead_letter.written``."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import clearcall

PACKAGE = Path(clearcall.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log", "_log"}
NAME = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")


def _events(source: str) -> Iterator[str]:
    """The name of every event; a name that a caller gives is looked at where it is given."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            of = ast.unparse(node.func.value)
            if of not in ("log", "self", "structlog.get_logger()"):
                continue
            name = node.args[1 if node.func.attr == "log" else 0]
            if not (isinstance(name, ast.Name) and name.id == "event"):
                yield str(name.value) if isinstance(name, ast.Constant) else ast.unparse(name)


def _wrong(source: str) -> list[str]:
    return [name for name in _events(source) if not NAME.fullmatch(name)]


def test_every_event_is_named_in_one_style() -> None:
    wrong = {str(path.relative_to(PACKAGE)): _wrong(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {name: events for name, events in wrong.items() if events} == {}


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ('log.info("worker.signal", name=1)', []),
        ('log.warning("dead_letter.written")', []),
        ("log.warning(event)", []),
        ('log.info("rows_stored")', ["rows_stored"]),
        ('log.log(level, "It failed")', ["It failed"]),
        ('log.error(f"failed.{name}")', ["f'failed.{name}'"]),
        ('structlog.get_logger().info("Worker.Signal")', ["Worker.Signal"]),
        ('math.log("x")', []),
    ],
)
def test_the_check_sees_every_way_of_logging(source: str, wrong: list[str]) -> None:
    assert _wrong(source) == wrong
