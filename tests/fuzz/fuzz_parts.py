"""What the harnesses share.

A harness is a module ``harness_<decoder>.py`` with ``check(data)``: it reads ``data`` as a decoder would get it and
raises where a property does not hold. ``data`` is text that a person can write: its parts stand between lines of
``====``, and bytes that are no UTF-8 become lone surrogates. ``WORDS`` are what a fuzzer may try at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus"

_BETWEEN = b"\n====\n"


@dataclass(frozen=True, slots=True)
class Harness:
    """One decoder's harness."""

    name: str
    check: Callable[[bytes], None]
    words: Sequence[str]


def names() -> list[str]:
    """Every decoder that has a harness."""
    return sorted(path.stem.removeprefix("harness_") for path in FOLDER.glob("harness_*.py"))


def harness(name: str) -> Harness:
    """The harness of a decoder."""
    module = import_module(f"harness_{name}")
    return Harness(name, module.check, module.WORDS)


def parts(data: bytes, count: int) -> list[bytes]:
    """``count`` parts, those that are missing empty; the last one is all that is left."""
    found = data.split(_BETWEEN, count - 1)
    return found + [b""] * (count - len(found))


def text_of(part: bytes) -> str:
    """The part as text, with lone surrogates where it is no UTF-8."""
    return part.decode("utf-8", "surrogateescape")
