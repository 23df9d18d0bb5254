"""What is read costs as much as it is long: twice the input, about twice the steps. Steps are counted, not seconds."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from fuzz_parts import CORPUS, harness

_SIZE = 60
_MOST_GROWTH = 2.5
"""Times the steps at twice the size; four is the square."""


def _seed(path: str) -> bytes:
    return (CORPUS / path).read_bytes()


GROWING: dict[str, Callable[[int], bytes]] = {
    "headers of one name": lambda size: b"headers:" + b"iteration=1\n" * size,
    "attempts": lambda size: b"messages:" + _with_attempts(size),
    "lines of an answer": lambda size: b"answers:whole\n====\nhello\n====\n" + b"1 agent: hello\n" * size,
    "an answer that goes on": lambda size: b"answers:whole\n====\nhello\n====\n1 agent: hello\n" + b"you\n" * size,
    "numbers of an answer": lambda size: b"answers:whole\n====\nhello\n====\n" + b"".join(map(_line, range(size))),
    "words of an answer": lambda size: b"answers:whole\n====\nhello\n====\n1 agent: " + b"hello " * size,
    "answers of a recording": lambda size: b"recording:" + _recording(size),
    "unknown keys of a file": lambda size: b"toml:" + b"".join(b"key%d = 1\n" % number for number in range(size)),
    "unknown variables": lambda size: b"environment:" + b"".join(b"KEY%d=1\n" % number for number in range(size)),
    "entries of a lexicon": lambda size: b"lexicon:" + b"".join(b"word%d\n" % number for number in range(size)),
    "calls of a file": lambda size: b"calls:9999\n" + b"".join(map(_call, range(size))),
    "lines of a turn": lambda size: b"transcripts:agent: hello\n" + b"you\n" * size,
    "examples of a prompt": lambda size: b"prompts:" + b"=== user\nu\n" * size + _seed("prompts/small"),
}


@pytest.mark.parametrize("what", GROWING)
def test_twice_the_input_takes_about_twice_the_steps(what: str) -> None:
    once, twice = (_steps(GROWING[what](size)) for size in (_SIZE, 2 * _SIZE))
    assert twice <= _MOST_GROWTH * once


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "run", [b"1 agent" + b"*" * 1_000_000, b"1 " + b"*" * 1_000_000, b"1 speaker " + b"1" * 1_000_000]
)
def test_a_run_of_a_million_signs_where_a_line_begins_does_not_stop_the_reading(run: bytes) -> None:
    harness("answers").check(b"whole\n====\nhello\n====\n" + run)


def _steps(data: bytes) -> int:
    """Lines of Python that the harness runs, the libraries' among them."""
    name, _, given = data.partition(b":")
    check = harness(name.decode()).check
    check(given)  # what is made once and kept is no part of it
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check(given)
    finally:
        sys.settrace(before)
    return count


def _with_attempts(size: int) -> bytes:
    seed = _seed("messages/drafts")
    start, end = seed.index(b'"attempts":[') + len(b'"attempts":['), seed.index(b'],"drafted_at"')
    return seed[:end] + (b"," + seed[start:end]) * size + seed[end:]


def _line(number: int) -> bytes:
    return b"%d agent: hello\n" % number


def _recording(size: int) -> bytes:
    header, answer, _ = _seed("recording/two-answers").split(b"\n", 2)
    answers = (answer.replace(b'"chunk_id":0', b'"chunk_id":%d' % number) for number in range(size))
    return b"\n".join([header, *answers])


def _call(number: int) -> bytes:
    return b'{"call_id":"c%d","chunk_id":0,"speaker":0,"text":"hello"}\n' % number
