"""The file of further fillers, and a text cleaned with them, after a separator."""

from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz_parts import parts, text_of

from clearcall.scoring import rule_clean
from clearcall.scoring.lexicon import ENGLISH, UnreadableLexicon

WORDS = ("optional: ", "# ", "you know", "um", "\n====\n", "\ufb01", "\u0130", "'", "-", "\u2019")


def check(data: bytes) -> None:
    """Any file is read or refused, and rules clean with what it names."""
    content, said = parts(data, 2)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fillers.txt"
        path.write_bytes(content)
        try:
            lexicon = ENGLISH.read(path)
        except UnreadableLexicon as error:
            assert str(path) in str(error)
            return
    assert lexicon.sounds == ENGLISH.sounds
    assert lexicon.fillers >= ENGLISH.fillers
    rule_clean(text_of(said[:2000]), lexicon)
