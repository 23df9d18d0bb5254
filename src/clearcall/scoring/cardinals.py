"""One number from the words or digits at a place: hundreds, scales and decimals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearcall.scoring.number_words import SCALES, TEENS, TENS, UNITS
from clearcall.scoring.numerals import Number
from clearcall.scoring.words import Kind, Piece

_MOST_DIGITS = 24


@dataclass
class Reader:
    """Reads a list of pieces from left to right."""

    pieces: Sequence[Piece]
    at: int = 0
    out: list[Piece] = field(default_factory=list)
    numbers: dict[int, Number] = field(default_factory=dict)

    def form(self, ahead: int = 0) -> str:
        """The form of the next piece, or of the one so many ahead of it; nothing beyond the end."""
        place = self.at + ahead
        return self.pieces[place].form if place < len(self.pieces) else ""

    def kind(self, ahead: int = 0) -> Kind:
        """What kind of piece that is."""
        place = self.at + ahead
        return self.pieces[place].kind if place < len(self.pieces) else Kind.WORD

    def written(self, ahead: int = 0) -> bool:
        """Whether that piece is a number in digits, and no ordinal."""
        return self.kind(ahead) is Kind.NUMBER and self.form(ahead)[-1].isdigit()


def cardinal(reader: Reader) -> tuple[str, int]:
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


def _small(reader: Reader) -> int | str | None:
    """The number before any scale: below a hundred, or as written; a written one that is no plain number as text."""
    if reader.written():
        form = reader.form()
        reader.at += 1
        return int(form) if form.isdigit() and form[0] != "0" and len(form) <= _MOST_DIGITS else form
    below = below_hundred(reader)
    if below is not None:
        return below
    if reader.form() == "a" and (reader.form(1) == "hundred" or reader.form(1) in SCALES):
        reader.at += 1
        return 1
    return 1 if reader.form() == "hundred" or reader.form() in SCALES else None


def below_hundred(reader: Reader) -> int | None:
    """A number below a hundred, in words or digits."""
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


def _rest(reader: Reader, below: int) -> int | None:
    """What follows a scale: the "and fifty" of "three hundred and fifty"; nothing is read where nothing does."""
    start = reader.at
    while reader.form() == "and":
        reader.at += 1
    if reader.form() in TENS and reader.form(1) == reader.form() and reader.form(2) in UNITS:
        reader.at += 1  # "a hundred and ninety ninety three"
    if reader.written():
        reader.at = start
        return None
    small = below_hundred(reader)
    if small and below > 100 and reader.form() == "hundred":  # noqa: PLR2004 - thousands take hundreds
        reader.at += 1
        return small * 100 + (_rest(reader, 100) or 0)
    if (
        not small
        or reader.form() == "hundred"
        or (
            below > 100 and reader.form() in SCALES and reader.pieces[start].form == "and"  # noqa: PLR2004 - same
        )
    ):
        reader.at = start
        return None
    return small


def _scaled(reader: Reader, form: str) -> str:
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


def _decimals(reader: Reader) -> str:
    """The digits after a spoken "point"."""
    digits, ahead = "", 1
    while (digit := UNITS.get(reader.form(ahead))) is not None:
        digits += str(digit)
        ahead += 1
    if not digits:
        return ""
    reader.at += ahead
    return "." + digits
