"""Spoken numbers as a writer puts them down. Not by ``scoring.numbers``: what is judged must not judge itself."""

import re

_UNITS = dict(zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), range(1, 10), strict=True))
_TEENS = dict(
    zip(
        ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        range(10, 20),
        strict=True,
    )
)
_TENS = dict(
    zip(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), range(20, 100, 10), strict=True)
)
_TWO_DIGITS = {**_TEENS, **_TENS} | {f"{ten} {unit}": a + b for ten, a in _TENS.items() for unit, b in _UNITS.items()}
_BELOW_HUNDRED = {**_UNITS, **_TWO_DIGITS}


def _either(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_U, _TWO, _LOW = _either(_UNITS), _either(_TWO_DIGITS), _either(_BELOW_HUNDRED)
_ALONE = r"(?<![\w'-])(?:{})(?![\w'-])"
_DIGITS = re.compile(_ALONE.format(rf"(?:(?:{_U}|zero|oh) ){{2,}}(?:{_U}|zero|oh)"), re.IGNORECASE)
_YEAR = re.compile(_ALONE.format(rf"(?P<century>nineteen|twenty|eighteen) (?P<rest>{_TWO})"), re.IGNORECASE)
_LARGE = re.compile(
    _ALONE.format(
        rf"(?:(?P<thousands>a|{_LOW}) thousand(?: (?:and )?)?)?"
        rf"(?:(?P<hundreds>a|{_U}) hundred)?(?: (?:and )?(?P<low>{_LOW}))?"
    ),
    re.IGNORECASE,
)
_PLAIN = re.compile(_ALONE.format(_TWO), re.IGNORECASE)
_SMALL = re.compile(_ALONE.format(_U.replace("one|", "").replace("|one", "")), re.IGNORECASE)
_NUMBER_WORD = re.compile(_ALONE.format(rf"{_LOW}|zero|oh|hundred|thousand|million|point"), re.IGNORECASE)
_MONEY = re.compile(r"\b(\d[\d,]*) dollars\b")
_PERCENT = re.compile(r"\b(\d[\d,]*) percent\b")


def written_numbers(text: str) -> str:
    """The text with the numbers that can be read without doubt in digits; "one" stays a word."""
    text = _DIGITS.sub(_digit_string, text)
    text = _YEAR.sub(_year, text)
    text = _LARGE.sub(_large, text)
    text = _alone(_PLAIN, text, _TWO_DIGITS)
    text = _alone(_SMALL, text, _UNITS)
    text = _MONEY.sub(r"$\1", text)
    return _PERCENT.sub(r"\1%", text)


def _digit_string(match: re.Match[str]) -> str:
    return "".join(str(_UNITS.get(word, 0)) for word in match.group().lower().split())


def _year(match: re.Match[str]) -> str:
    return f"{_TEENS.get(match['century'].lower(), 20)}{_TWO_DIGITS[match['rest'].lower()]}"


def _large(match: re.Match[str]) -> str:
    if match["thousands"] is None and match["hundreds"] is None:
        return match.group()
    value = sum(
        _BELOW_HUNDRED.get((match[name] or "").lower(), 1 if match[name] else 0) * size
        for name, size in (("thousands", 1000), ("hundreds", 100), ("low", 1))
    )
    return f"{value:,}"


def _alone(pattern: re.Pattern[str], text: str, values: dict[str, int]) -> str:
    """Numbers with no other number beside them, so that none is read out of a longer one."""

    def write(match: re.Match[str]) -> str:
        before, after = text[: match.start()].split()[-1:], text[match.end() :].split()[:1]
        if any(_NUMBER_WORD.match(word) or word[:1].isdigit() for word in (*before, *after)):
            return match.group()
        return str(values[match.group().lower()])

    return pattern.sub(write, text)
