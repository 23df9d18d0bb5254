"""The words that carry nothing: fillers, and what a cleaner may drop without changing what was said.

A lexicon is text, one entry a line; ``#`` begins a comment. ``uh`` is a filler wherever it stands, ``you know`` a
filler of several words, and ``optional: basically`` a word that may be dropped but is compared where it is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

_OPTIONAL = "optional:"


class UnreadableLexicon(ValueError):
    """The file is no text; the message names it and says what to do."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Lexicon:
    """Entries in lower case.

    ``sounds`` are fillers that are never a word, ``fillers`` may be words too; ``answers`` are made of sounds but mean
    something ("uh huh"); ``optional`` words may be dropped but are compared where they are kept.
    """

    sounds: frozenset[str]
    fillers: frozenset[tuple[str, ...]]
    optional: frozenset[str]
    answers: frozenset[tuple[str, ...]] = frozenset()

    @cached_property
    def phrases(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The fillers by their first word, longest first."""
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in self.fillers:
            by_first.setdefault(phrase[0], []).append(phrase)
        return {first: tuple(sorted(group, key=len, reverse=True)) for first, group in by_first.items()}

    def extended(self, lines: Iterable[str]) -> "Lexicon":
        """This lexicon with more entries, in the format of the module's docstring."""
        fillers, optional = set(self.fillers), set(self.optional)
        for line in lines:
            entry = line.partition("#")[0].strip().casefold()
            if entry.startswith(_OPTIONAL):
                optional.update(entry.removeprefix(_OPTIONAL).split())
            elif entry:
                fillers.add(tuple(entry.split()))
        return replace(self, fillers=frozenset(fillers), optional=frozenset(optional))

    def read(self, path: Path) -> "Lexicon":
        """This lexicon with the entries of a UTF-8 file.

        Raises:
            UnreadableLexicon: it is not UTF-8.
            OSError: the file cannot be read.
        """
        try:
            return self.extended(path.read_text(encoding="utf-8").splitlines())
        except UnicodeDecodeError as error:
            raise UnreadableLexicon(f"{path}: not UTF-8 at byte {error.start}; iconv -t UTF-8 makes it so") from error


ENGLISH = Lexicon(
    sounds=word_set("uh um uhm umm uhh uhhh ummm er erm ah ahh eh hm hmm hmmm mm mmm mhm huh"),
    fillers=frozenset(
        {("oh",), ("well",), ("you", "know"), ("i", "mean"), ("you", "see"), ("mm", "hmm"), ("mm", "hm")},
    ),
    optional=word_set("like so now okay right yeah just actually basically anyway and but"),
    answers=frozenset({("uh", "huh")}),
)
"""What English callers say between the words."""
