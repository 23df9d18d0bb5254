"""A number as it is compared, and when two are the same."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is compared. ``groups`` are the numbers it was joined from, each with its words.

    ``loose``: joined by us from numbers that stood side by side, or a time, so that its grouping means nothing.
    """

    form: str
    groups: tuple[tuple[str, str], ...] = ()
    loose: bool = False

    @property
    def digits(self) -> str:
        """The digits alone."""
        return "".join(filter(str.isdigit, self.form))

    def forms(self) -> set[str]:
        """The form, and what it is where its beginning was a false start: "three, three hundred", "two two"."""
        found = {self.form}
        for cut in range(1, len(self.groups)):
            before = " ".join(words for _, words in self.groups[:cut])
            if self.groups[cut][1].startswith(before + " ") or (len(self.groups) == 2 and self.groups[1][1] == before):  # noqa: PLR2004 - said twice
                found.add("".join(value for value, _ in self.groups[cut:]))
        return found


def same_number(written: Number, said: Number) -> bool:
    """Whether both are one number, an ordinal taken for its number, and false starts for what follows them."""
    return written.form in said.forms() or (written.digits == said.digits and _is_whole(written) and _is_whole(said))


def same_numbers(written: Sequence[Number], said: Sequence[Number]) -> bool:
    """Whether both sequences have the same digits, in groups that may differ: "5 551 234" and "555 1234"."""
    if not written or not said or "".join(n.digits for n in written) != "".join(n.digits for n in said):
        return False
    return any(number.loose for number in (*written, *said)) or _parts(written) == _parts(said)


def _is_whole(number: Number) -> bool:
    return number.loose or "." not in number.form


def _parts(numbers: Sequence[Number]) -> list[str]:
    """The numbers with dollars and cents apart: "94.60" is "94 60"."""
    return [part for number in numbers for part in number.form.split(".")]
