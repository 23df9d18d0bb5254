"""The definition of the score by examples, and the texts that no example covers."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from matcher_cases import edited, many_characters, speech

from clearcall.scoring import Match, Rules, best_window, is_below, reference
from clearcall.scoring.matcher import ENVIRONMENT_VARIABLE, MatchPath, available_paths, least_matching

PATHS: tuple[MatchPath, ...] = ("kernel", "library")


needs_kernel = pytest.mark.skipif("kernel" not in available_paths(), reason="the kernel is not built: no compiler")


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> MatchPath:
    if request.param not in available_paths():
        pytest.skip("the kernel is not built: no compiler was there when clearcall was installed")
    chosen: MatchPath = request.param
    return chosen


def test_a_verbatim_fragment_scores_100_at_its_first_place(path: MatchPath) -> None:
    assert best_window("ab", "xxabxab", path=path) == Match(100.0, 2, 4)


def test_the_window_is_as_long_as_the_fragment_and_starts_at_any_character(path: MatchPath) -> None:
    assert best_window("hello wrld", "say hello world now", path=path) == Match(90.0, 4, 14)


def test_of_windows_with_equal_scores_the_earliest_is_the_best(path: MatchPath) -> None:
    assert best_window("abcX", "..abc.....abc..", path=path) == Match(75.0, 1, 5)


def test_the_window_is_the_first_argument_of_the_ratio(path: MatchPath) -> None:
    # The other order scores 2 characters more: longest blocks tie, and the first in the first argument is taken.
    window, fragment = "tide", "diet"
    assert best_window(fragment, window, path=path).score == 25.0
    assert best_window(window, fragment, path=path).score == 50.0


def test_a_source_shorter_than_the_fragment_is_one_window(path: MatchPath) -> None:
    assert best_window("abcdef", "bcd", path=path) == Match(2 * 3 / 9 * 100, 0, 3)


def test_an_empty_source_scores_0(path: MatchPath) -> None:
    assert best_window("a", "", path=path) == Match(0.0, 0, 0)


def test_an_empty_fragment_invents_nothing_and_scores_100(path: MatchPath) -> None:
    assert best_window("", "a", path=path) == best_window("", "", path=path) == Match(100.0, 0, 0)


def test_texts_without_a_common_character_score_0_at_the_first_window(path: MatchPath) -> None:
    assert best_window("abc", "xyzxyz", path=path) == Match(0.0, 0, 3)


def test_popular_characters_count_in_long_texts_too(path: MatchPath) -> None:
    # difflib's own shortcut (autojunk) would drop them from 200 characters on.
    text = "ab" * 150
    assert best_window(text[:-1] + "x", text, path=path).score == pytest.approx(100 * 299 / 300)


def test_nothing_is_normalised(path: MatchPath) -> None:
    assert best_window("Yes.", "yes", path=path).score < 80
    assert best_window("\u00e9", "e\u0301", path=path).score == 0.0


def test_decide_is_exact_at_the_threshold_and_an_upper_bound_below_it(path: MatchPath) -> None:
    fragment, source = "hello wrld", "say hello world now"
    assert best_window(fragment, source, mode="decide", threshold=90, path=path) == Match(90.0, 4, 14)
    below = best_window(fragment, source, mode="decide", threshold=90.1, path=path)
    assert not below.exact
    assert 90.0 <= below.score < 90.1
    assert is_below(below, fragment, 90.1)


def test_decide_takes_thresholds_that_every_or_no_fragment_reaches(path: MatchPath) -> None:
    for threshold in (-5.0, 0.0):
        assert best_window("abc", "xyzxyz", mode="decide", threshold=threshold, path=path) == Match(0.0, 0, 3)
    assert not best_window("abc", "abdabd", mode="decide", threshold=1e9, path=path).exact


def test_the_threshold_is_compared_in_integers() -> None:
    # 57 of 100 characters: 100 * 0.57 is a little less than 57 in binary fractions.
    match = Match(100 * 0.57, 0, 100)
    assert match.score < 57
    assert not is_below(match, "x" * 100, 57)
    assert is_below(match, "x" * 100, 57.1)


def test_a_threshold_is_the_decimal_number_that_it_prints_as() -> None:
    assert least_matching(57.1, 2000) == 571
    assert least_matching(80.0, 40) == 16
    assert least_matching(80.0, 41) == 17


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), float("-inf")])
def test_a_threshold_that_is_no_number_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="Invalid literal"):
        best_window("ab", "ba", mode="decide", threshold=threshold)
    with pytest.raises(ValueError, match="Invalid literal"):
        is_below(Match(0.0, 0, 2), "ab", threshold)


def test_unknown_modes_and_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="'exact' or 'decide'"):
        best_window("a", "b", mode="guess")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="this installation has"):
        best_window("a", "b", path="fast")  # type: ignore[arg-type]


def test_the_papers_two_fragment_shapes_are_both_parameters() -> None:
    assert (Rules().words, Rules().overlap) == (20, 3)
    assert Rules(words=100, overlap=10) != Rules()


@pytest.mark.parametrize(
    ("fragment", "source"),
    [
        ("\u4f60\u597d\u4e16\u754c", "\u5927\u5bb6\u597d\u4e16\u754c\u4f60"),
        ("\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "\u0642\u0627\u0644 \u0645\u0631\u062d\u0628\u064b\u0627"),
        ("\u043f\u0440\u0438\u0432\u0435\u0442", "\u0441\u043a\u0430\u0437\u0430\u043b \u043f\u0440\u0435\u0432\u0435"),
        ("cafe\u0301 noir", "un cafe noir"),
        ("\U0001f469\u200d\U0001f467 ok", "\U0001f468\u200d\U0001f467 okay"),
        ("\ud800\udfff\ud800", "a\ud800\ud800\udfff"),
        ("a\0b\0c", "x\0a\0b\0d"),
    ],
)
def test_every_script_scores_as_in_plain_difflib(fragment: str, source: str, path: MatchPath) -> None:
    assert best_window(fragment, source, path=path) == reference.best_window(fragment, source)


def _speech(rng: random.Random) -> tuple[str, str]:
    source = speech(rng, 50_000)
    return edited(rng, source[:49_000], 40), source


def _chinese(rng: random.Random) -> tuple[str, str]:
    source = many_characters(rng, 50_000)
    return edited(rng, source[:49_500], 40), source


def _one_letter(_: random.Random) -> tuple[str, str]:
    return "a" * 20_000 + "b" + "a" * 20_000, "a" * 50_000


@pytest.mark.parametrize("make", [speech, many_characters])
def test_a_fragment_is_found_in_a_chunk_of_50000_characters(
    make: Callable[[random.Random, int], str], path: MatchPath
) -> None:
    rng = random.Random(5)
    source = make(rng, 50_000)
    fragment = "Z" + source[40_000:40_050] + "Z" + source[40_050:40_100]
    match = best_window(fragment, source, path=path)
    assert match.score == pytest.approx(100 * 100 / 102)
    assert match.start == 39_998


@needs_kernel
@pytest.mark.parametrize("texts", [_speech, _chinese, _one_letter])
def test_fragments_of_nearly_50000_characters_are_matched(texts: Callable[[random.Random], tuple[str, str]]) -> None:
    fragment, source = texts(random.Random(7))
    match = best_window(fragment, source, mode="decide")
    assert match.exact
    assert 95 < match.score < 100
    assert match.end - match.start == len(fragment)


def test_a_long_fragment_of_different_characters_is_matched_without_the_kernels_tables() -> None:
    fragment = "".join(map(chr, range(0x10000, 0x10000 + 30_000)))
    assert best_window(fragment, fragment[1:] + "x").score == pytest.approx(100 * 29_999 / 30_000)


def test_threads_match_side_by_side(path: MatchPath) -> None:
    rng = random.Random(3)
    source = speech(rng, 1500)
    fragments = [edited(rng, source[at : at + 90], 3) for at in range(0, 1200, 100)]
    expected = [best_window(fragment, source, path=path) for fragment in fragments]
    found: list[list[Match]] = []

    def work() -> None:
        found.append([best_window(fragment, source, path=path) for fragment in fragments])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@needs_kernel
def test_ctrl_c_ends_a_long_match_of_the_kernel() -> None:
    # Unrelated texts of two letters take minutes at this length; the signal comes while they are matched.
    code = (
        "import random\n"
        "from clearcall.scoring import best_window\n"
        "rng = random.Random(1)\n"
        "fragment, source = (''.join(rng.choices('ab', k=k)) for k in (20_000, 60_000))\n"
        "print('started', flush=True)\n"
        "best_window(fragment, source, path='kernel')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in errors


def test_the_environment_forces_a_path() -> None:
    code = "from clearcall.scoring.matcher import default_path; print(default_path())"

    def answer(forced: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, ENVIRONMENT_VARIABLE: forced}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )

    assert answer("library").stdout.strip() == "library"
    assert "this installation has" in answer("fast").stderr
