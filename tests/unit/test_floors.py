"""The floors of the house: an import goes down, or stays within its own part; never up."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import clearcall

PACKAGE = Path(clearcall.__file__).parent
FLOORS = {"schemas": 1, "samples": 2, "scoring": 2, "infra": 2, "agents": 3, "streams": 4}
Import = tuple[str, int]  # the module, and the line that imports it


def _imports(tree: ast.AST, package: str) -> Iterator[Import]:
    """Every import of the file: at its top, in functions, under ``TYPE_CHECKING``, by name through importlib."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("clearcall."):
            yield node.value.replace(":", "."), node.lineno


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _part(module: str) -> str | None:
    """The part of the house that a module of ours is in."""
    names = module.split(".")
    return names[1] if names[0] == "clearcall" and len(names) > 1 and names[1] in FLOORS else None


def _may_import(importer: str, imported: str) -> bool:
    return importer == imported or FLOORS[imported] < FLOORS[importer]


def _forbidden(source: str, module: str) -> list[str]:
    """What the file of ``module`` imports and may not, as readable lines."""
    importer = _part(module)
    if importer is None:
        return []
    found = _imports(ast.parse(source), module.rpartition(".")[0])
    return [
        f"{module}:{line} imports {name}"
        for name, line in found
        if (imported := _part(name)) is not None and not _may_import(importer, imported)
    ]


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield ".".join(("clearcall", *path.relative_to(PACKAGE).with_suffix("").parts)), path


def test_no_import_goes_up_a_floor() -> None:
    wrong = [line for module, path in _modules() for line in _forbidden(path.read_text(), module)]
    assert wrong == []


def test_every_folder_of_the_package_is_on_a_floor() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE}
    assert folders == set(FLOORS)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("clearcall.schemas.codec", "import clearcall.scoring.types"),
        ("clearcall.schemas.codec", "from clearcall import infra"),
        ("clearcall.scoring.matcher", "from clearcall.infra.settings import Settings"),
        ("clearcall.infra.settings", "from clearcall.scoring import types"),
        ("clearcall.scoring.matcher", "from clearcall.agents import evaluator"),
        ("clearcall.agents.sink", "def f():\n    from clearcall.streams import topics"),
        ("clearcall.agents.sink", "if TYPE_CHECKING:\n    from clearcall.streams.worker import Worker"),
        ("clearcall.agents.consultant.rules", "from ...streams import topics"),
        ("clearcall.agents.sink", "from .. import streams"),
        ("clearcall.agents.sink", "importlib.import_module('clearcall.streams.topics')"),
    ],
)
def test_an_import_up_or_across_is_found_wherever_it_stands(module: str, source: str) -> None:
    assert len(_forbidden(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("clearcall.streams.worker", "from clearcall.agents import sink\nfrom clearcall.schemas import Chunk"),
        ("clearcall.agents.sink", "from clearcall.infra.settings import Settings\nfrom .protocol import Agent"),
        ("clearcall.scoring.matcher", "from clearcall.scoring.types import Score\nimport clearcall"),
        ("clearcall.infra.settings", "import json, streams.other"),
    ],
)
def test_an_import_down_or_within_is_allowed(module: str, source: str) -> None:
    assert _forbidden(source, module) == []
