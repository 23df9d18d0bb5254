"""The lexicon that the settings describe: the consultant may leave out what the evaluator lets go."""

from clearcall.infra.settings import Settings
from clearcall.scoring.lexicon import ENGLISH, Lexicon


def lexicon_of(settings: Settings) -> Lexicon:
    """English with the entries of the settings' file.

    Raises:
        UnreadableLexicon, OSError: the file cannot be read.
    """
    return ENGLISH.read(settings.lexicon) if settings.lexicon else ENGLISH
