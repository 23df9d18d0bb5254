"""The same in other words: what a cleaner must not do, though it means well."""

import re

_PHRASES = {
    "a lot of": "numerous",
    "a lot": "considerably",
    "i think": "in my opinion",
    "i guess": "presumably",
    "have to": "must",
    "has to": "must",
    "want to": "would like to",
    "need to": "are required to",
    "going to": "planning to",
    "used to": "formerly would",
    "try to": "attempt to",
    "kind of": "somewhat",
    "really": "truly",
    "pretty": "rather",
    "very": "extremely",
    "kids": "children",
    "get": "obtain",
    "got": "received",
    "went": "travelled",
    "big": "substantial",
    "good": "excellent",
    "bad": "unfavorable",
    "people": "individuals",
    "things": "matters",
    "thing": "matter",
    "stuff": "items",
    "started": "commenced",
    "buy": "purchase",
    "help": "assist",
    "money": "funds",
    "job": "position",
    "house": "residence",
    "looking for": "searching for",
    "okay": "all fine",
    "yeah": "indeed",
    "maybe": "possibly",
    "because": "given that",
    "but": "however",
    "about": "approximately",
    "so": "therefore",
    "thank you": "many thanks",
    "can you": "would it be possible to",
}
_PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(_PHRASES, key=len, reverse=True))})\b", re.IGNORECASE)
_FEWEST = 2


def rephrased(text: str) -> str | None:
    """The text with common words put otherwise; ``None`` where fewer than two can be."""
    changed, count = _PHRASE.subn(_replace, text)
    return changed if count >= _FEWEST else None


def _replace(match: re.Match[str]) -> str:
    other = _PHRASES[match.group().lower()]
    return other[0].upper() + other[1:] if match.group()[0].isupper() else other
