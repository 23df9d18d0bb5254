"""The matcher's paths against plain difflib: 5,600 seeded cases, and what hypothesis thinks of."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matcher_cases import KINDS, cases, edited, speech

from clearcall.scoring import Match, best_window, is_below, reference
from clearcall.scoring.matcher import MatchPath, available_paths

CASES_PER_KIND = 700
PATHS: tuple[MatchPath, ...] = ("kernel", "library")

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
few_letters = st.text("ab\u4e00", max_size=60)


def need(path: MatchPath) -> None:
    if path not in available_paths():
        pytest.skip("the kernel is not built: no compiler was there when clearcall was installed")


def decides(fragment: str, source: str, path: MatchPath, best: Match, threshold: float) -> bool:
    """Whether ``decide`` keeps its word: the oracle's match at or above the threshold, else proven below it."""
    decided = best_window(fragment, source, mode="decide", threshold=threshold, path=path)
    if not is_below(best, fragment, threshold):
        return decided == best
    return is_below(decided, fragment, threshold) and decided.score >= best.score


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", KINDS)
def test_score_and_offset_are_those_of_plain_difflib(kind: str, path: MatchPath) -> None:
    need(path)
    rng = random.Random(kind)
    differing = []
    for case in cases(kind, CASES_PER_KIND):
        best = reference.best_window(case.fragment, case.source)
        thresholds = (80.0, best.score, math.nextafter(best.score, 101), rng.uniform(0, 100))
        if best_window(case.fragment, case.source, path=path) != best:
            differing.append(case)
        if not all(decides(case.fragment, case.source, path, best, threshold) for threshold in thresholds):
            differing.append(case)
    assert differing == []


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=200)
@given(any_text, any_text)
def test_any_pair_of_texts_has_the_score_of_plain_difflib(path: MatchPath, fragment: str, source: str) -> None:
    need(path)
    assert best_window(fragment, source, path=path) == reference.best_window(fragment, source)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=200)
@given(few_letters, few_letters, st.floats(0, 100))
def test_texts_of_few_letters_are_decided_as_by_plain_difflib(
    path: MatchPath, fragment: str, source: str, threshold: float
) -> None:
    need(path)
    best = reference.best_window(fragment, source)
    assert best_window(fragment, source, path=path) == best
    assert decides(fragment, source, path, best, threshold)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 200])
def test_fragments_around_the_length_of_machine_words_score_as_in_plain_difflib(length: int, path: MatchPath) -> None:
    need(path)
    rng = random.Random(length)
    source = speech(rng, length + 60)
    for fragment in (edited(rng, source[20 : 20 + length], 5).ljust(length)[:length], speech(rng, length)):
        assert best_window(fragment, source, path=path) == reference.best_window(fragment, source)


def test_both_paths_agree_on_a_long_source() -> None:
    need("kernel")
    rng = random.Random(1)
    source = speech(rng, 2400)
    for fragment in (edited(rng, source[900:1000], 4), speech(rng, 110), source[300:340] + source[250:300]):
        kernel = best_window(fragment, source, path="kernel")
        assert kernel == best_window(fragment, source, path="library")
