"""Where the lexicon's words are fillers, and where they are words.

"you know" is a filler, but not in "do you know"; "well" opens a sentence, but not in "as well". A filler that is
``sure`` is left out by the rules; one that is not may be left out by a model.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clearcall.scoring.lexicon import ENGLISH, Lexicon, word_set
from clearcall.scoring.spoken import NUMBER, Word


class Filler(NamedTuple):
    """The half-open range of words of one filler."""

    start: int
    end: int
    sure: bool


_BACKCHANNELS = frozenset({"mhm", "uhhuh", "huh", "mm", "hmm"})
"""Sounds that can mean yes: alone, or two together."""

_NOT_AFTER: dict[str, frozenset[str]] = {
    "well": word_set(
        "as very so too pretty quite really real do does did done doing works work working go goes going went how feel "
        "get getting sleep know speak fairly that it him her them you me us is be"
    ),
    "you know": word_set(
        "do does did don't didn't doesn't if as that's what would should could may might let letting lets since when "
        "before because than"
    ),
    "i mean": word_set("what do did if that's whatever"),
    "you see": word_set("do did can could would should will if as when what that's once before where"),
    "oh": frozenset(),
}
_NOT_BEFORE: dict[str, frozenset[str]] = {
    "well": word_set("enough done known over under within as before after past below above"),
    "you know": word_set("what who where when why how whether about him her them me of already everything"),
    "you see": word_set("the a an it that this any my your his her their what if when how it's them him me"),
}
_OPENS = word_set("and but so uh um oh or okay yeah yes anyway now")
_LIKE_AFTER = word_set(
    "just it's was were is are that's they're he's she's i'm we're only other and but so because or got been "
    "really knew"
)
_LIKE_BEFORE = word_set("i we they he she i'm we're they're he's she's it's there's there")
_LIKE_NOT_BEFORE = word_set("that this it to him her them me us you my your his their the a")
_AS_SAID = word_set("say said says mentioned told was did do")


def fillers(words: Sequence[Word], lexicon: Lexicon = ENGLISH) -> Iterator[Filler]:
    """The fillers of a turn, in order; no word of one is guarded."""
    forms = [word.form for word in words]
    at = 0
    while at < len(words):
        found = _filler(words, forms, at, lexicon)
        if found is None or any(word.guard for word in words[at : found.end]):
            at += 1
            continue
        yield found
        at = found.end


def _filler(words: Sequence[Word], forms: Sequence[str], at: int, lexicon: Lexicon) -> Filler | None:
    form = forms[at]
    if words[at].cut:
        return Filler(at, at + 1, sure=at + 1 < len(words))
    if form in lexicon.sounds:
        return _sound(forms, at)
    for phrase in lexicon.phrases.get(form, ()):
        end = at + len(phrase)
        if tuple(forms[at:end]) == phrase:
            return _phrase(forms, at, end)
    if form == "like" and _is_filling_like(words, forms, at):
        return Filler(at, at + 1, sure=False)
    return None


def _sound(forms: Sequence[str], at: int) -> Filler:
    """A sound; where it may say yes it is not sure: "uh huh", "mm hmm", "mhm"."""
    end = at + 1
    if end < len(forms) and forms[end] in _BACKCHANNELS and forms[at] in ("uh", "mm", "um", "hmm"):
        return Filler(at, end + 1, sure=False)
    return Filler(at, end, sure=forms[at] not in _BACKCHANNELS or forms[at] in ("huh", "hmm"))


def _phrase(forms: Sequence[str], at: int, end: int) -> Filler | None:
    name = " ".join(forms[at:end])
    before = forms[at - 1] if at else ""
    after = forms[end] if end < len(forms) else ""
    if before in _NOT_AFTER.get(name, ()) or after in _NOT_BEFORE.get(name, ()):
        return None
    if name == "i mean" and forms[end:] in (["it"], ["that"]):
        return None
    if name == "well" and before and before not in _OPENS:
        return Filler(at, end, sure=False) if after else None
    return Filler(at, end, sure=name != "you see")


def _is_filling_like(words: Sequence[Word], forms: Sequence[str], at: int) -> bool:
    if at + 1 == len(forms) or forms[at + 1] in _LIKE_NOT_BEFORE:
        return False
    if words[at + 1].guard == NUMBER or (at > 0 and forms[at - 1] in _LIKE_AFTER):
        return True
    opens = not at or forms[at - 1] in _OPENS
    return opens and forms[at + 1] in _LIKE_BEFORE and not set(forms[at + 2 : at + 3]) & _AS_SAID
