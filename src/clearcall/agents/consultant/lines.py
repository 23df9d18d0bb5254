"""A model's answer to numbered lines, taken apart; every answer gives every line an ``Answer``, whatever it holds."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from clearcall.agents.consultant.backend import Answer
from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.agents.consultant.pieces import count_words
from clearcall.schemas import Failure
from clearcall.scoring.lexicon import ENGLISH, Lexicon
from clearcall.scoring.spaces import one_line

LONGEST = (2.0, 10)
"""An answer of more than twice its source's words and ten is no copy of it: the model runs on."""

_STARS = r"\*{0,3}"  # bounded: two runs without bounds, side by side, take the square of the time
_HEAD = re.compile(
    r"[>*#(\[ -]{0,4}([0-9]{1,6})[)\].]?"
    rf"(?: ?{_STARS}(?:agent|caller|speaker [0-9]{{1,10}}){_STARS})? ?{_STARS}:{_STARS} ?(.*)",
    re.IGNORECASE,
)
_INNER_HEAD = re.compile(r"\b[0-9]{1,6} (?:agent|caller|speaker [0-9]+):", re.IGNORECASE)
_DECORATION = re.compile(r"`{3}\w*|</?(?:transcript|earlier)>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:im (?:very )?sorry but i|im sorry i (?:cant|cannot|am)|i (?:cant|cannot|am not able to|am unable to|wont) "
    r"(?:assist|help|comply|fulfill|provide|do that|process)|as an ai|as a language model|im an ai|im just an ai)\b"
)


@dataclass(slots=True)
class _Heard:
    """What an answer holds: texts by line number in order of their appearance, and lines without a number."""

    numbered: dict[int, list[str]] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)
    last: int = 0


def parse(text: str, sources: Sequence[str], *, cut: bool, lexicon: Lexicon = ENGLISH) -> tuple[Answer, ...]:
    """The answers to ``sources``, which were asked as lines 1, 2, …; ``cut`` says that the model ran out of tokens.

    A line that comes twice is a failure where its texts differ: which one is meant nobody knows. The same text again is
    the same answer, and taken.
    """
    heard = _hear(text)
    if not heard.numbered:
        return _unnumbered(heard.loose, sources, lexicon, cut=cut)
    return tuple(_line(number, sources, heard, lexicon, cut=cut) for number in range(1, len(sources) + 1))


def _hear(text: str) -> _Heard:
    heard = _Heard()
    written: dict[int, list[list[str]]] = {}
    opened: list[str] | None = None
    for raw in text.splitlines():
        line = one_line(raw)
        if not line:
            opened = None
            continue
        if _DECORATION.fullmatch(line):
            continue
        head = _HEAD.fullmatch(line)
        if head:
            heard.last, opened = int(head[1]), [head[2]]
            written.setdefault(heard.last, []).append(opened)
        elif opened is not None:
            opened.append(line)
        else:
            heard.loose.append(line)
    heard.numbered = {number: list(map(" ".join, texts)) for number, texts in written.items()}
    return heard


def _unnumbered(loose: Sequence[str], sources: Sequence[str], lexicon: Lexicon, *, cut: bool) -> tuple[Answer, ...]:
    """No line has its number: of use only where a single line was asked for and a single one came."""
    whole = " ".join(loose)
    if cut:
        return (Answer(whole, Failure.CUT),) * len(sources)
    if not loose:
        return (Answer("", Failure.EMPTY),) * len(sources)
    if len(sources) == 1 and len(loose) == 1:
        return (judged(whole, sources[0], lexicon),)
    failure = Failure.REFUSAL if _refuses(whole, " ".join(sources)) else Failure.GARBAGE
    return (Answer(whole, failure),) * len(sources)


def _line(number: int, sources: Sequence[str], heard: _Heard, lexicon: Lexicon, *, cut: bool) -> Answer:
    texts = heard.numbered.get(number)
    if texts is None:
        behind_the_cut = cut and number > heard.last
        return Answer("", Failure.CUT if behind_the_cut else Failure.MISSING_LINE)
    if cut and number == heard.last:
        return Answer(texts[-1], Failure.CUT)
    if len(set(texts)) > 1:
        return Answer(" / ".join(texts), Failure.REPEATED_LINE)
    if _merged(number, texts[0], sources, heard):
        return Answer(texts[0], Failure.MERGED_LINE)
    return judged(texts[0], sources[number - 1], lexicon)


def _merged(number: int, text: str, sources: Sequence[str], heard: _Heard) -> bool:
    """The line holds another line's head, or its missing neighbour's words as well."""
    source = sources[number - 1]
    if _INNER_HEAD.search(text) and not _INNER_HEAD.search(source):
        return True
    missing = [
        sources[neighbour - 1]
        for neighbour in (number - 1, number + 1)
        if 1 <= neighbour <= len(sources) and neighbour not in heard.numbered
    ]
    surplus = count_words(text) - count_words(source)
    return any(surplus >= max(2, count_words(other) / 2) for other in missing)


def judged(text: str, source: str, lexicon: Lexicon = ENGLISH) -> Answer:
    """One line's answer, with its failure if the text cannot be a cleaned ``source``.

    What the source's grammar writes is none: an empty line where all may be left out, the speaker's own refusal.
    """
    text = text.strip()
    failure = _failure(text, source)
    return Answer(text, None if failure and turn_grammar(source, lexicon).accepts(text) else failure)


def _failure(text: str, source: str) -> Failure | None:
    if not text:
        return Failure.EMPTY
    factor, more = LONGEST
    if count_words(text) > factor * count_words(source) + more or _says_nothing(text, source):
        return Failure.GARBAGE
    if _refuses(text, source):
        return Failure.REFUSAL
    return Failure.OTHER_LANGUAGE if _other_script(text, source) else None


def _says_nothing(text: str, source: str) -> bool:
    return any(map(str.isalnum, source)) and not any(map(str.isalnum, text))


def _refuses(text: str, source: str) -> bool:
    """A refusal that is not the speaker's own: people on the phone say that they are sorry too."""
    return bool(_REFUSAL.search(_plain(text))) and not _REFUSAL.search(_plain(source))


def _plain(text: str) -> str:
    words = "".join(char for char in text.casefold() if char.isalnum() or char.isspace())
    return " ".join(words.replace("i am sorry", "im sorry").split())


def _other_script(text: str, source: str) -> bool:
    """Most letters are of scripts that the source does not use."""
    own = _scripts(source)
    if not own:
        return False
    found = _scripts(text)
    foreign = sum(count for script, count in found.items() if script not in own)
    return 2 * foreign > found.total()


def _scripts(text: str) -> Counter[str]:
    """Letters by the script that Unicode names them after."""
    return Counter(unicodedata.name(char, "?").split(" ")[0].split("-")[0] for char in text if char.isalpha())
