"""What the evaluator agents of this process did, as its metrics show it; without the code that asks models."""

from collections import Counter
from dataclasses import dataclass, field
from weakref import WeakSet


@dataclass(frozen=True, eq=False)
class Counts:
    """Since the agent started.

    ``calls`` counts calls by their distortion, and those that never were by why: ``dropped`` (too many under way, or
    scored too long ago), ``too_long``, ``refused``, ``unanswered``. ``flags`` counts calls by what they would have
    done to the flag.
    """

    calls: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)


_OBSERVED: WeakSet[Counts] = WeakSet()


def observed() -> Counts:
    """New counts, which are shown as long as somebody holds them."""
    counts = Counts()
    _OBSERVED.add(counts)
    return counts


def total() -> Counts:
    """Those of all agents together."""
    found = Counts()
    for counts in list(_OBSERVED):
        found.calls.update(counts.calls)
        found.flags.update(counts.flags)
    return found
