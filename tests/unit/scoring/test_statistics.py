import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring.statistics import spread, wilson


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_the_wilson_interval_is_the_published_one(hits: int, trials: int, low: float, high: float) -> None:
    interval = wilson(hits, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_without_trials_nothing_is_known() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(("hits", "trials", "confidence"), [(2, 1, 0.95), (-1, 1, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_impossible_counts_and_confidences_are_refused(hits: int, trials: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"trials|confidence"):
        wilson(hits, trials, confidence)


@given(st.integers(1, 10_000), st.data())
def test_the_interval_holds_the_rate_and_narrows_with_less_confidence(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    wide, narrow = wilson(hits, trials, 0.99), wilson(hits, trials, 0.8)
    assert 0 <= wide.low <= narrow.low <= hits / trials + 1e-12
    assert hits / trials - 1e-12 <= narrow.high <= wide.high <= 1


def test_a_spread_has_interpolated_quartiles_and_the_population_deviation() -> None:
    found = spread([1.0, 2.0, 3.0, 4.0])
    assert (found.count, found.mean, found.minimum, found.maximum) == (4, 2.5, 1.0, 4.0)
    assert (found.q1, found.median, found.q3) == (1.75, 2.5, 3.25)
    assert found.std == pytest.approx(1.118, abs=1e-3)


def test_one_value_is_its_own_spread_and_none_is_refused() -> None:
    assert spread([7.0]).q1 == spread([7.0]).q3 == 7.0
    with pytest.raises(ValueError, match="no values"):
        spread([])
