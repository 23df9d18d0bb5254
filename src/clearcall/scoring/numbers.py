"""Numbers to one form: "three hundred and fifty" and "350", "twenty nineteen" and "2019", "one oh four" and "104".

Numbers that stand side by side are joined digit by digit, since speech has no commas: "five six seven" is 567 like
"5, 6, 7" and "567". Both texts are read in the same way, so what matters is that equal speech gets equal forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearcall.scoring.number_words import (
    CURRENCIES,
    DECADES,
    MONTHS,
    ORDINALS,
    REPEATS,
    SCALES,
    TEENS,
    TENS,
    UNITS,
    WORDS,
    ordinal_suffix,
)
from clearcall.scoring.words import Kind, Piece

_STARTS = WORDS | frozenset(REPEATS) | {"a", "half", "quarter"}
_MOST_DIGITS = 24
_MOST_GROUPS = 24
"""Numbers that are joined into one: more than any card, account or telephone number has digits."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is compared. ``groups`` are the numbers it was joined from; ``loose``: the joining is ours."""

    form: str
    groups: tuple[tuple[str, str], ...] = ()
    loose: bool = False

    @property
    def digits(self) -> str:
        """The digits alone."""
        return "".join(filter(str.isdigit, self.form))

    def forms(self) -> set[str]:
        """The form, and what it is where its beginning was a false start ("three, three hundred")."""
        found = {self.form}
        for cut in range(1, len(self.groups)):
            before = " ".join(words for _, words in self.groups[:cut])
            after = " ".join(words for _, words in self.groups[cut:])
            if (after.startswith(before + " ") and " " not in before) or after == before:
                found.add("".join(value for value, _ in self.groups[cut:]))
        return found


def is_number(piece: Piece) -> bool:
    """Whether the piece is part of a number, spoken or written."""
    return piece.kind is Kind.NUMBER or piece.form in WORDS


@dataclass
class _Reader:
    """Reads a list of pieces from left to right."""

    pieces: Sequence[Piece]
    at: int = 0
    out: list[Piece] = field(default_factory=list)
    numbers: dict[int, Number] = field(default_factory=dict)

    def form(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.pieces[place].form if place < len(self.pieces) else ""

    def kind(self, ahead: int = 0) -> Kind:
        place = self.at + ahead
        return self.pieces[place].kind if place < len(self.pieces) else Kind.WORD

    def written(self, ahead: int = 0) -> bool:
        return self.kind(ahead) is Kind.NUMBER and self.form(ahead)[-1].isdigit()


def join_numbers(pieces: Sequence[Piece]) -> tuple[list[Piece], dict[int, Number]]:
    """The pieces with each number as one piece, and the numbers by their index in them."""
    reader = _Reader(pieces)
    while reader.at < len(pieces):
        piece = pieces[reader.at]
        if (piece.kind is Kind.WORD and piece.form not in _STARTS) or not (
            _currency(reader) or _clock(reader) or _number(reader)
        ):
            reader.out.append(piece)
            reader.at += 1
    return reader.out, reader.numbers


def _emit(reader: _Reader, first: int, number: Number) -> None:
    reader.numbers[len(reader.out)] = number
    start, end = reader.pieces[first].start, reader.pieces[reader.at - 1].end
    reader.out.append(Piece(number.form, start, end, Kind.NUMBER))


def _currency(reader: _Reader) -> bool:
    """Reads "$3.50" as "3.50 dollars"."""
    if reader.kind() is not Kind.CURRENCY or not reader.written(1):
        return False
    symbol, first = reader.pieces[reader.at], reader.at
    reader.at += 1
    value, _ = _cardinal(reader)
    _emit(reader, first, Number(value))
    reader.out.append(symbol)
    if reader.form() == symbol.form:
        reader.at += 1
    return True


def _clock(reader: _Reader) -> bool:
    """Reads "half past four" as "430", "a quarter to five" as "445"."""
    part, link = reader.form(), reader.form(1)
    if part not in ("half", "quarter") or link not in ("past", "after", "to") or (part == "half" and link == "to"):
        return False
    hour = UNITS.get(reader.form(2)) or TEENS.get(reader.form(2))
    if reader.written(2) and reader.form(2).isdigit():
        hour = int(reader.form(2))
    if not hour or hour > 12:  # noqa: PLR2004 - hours of a clock
        return False
    first = reader.at
    reader.at += 3
    if link == "to":
        hour = hour - 1 or 12
    if reader.out and reader.out[-1].form == "a":
        reader.out.pop()
    minutes = "30" if part == "half" else "45" if link == "to" else "15"
    _emit(reader, first, Number(f"{hour}{minutes}", loose=True))
    return True


def _number(reader: _Reader) -> bool:
    first = reader.at
    after_month = bool(reader.out) and reader.out[-1].form in MONTHS
    if not after_month and len(reader.out) > 1 and reader.out[-1].form == "the":
        after_month = reader.out[-2].form in MONTHS
    groups: list[tuple[str, str]] = []
    loose, ordinal = False, ""
    while not ordinal and len(groups) < _MOST_GROUPS:
        start = reader.at
        group = _repeated(reader) or _ordinal(reader) or _spoken_or_written(reader)
        if group is None:
            break
        value, ordinal = group
        if groups and ordinal not in ("", "s"):  # "one second" is no "12nd", but "nineteen seventies" is "1970s"
            reader.at, ordinal = start, ""
            break
        loose = loose or any(piece.loose for piece in reader.pieces[start : reader.at])
        groups.append((value, " ".join(piece.form for piece in reader.pieces[start : reader.at])))
        if after_month and (len(value) <= 2 or ordinal):  # noqa: PLR2004 - a day of the month
            ordinal = ""
            break
        if "." in value or _closes(reader):
            break
    if not groups:
        return False
    form = "".join(value for value, _ in groups) + ordinal
    if after_month and reader.out[-1].form == "the":
        reader.out.pop()
    _emit(reader, first, Number(form, tuple(groups), loose or len(groups) > 1))
    _unit(reader)
    return True


def _closes(reader: _Reader) -> bool:
    return reader.form() in CURRENCIES


def _unit(reader: _Reader) -> None:
    """What follows a number: "three dollars and fifty cents" is 3.50 dollars, "four o'clock" is 4."""
    if reader.form() == "oclock":
        reader.at += 1
        return
    index = len(reader.out) - 1
    number = reader.out[index]
    if reader.form() == "cents" and number.form.isdigit() and len(number.form) <= 2:  # noqa: PLR2004 - under a dollar
        _replace(reader, index, f"0.{int(number.form):02d}", "dollars")
        return
    if reader.form() not in CURRENCIES or not number.form.isdigit():
        return
    unit, here = reader.pieces[reader.at], reader.at
    reader.at += 2 if reader.form(1) == "and" else 1
    small = _below_hundred(reader)
    if small is None or reader.form() != "cents":
        reader.at = here
        return
    _replace(reader, index, f"{int(number.form)}.{small:02d}", unit.form)


def _replace(reader: _Reader, index: int, form: str, unit: str) -> None:
    last = reader.pieces[reader.at]
    reader.at += 1
    reader.out[index] = reader.out[index]._replace(form=form, end=last.end)
    reader.numbers[index] = Number(form)
    reader.out.append(Piece(unit, last.start, last.end))


def _repeated(reader: _Reader) -> tuple[str, str] | None:
    """Reads "double five" as 55."""
    times, digit = REPEATS.get(reader.form()), UNITS.get(reader.form(1))
    if times is None or digit is None:
        return None
    reader.at += 2
    return str(digit) * times, ""


def _ordinal(reader: _Reader) -> tuple[str, str] | None:
    form = reader.form()
    if reader.kind() is Kind.NUMBER and not form[-1].isdigit():
        reader.at += 1
        digits = form.rstrip("dhnrst")
        return digits, form[len(digits) :]
    if form in DECADES:
        reader.at += 1
        return str(DECADES[form]), "s"
    if form in ORDINALS:
        reader.at += 1
        return str(ORDINALS[form]), ordinal_suffix(ORDINALS[form])
    unit = ORDINALS.get(reader.form(1), 10)
    if form in TENS and unit < 10:  # noqa: PLR2004 - twenty first, not twenty tenth
        reader.at += 2
        return str(TENS[form] + unit), ordinal_suffix(unit)
    return None


def _spoken_or_written(reader: _Reader) -> tuple[str, str] | None:
    value, words = _cardinal(reader)
    return (value, "") if words else None


def _cardinal(reader: _Reader) -> tuple[str, int]:
    """One number with hundreds and scales; the value and how many pieces it took, 0 where there is none."""
    start = reader.at
    total, current, decimals = 0, _small(reader), ""
    if current is None:
        return "", 0
    if isinstance(current, str):
        return _scaled(reader, current), reader.at - start
    while True:
        form = reader.form()
        if form == "hundred" and 0 < current < 100:  # noqa: PLR2004 - "twelve hundred", never "hundred hundred"
            reader.at += 1
            current = current * 100 + (_rest(reader, 100) or 0)
        elif form in SCALES and current:
            reader.at += 1
            total += current * SCALES[form]
            current = _rest(reader, 1000)
            if current is None:
                current = 0
                break
        else:
            break
    if reader.form() == "point" and (decimals := _decimals(reader)):
        return _scaled(reader, f"{total + current}{decimals}"), reader.at - start
    if reader.form() == "and" and reader.form(1) == "a" and reader.form(2) == "half":
        reader.at += 3
        decimals = ".5"
    elif reader.form() == "half" and reader.written(-1):
        reader.at += 1
        decimals = ".5"
    return f"{total + current}{decimals}", reader.at - start


def _small(reader: _Reader) -> int | str | None:
    """The number before any scale: below a hundred, or as written; a written one that is no plain number as text."""
    if reader.written():
        form = reader.form()
        reader.at += 1
        return int(form) if form.isdigit() and form[0] != "0" and len(form) <= _MOST_DIGITS else form
    below = _below_hundred(reader)
    if below is not None:
        return below
    if reader.form() == "a" and (reader.form(1) == "hundred" or reader.form(1) in SCALES):
        reader.at += 1
        return 1
    return 1 if reader.form() == "hundred" or reader.form() in SCALES else None


def _below_hundred(reader: _Reader) -> int | None:
    form = reader.form()
    if reader.written() and form.isdigit() and len(form) <= 2:  # noqa: PLR2004 - below a hundred
        reader.at += 1
        return int(form)
    if form in TENS:
        reader.at += 1
        unit = UNITS.get(reader.form(), 0)
        if unit:
            reader.at += 1
        return TENS[form] + unit
    value = UNITS.get(form, TEENS.get(form))
    if value is not None:
        reader.at += 1
    return value


def _rest(reader: _Reader, below: int) -> int | None:
    """What follows a scale: the "and fifty" of "three hundred and fifty"; nothing is read where nothing does."""
    start = reader.at
    if reader.form() == "and":
        reader.at += 1
    if reader.written():
        reader.at = start
        return None
    small = _below_hundred(reader)
    if small and below > 100 and reader.form() == "hundred":  # noqa: PLR2004 - thousands take hundreds
        reader.at += 1
        return small * 100 + (_rest(reader, 100) or 0)
    if not small or reader.form() == "hundred" or (reader.form() in SCALES and reader.pieces[start].form == "and"):
        reader.at = start
        return None
    return small


def _scaled(reader: _Reader, form: str) -> str:
    """A written decimal with its scale: "1.5 million" as 1500000."""
    scale = SCALES.get(reader.form())
    if scale is None or "." not in form or len(form) > _MOST_DIGITS:
        return form
    reader.at += 1
    whole, _, part = form.partition(".")
    zeros = len(str(scale)) - 1
    if len(part) > zeros:
        return form
    return str(int(whole or "0") * scale + int(part) * 10 ** (zeros - len(part)))


def _decimals(reader: _Reader) -> str:
    """The digits after a spoken "point"."""
    digits, ahead = "", 1
    while (digit := UNITS.get(reader.form(ahead))) is not None:
        digits += str(digit)
        ahead += 1
    if not digits:
        return ""
    reader.at += ahead
    return "." + digits
