"""Cleaning without a model: fillers and immediate repeats out, simple case and punctuation in."""

import re

_FILLERS = frozenset({"uh", "um", "uhm", "er", "erm", "ah", "eh", "hm", "hmm", "mm", "mhm", "mmm"})
_LETTERS = re.compile(r"\w")
_FINAL = ".?!…"


def rule_clean(text: str) -> str:
    """The text without fillers, cased and closed with a full stop. Nothing that carries meaning is removed."""
    kept = [word for word in text.split() if _bare(word) not in _FILLERS]
    if not any(_LETTERS.search(word) for word in kept):
        return ""
    sentence = " ".join("I" + word[1:] if re.fullmatch(r"i(?:['\u2019]\w+)?", word) else word for word in kept)
    sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence[-1] in _FINAL else sentence + "."


def is_nothing_to_clean(text: str) -> bool:
    """Whether there is nothing in the text to hand to a model: it is empty, or fillers and punctuation alone."""
    return all(_bare(word) in _FILLERS or not _LETTERS.search(word) for word in text.split())


def _bare(word: str) -> str:
    return word.strip(".,;:!?…-\"'").casefold()
