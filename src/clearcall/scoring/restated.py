"""A turn without what its cleaned form may drop: a fragment of a well cleaned turn is a window of it."""

from clearcall.scoring.alignment import Comparison
from clearcall.scoring.guards.coverage import may_go
from clearcall.scoring.normalise import Normalised


def restated(comparison: Comparison) -> Normalised | None:
    """The source without the stretches that the cleaned text drops and may drop; ``None`` if there are none.

    A window of the source has the length of the fragment, so a false start in its middle would push out as many
    characters at its end. Whether something was dropped that must not be is for the guards to say. Places are those of
    the source as given.
    """
    gone: set[int] = set()
    for block in comparison.blocks:
        if block.cleaned_from == block.cleaned_to and may_go(comparison, block):
            gone.update(range(block.source_from, block.source_to))
    if not gone:
        return None
    source = comparison.source
    left = [index for index in range(len(source.forms)) if index not in gone]
    forms = tuple([source.forms[index] for index in left])
    places, at = [], 0
    for form in forms:
        places.append(at)
        at += len(form) + 1
    starts, ends = tuple([source.starts[index] for index in left]), tuple([source.ends[index] for index in left])
    return Normalised(" ".join(forms), forms, starts, ends, tuple(places))
