"""A model's answer to numbered lines: ``cut`` or ``whole``, what was said (a turn a line), what was answered."""

from fuzz_parts import parts, text_of

from clearcall.agents.consultant.backend import Line, Request
from clearcall.agents.consultant.decoding import projected
from clearcall.agents.consultant.lines import parse
from clearcall.agents.consultant.pieces import LINE_CHARS
from clearcall.schemas import Chunk
from clearcall.scoring import findings
from clearcall.scoring.lexicon import ENGLISH
from clearcall.scoring.spaces import one_line

WORDS = (
    *("cut", "whole", "\n====\n", "1 agent: ", "2 caller: ", "3 speaker 7: ", "**1 agent**:", "1) ", "- 1. ", "#1: "),
    *(
        "```",
        "</transcript>",
        "<earlier>",
        "I'm sorry, but I can't assist",
        "as an AI",
        "um ",
        "uh huh",
        "\u2028",
        "\x1c",
    ),
)

_MOST_LINES = 6


def check(data: bytes) -> None:
    """Every line gets an answer; one that is no failure can be sent, and projected is an allowed reduction."""
    how, said, answer = parts(data, 3)
    sources = [one_line(text_of(line))[:LINE_CHARS] for line in said.split(b"\n")[:_MOST_LINES]]
    answers = parse(text_of(answer), sources, cut=how == b"cut")
    assert len(answers) == len(sources)
    lines = tuple(
        Line(Chunk(call_id="c", chunk_id=number, speaker=0, text=source), source)
        for number, source in enumerate(sources)
    )
    for source, answered in zip(sources, projected(Request(0, lines), answers), strict=True):
        if answered.failure is None:
            answered.text.encode()
            assert not findings(source, answered.text, ENGLISH)
