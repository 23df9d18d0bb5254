"""Unfaithful edits, one kind at a time: what a hallucinating cleaner does to a turn."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from clearcall.scoring.bench.calls import Call, Pair, Spoken, pair
from clearcall.scoring.bench.rephrase import rephrased
from clearcall.scoring.bench.written import written_numbers

_SHORTEST_SWAP = 5
_SHORTEST_STRETCH = 3
_NUMBER = re.compile(r"\d[\d,]*\d|\d")
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty")
_NUMBER_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_NUMBER_WORDS)})(?![\w-])", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|must)\b(?! not)(?!['\u2019])",
    re.IGNORECASE,
)
_OPINION = re.compile(r"\b([Ii]|you|we|they) (think|know|want|like|believe|need|see|remember|have)\b")
_NEGATION = re.compile(
    r"\b(ca|wo|do|does|did|is|are|was|were|have|has|had|could|would|should)n['\u2019]t\b|\bnot |\bnever "
)
_POSITIVE = {"ca": "can", "wo": "will"}
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_SAID_NAME = re.compile(r"(?<=\bname is )[a-z]{3,}(?: [a-z]{3,})?")
_NAMES = (
    "Daniel Garcia Houston Patricia Kim Boston Oliver Nguyen Denver Sandra Lopez Seattle Victor Schmidt Chicago "
    "Angela Rossi Toronto Felix Haddad Phoenix"
)
_SENTENCE = re.compile(r"[^.?!]+[.?!]+\s*|[^.?!]+$")
_ANSWERS = (
    "Sure, I can help you with that. What is your account number?",
    "Yes, that is correct. Is there anything else you need?",
    "No, unfortunately that is not available at the moment.",
    "The best option would be to call our service desk on Monday.",
    "I'm sorry to hear that. Let me check it for you right away.",
    "It usually takes three to five business days to arrive.",
    "As a language model, I do not have personal experiences.",
    "That depends on your plan, but most customers pay about $40 a month.",
)
_FILLERS = frozenset(["uh", "um", "oh", "well", "huh", "mm", "hmm", "mhm", "you", "know", "i", "mean"])


@dataclass(frozen=True, slots=True)
class Material:
    """What the edits draw from besides the turn itself."""

    random: Random
    others: Sequence[Spoken]


Edit = Callable[[Spoken, Material], str | None]


def unfaithful_pairs(call: Call, material: Material) -> Iterator[Pair]:
    """Every turn of a call with each edit that it has a place for."""
    for own, turn in enumerate(call.turns):
        if not turn.gold.strip():
            continue
        for kind, edit in EDITS.items():
            yield from _edited(kind, call, call.turns, own, edit(turn, material))
        for kind, other in _instead(call.turns, own):
            yield from _edited(kind, call, call.turns, own, other)
    for own, turn in enumerate(call.merged):
        for kind, edit in MERGED_EDITS.items():
            yield from _edited(kind, call, call.merged, own, edit(turn, material))


def _edited(kind: str, call: Call, turns: Sequence[Spoken], own: int, cleaned: str | None) -> Iterator[Pair]:
    """The pair, if the edit changed more than case and punctuation."""
    if cleaned and _bare(cleaned) != _bare(turns[own].gold):
        yield pair(kind, call, turns, own, cleaned)


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _number_changed(turn: Spoken, material: Material) -> str | None:
    text = written_numbers(turn.gold)
    if found := list(_NUMBER.finditer(text)):
        match = material.random.choice(found)
        places = [place for place, char in enumerate(match.group()) if char.isdigit()]
        place = material.random.choice(places)
        other = material.random.choice([digit for digit in "123456789" if digit != match.group()[place]])
        number = match.group()[:place] + other + match.group()[place + 1 :]
        return text[: match.start()] + number + text[match.end() :]
    return None


def _number_word_changed(turn: Spoken, material: Material) -> str | None:
    found = list(_NUMBER_WORD.finditer(turn.gold))
    if not found:
        return None
    match = material.random.choice(found)
    other = material.random.choice([word for word in _NUMBER_WORDS if word != match.group().lower()])
    return turn.gold[: match.start()] + other + turn.gold[match.end() :]


def _digits_transposed(turn: Spoken, material: Material) -> str | None:
    text = written_numbers(turn.gold)
    places = [
        place
        for place in range(len(text) - 1)
        if text[place].isdigit() and text[place + 1].isdigit() and text[place] != text[place + 1]
    ]
    if not places:
        return None
    place = material.random.choice(places)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _negation_added(turn: Spoken, material: Material) -> str | None:
    found = [*_AUXILIARY.finditer(turn.gold), *_OPINION.finditer(turn.gold)]
    if not found:
        return None
    match = material.random.choice(found)
    if match.re is _OPINION:
        negation = material.random.choice(("don't", "do not", "never"))
        changed = f"{match[1]} {negation} {match[2]}"
    else:
        changed = f"{match[1]} not"
    return turn.gold[: match.start()] + changed + turn.gold[match.end() :]


def _negation_removed(turn: Spoken, material: Material) -> str | None:
    found = list(_NEGATION.finditer(turn.gold))
    if not found:
        return None
    match = material.random.choice(found)
    verb = match[1] or ""
    return turn.gold[: match.start()] + _POSITIVE.get(verb, verb) + turn.gold[match.end() :]


def _name_changed(turn: Spoken, material: Material) -> str | None:
    text = _SAID_NAME.sub(lambda match: match.group().title(), turn.gold)
    found = list(_NAME.finditer(text))
    if not found:
        return None
    match = material.random.choice(found)
    other = material.random.choice([name for name in _NAMES.split() if name != match.group()])
    return text[: match.start()] + other + text[match.end() :]


def _invented(count: int) -> Edit:
    """Inserts ``count`` words in a row from another call."""

    def edit(turn: Spoken, material: Material) -> str | None:
        words = turn.gold.split()
        for _ in range(20):
            other = _bare_words(material.random.choice(material.others).gold)
            start = material.random.randrange(max(1, len(other) - count + 1))
            inserted = other[start : start + count]
            if len(inserted) == count and not _FILLERS & set(inserted) and inserted[0] not in words:
                at = material.random.randrange(len(words) + 1)
                return " ".join([*words[:at], *inserted, *words[at:]])
        return None

    return edit


def _bare_words(text: str) -> list[str]:
    return [word.strip(".,?!;:").lower() for word in text.split()]


def _word_replaced(turn: Spoken, material: Material) -> str | None:
    words = turn.gold.split()
    other = [word for word in _bare_words(material.random.choice(material.others).gold) if word not in _FILLERS]
    if not other or len(words) < _SHORTEST_STRETCH:
        return None
    at = material.random.randrange(len(words))
    return " ".join([*words[:at], material.random.choice(other), *words[at + 1 :]])


def _words_swapped(turn: Spoken, material: Material) -> str | None:
    words = turn.gold.split()
    if len(words) < _SHORTEST_STRETCH:
        return None
    at = material.random.randrange(len(words) - 1)
    return " ".join([*words[:at], words[at + 1], words[at], *words[at + 2 :]])


def _other_call(_turn: Spoken, material: Material) -> str | None:
    other = material.random.choice(material.others).gold
    return other if len(other.split()) >= _SHORTEST_SWAP else None


def _answered(turn: Spoken, material: Material) -> str | None:
    return material.random.choice(_ANSWERS) if turn.gold.rstrip().endswith("?") else None


def _rephrased(turn: Spoken, _material: Material) -> str | None:
    return rephrased(turn.gold)


def _sentences(text: str, shortest: int) -> list[str] | None:
    found = [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]
    return found if sum(len(sentence.split()) >= shortest for sentence in found) and len(found) > 1 else None


def _sentence_dropped(turn: Spoken, material: Material) -> str | None:
    sentences = _sentences(turn.gold, _SHORTEST_SWAP)
    if sentences is None:
        return None
    long = [place for place, sentence in enumerate(sentences) if len(sentence.split()) >= _SHORTEST_SWAP]
    place = material.random.choice(long)
    return " ".join(sentences[:place] + sentences[place + 1 :])


def _sentences_swapped(turn: Spoken, material: Material) -> str | None:
    sentences = _sentences(turn.gold, 2)
    if sentences is None:
        return None
    places = [
        place
        for place in range(len(sentences) - 1)
        if min(len(sentences[place].split()), len(sentences[place + 1].split())) > 1
    ]
    if not places:
        return None
    place = material.random.choice(places)
    sentences[place], sentences[place + 1] = sentences[place + 1], sentences[place]
    return " ".join(sentences)


def _instead(turns: Sequence[Spoken], own: int) -> Iterator[tuple[str, str | None]]:
    """Other turns of the call in the place of this one: the next by the other speaker, and the next by the same."""
    mine = turns[own]
    following = turns[own + 1 : own + 6]
    other = next((turn.gold for turn in following if turn.speaker != mine.speaker), "")
    yield "speaker swap, 5+ words", other if len(other.split()) >= _SHORTEST_SWAP else None
    yield "speaker swap, under 5 words", other if 0 < len(other.split()) < _SHORTEST_SWAP else None
    same = next((turn.gold for turn in following if turn.speaker == mine.speaker), "")
    yield "neighbouring turns swapped", same if len(same.split()) >= _SHORTEST_STRETCH else None


EDITS: dict[str, Edit] = {
    "number changed": _number_changed,
    "number word changed": _number_word_changed,
    "digits transposed": _digits_transposed,
    "negation added": _negation_added,
    "negation removed": _negation_removed,
    "name changed": _name_changed,
    "1 word invented": _invented(1),
    "3 words invented": _invented(3),
    "5 words invented": _invented(5),
    "1 word replaced": _word_replaced,
    "2 words swapped": _words_swapped,
    "rephrase": _rephrased,
    "text from another call": _other_call,
    "answer instead": _answered,
}
MERGED_EDITS: dict[str, Edit] = {
    "sentence dropped, 5+ words": _sentence_dropped,
    "neighbouring sentences swapped": _sentences_swapped,
}
