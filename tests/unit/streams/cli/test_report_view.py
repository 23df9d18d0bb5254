from dataclasses import replace

from rich.console import Console

from clearcall.infra.clickhouse.report import Interval, Performance, Rate, Summary, WorstFragment
from clearcall.streams.cli.dead_letters import readable
from clearcall.streams.cli.report_view import render_summary, word_difference

WORST = WorstFragment("c1", 4, 0, 2, 61.5, 60.0, "It costs 140.", "um it costs 104", ("said 104, wrote 140",))
RATE = Rate("corpus", "openai", "qwen", "3", 1, 200, 10, Interval(0.05, 0.027, 0.09), 20, Interval(0.1, 0.066, 0.149))
SUMMARY = Summary(1, 10, 200, 2, {"clean": 9, "restored": 1}, (RATE,), (), (WORST,))


def _rendered(summary: Summary, *, terminal: bool) -> str:
    console = Console(
        force_terminal=terminal, width=120, color_system="standard" if terminal else None, highlight=False
    )
    with console.capture() as captured:
        render_summary(console, summary)
    return captured.get()


def test_a_difference_marks_removed_and_added_words_where_there_is_no_colour() -> None:
    assert word_difference("um it costs 104", "It costs 140.", marks=True).plain == "[-um-] It costs [-104-] {+140.+}"


def test_a_difference_does_not_count_case_and_punctuation() -> None:
    assert (
        word_difference("so the brakes squeak", "So, the brakes squeak!", marks=True).plain == "So, the brakes squeak!"
    )


def test_a_difference_at_a_terminal_is_red_and_green() -> None:
    styles = {str(span.style) for span in word_difference("one two", "one three").spans}
    assert styles == {"red strike", "bold green"}


def test_a_difference_never_moves_the_cursor() -> None:
    assert "\x1b" not in word_difference("a \x1b[2J b", "a b").plain


def test_a_summary_shows_statuses_rates_and_the_worst_fragment_without_colour_off_a_terminal() -> None:
    text = _rendered(SUMMARY, terminal=False)
    assert "\x1b" not in text
    assert "clean     9       90.0%" in text
    assert "5.0% (2.7% to 9.0%)" in text
    assert "c1/4/0/2  SS 61.5 (Algorithm 1: 60.0)" in text
    assert "[-104-] {+140.+}" in text
    assert "guard: said 104, wrote 140" in text
    assert "dead letters: 2" in text


def test_a_summary_is_coloured_at_a_terminal() -> None:
    assert "\x1b[1;32m140." in _rendered(SUMMARY, terminal=True)


DEFAULT = Performance(
    *("", "", 0, False, "openai", "qwen", "clean-1", 10, 20, 0.25, 0.1, None, 91.234, 412.4, 1000, 200),
)
SHADOW = replace(DEFAULT, agent="next", shadow=True, model="large", rate_0=None, mean_ss=None)


def test_consultants_are_compared_where_there_are_several() -> None:
    text = _rendered(replace(SUMMARY, matrix=(DEFAULT, SHADOW)), terminal=False)
    first, second = (" ".join(line.split()) for line in text.splitlines() if "clean-1" in line)
    assert first == "- openai qwen clean-1 10 20 25.0% 10.0% - 91.23 412 ms 1000 in, 200 out"
    assert second == "- next: openai large clean-1 (shadow) 10 20 - 10.0% - - 412 ms 1000 in, 200 out"


def test_one_consultant_at_one_task_is_compared_with_nobody() -> None:
    assert _rendered(replace(SUMMARY, matrix=(DEFAULT,)), terminal=False) == _rendered(SUMMARY, terminal=False)


def test_the_worst_fragment_of_a_named_consultant_says_whose_it_is() -> None:
    worst = replace(WORST, agent="canary", task="format-numbers")
    assert "c1/4/0/2  canary, format-numbers  SS 61.5" in _rendered(replace(SUMMARY, worst=(worst,)), terminal=False)


def test_an_empty_database_says_so() -> None:
    assert "nothing yet" in _rendered(Summary(0, 0, 0, 0, {}, (), (), ()), terminal=False)


def test_original_bytes_are_shown_as_text_where_they_are_text() -> None:
    assert readable("naïve 🚗".encode()) == "naïve 🚗"
    assert readable(b"a\x00b\x1b") == "a\\x00b\\x1b"
    assert readable(b"\xff\x00") == "0xff00"
    assert readable(None) == "(null)"


def test_long_original_bytes_are_cut_between_characters() -> None:
    shown = readable(("é" * 2001).encode())
    assert shown == "é" * 2000 + " … and 2 bytes more"
    assert readable(("a" + "é" * 2000).encode()).startswith("a" + "é" * 1999)


def test_a_fragment_that_is_no_speech_is_shown_by_its_ends() -> None:
    long = "a" * 2500 + "b" * 2500
    text = _rendered(replace(SUMMARY, worst=(replace(WORST, text=long, source_text=long),)), terminal=False)
    assert "aaa … 4600 characters … bbb" in text
    assert max(map(len, text.splitlines())) < 600


def test_similarity_by_the_mode_and_by_algorithm_1_have_names_of_their_own() -> None:
    one = Performance("a", "", 0, False, "openai", "m", "p", 1, 1, 0.0, None, None, 99.0, 1.0, 1, 1)
    text = _rendered(replace(SUMMARY, matrix=(one, replace(one, agent="b"))), terminal=False)
    assert "mean SS by the mode, at the end" in text
    assert "  mean SS  " not in text
