"""What parts words, in whatever reads a turn: white space, control characters and lone surrogates."""

import re

_PARTING = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def parted(text: str) -> str:
    """The text with a space for each character that parts words: every other one keeps its place."""
    return text if text.isprintable() else _PARTING.sub(" ", text)


def one_line(text: str) -> str:
    """The text on one line, as a model may get it: one space between words, none at the ends, the same words."""
    return " ".join(parted(text).split())
