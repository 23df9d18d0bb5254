"""The words that numbers are made of."""

from clearcall.scoring.lexicon import word_set


def _numbered(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: (first + place) * step for place, word in enumerate(words.split())}


UNITS = _numbered("zero one two three four five six seven eight nine", 0) | {"nought": 0, "naught": 0}
TEENS = _numbered("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10)
TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2, 10) | {"fourty": 40}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ORDINALS = (
    _numbered("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", 1)
    | _numbered("thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth", 13)
    | _numbered("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth", 2, 10)
)
DECADES = _numbered("twenties thirties forties fifties sixties seventies eighties nineties", 2, 10)
REPEATS = {"double": 2, "triple": 3}
WORDS = frozenset({*UNITS, *TEENS, *TENS, *SCALES, *ORDINALS, *DECADES, "hundred"})
MONTHS = tuple(_numbered("january february march april may june july august september october november december", 1))
CURRENCIES = word_set("dollars pounds euros yen")
CENTS = {"cents": "dollars", "pence": "pounds"}


def ordinal_suffix(value: int) -> str:
    """The ending: "st" for 1 and 21, "th" for 4 and 11."""
    if value % 100 // 10 == 1:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
