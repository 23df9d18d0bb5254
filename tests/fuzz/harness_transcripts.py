"""Texts that ``clearcall explain`` and ``prompt try`` take, with or without speakers."""

from fuzz_parts import text_of

from clearcall.streams.explain.inputs import read_transcript

WORDS = (
    "agent: ",
    "Caller:",
    "customer: ",
    "client:",
    "speaker 2: ",
    "0: ",
    "\u0131",
    "\u0130",
    "\u017f",
    "\u2028",
    "\n",
    "\t",
)


def check(data: bytes) -> None:
    """Any text is turns, each by a speaker who has a name where any has."""
    found = read_transcript(text_of(data))
    assert all(turn.text == turn.text.strip() for turn in found.turns)
    assert not found.names or {turn.speaker for turn in found.turns} == found.names.keys()
