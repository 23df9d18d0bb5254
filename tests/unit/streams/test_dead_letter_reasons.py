"""The reasons of dead letters are listed in one place, for those who filter by them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import clearcall
from clearcall.streams.dead_letter import REASONS

_REFUSALS = {"Poison", "DecodeError", "Undecodable", "UnknownSchema", "Oversize"}


def raised() -> Iterator[str]:
    for path in Path(clearcall.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _REFUSALS:
                assert isinstance(node.args[0], ast.Constant)
                yield str(node.args[0].value)


def test_every_reason_that_a_stage_gives_is_listed() -> None:
    assert sorted({"failed", *raised()}) == list(REASONS)
