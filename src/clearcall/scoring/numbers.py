"""Numbers to one form: "three hundred and fifty" and "350", "twenty nineteen" and "2019", "one oh four" and "104".

Numbers that stand side by side are joined digit by digit, since speech has no commas: "five six seven" is 567 like
"5, 6, 7" and "567". Both texts are read in the same way, so what matters is that equal speech gets equal forms.
"""

from collections.abc import Sequence

from clearcall.scoring.cardinals import Reader, below_hundred, cardinal
from clearcall.scoring.number_words import (
    CENTS,
    CURRENCIES,
    DECADES,
    MONTHS,
    ORDINALS,
    REPEATS,
    TEENS,
    TENS,
    UNITS,
    WORDS,
    ordinal_suffix,
)
from clearcall.scoring.numerals import Number
from clearcall.scoring.words import Kind, Piece

_STARTS = WORDS | frozenset(REPEATS) | {"a", "half", "quarter"}
_WHOLE_WORDS = WORDS | {"for"}
_SHORTEST_BROKEN = 3
_MOST_GROUPS = 24
"""Numbers that are joined into one: more than any card, account or telephone number has digits."""


def is_number(piece: Piece) -> bool:
    """Whether the piece is part of a number, spoken or written."""
    return piece.kind is Kind.NUMBER or piece.form in WORDS


def join_numbers(pieces: Sequence[Piece]) -> tuple[list[Piece], dict[int, Number]]:
    """The pieces with each number as one piece, and the numbers by their index in them."""
    reader = Reader(_without_broken(pieces))
    pieces = reader.pieces
    while reader.at < len(pieces):
        piece = pieces[reader.at]
        if (piece.kind is Kind.WORD and piece.form not in _STARTS) or not (
            _currency(reader) or _clock(reader) or _number(reader)
        ):
            reader.out.append(piece)
            reader.at += 1
    return reader.out, reader.numbers


def _without_broken(pieces: Sequence[Piece]) -> list[Piece]:
    """Without number words that were broken off and said again: "twel twelve"."""
    following = [piece.form for piece in pieces[1:]]
    return [
        piece
        for piece, word in zip(pieces, [*following, ""], strict=True)
        if not (
            word in WORDS
            and len(piece.form) >= _SHORTEST_BROKEN
            and word.startswith(piece.form)
            and piece.form not in _WHOLE_WORDS
        )
    ]


def _emit(reader: Reader, first: int, number: Number) -> None:
    reader.numbers[len(reader.out)] = number
    start, end = reader.pieces[first].start, reader.pieces[reader.at - 1].end
    reader.out.append(Piece(number.form, start, end, Kind.NUMBER))


def _currency(reader: Reader) -> bool:
    """Reads "$3.50" as "3.50 dollars"."""
    if reader.kind() is not Kind.CURRENCY or not reader.written(1):
        return False
    symbol, first = reader.pieces[reader.at], reader.at
    reader.at += 1
    value, _ = cardinal(reader)
    _emit(reader, first, Number(value))
    reader.out.append(symbol)
    if reader.form() == symbol.form:
        reader.at += 1
    return True


def _clock(reader: Reader) -> bool:
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


def _number(reader: Reader) -> bool:
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


def _closes(reader: Reader) -> bool:
    return reader.form() in CURRENCIES


def _unit(reader: Reader) -> None:
    """What follows a number: "three dollars and fifty cents" is 3.50 dollars, "four o'clock" is 4."""
    if reader.form() == "oclock":
        reader.at += 1
        return
    index = len(reader.out) - 1
    number = reader.out[index]
    if reader.form() in CENTS and number.form.isdigit() and len(number.form) <= 2:  # noqa: PLR2004 - under a dollar
        unit = CENTS[reader.form()]
        reader.at += 1
        _replace(reader, index, f"0.{number.form:>02}", unit)
        return
    if reader.form() not in CURRENCIES or not number.form.isdigit():
        return
    currency, here = reader.form(), reader.at
    reader.at += 1
    while reader.form() == "and":
        reader.at += 1
    joined = reader.at > here + 1
    small = below_hundred(reader)
    if small is not None and reader.form() in CENTS:
        reader.at += 1
    elif small is None or small < 10 or joined or _counts_on(reader):  # noqa: PLR2004 - "three pounds sixty"
        reader.at = here
        return
    _replace(reader, index, f"{number.form.lstrip('0') or '0'}.{small:02d}", currency)


def _counts_on(reader: Reader) -> bool:
    """Whether what was read is the start of a longer number, or of another amount."""
    return reader.at < len(reader.pieces) and (is_number(reader.pieces[reader.at]) or reader.form() in CURRENCIES)


def _replace(reader: Reader, index: int, form: str, unit: str) -> None:
    last = reader.pieces[reader.at - 1]
    reader.out[index] = reader.out[index]._replace(form=form, end=last.end)
    reader.numbers[index] = Number(form)
    reader.out.append(Piece(unit, last.start, last.end))


def _repeated(reader: Reader) -> tuple[str, str] | None:
    """Reads "double five" as 55."""
    times, digit = REPEATS.get(reader.form()), UNITS.get(reader.form(1))
    if times is None or digit is None:
        return None
    reader.at += 2
    return str(digit) * times, ""


def _ordinal(reader: Reader) -> tuple[str, str] | None:
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


def _spoken_or_written(reader: Reader) -> tuple[str, str] | None:
    value, words = cardinal(reader)
    return (value, "") if words else None
