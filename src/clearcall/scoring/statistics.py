"""Rates with their uncertainty, and how scores are spread. Needs no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, pstdev, quantiles


@dataclass(frozen=True, slots=True)
class Interval:
    """A range from ``low`` to ``high``."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """How values are spread; ``std`` is the population's standard deviation, quartiles interpolate."""

    count: int
    mean: float
    std: float
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float


def wilson(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate; without trials nothing is known: 0 to 1.

    Raises:
        ValueError: ``hits`` is not between 0 and ``trials``, or ``confidence`` not between 0 and 1.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} hits of {trials} trials")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, not {confidence}")
    if not trials:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, square = hits / trials, z * z / trials
    centre = (rate + square / 2) / (1 + square)
    half = z * sqrt(rate * (1 - rate) / trials + square / (4 * trials)) / (1 + square)
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == trials else min(1.0, centre + half)
    return Interval(low, high)


def spread(values: Sequence[float]) -> Spread:
    """How the values are spread.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("no values to describe")
    q1, median, q3 = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return Spread(len(values), fmean(values), pstdev(values), min(values), q1, median, q3, max(values))
