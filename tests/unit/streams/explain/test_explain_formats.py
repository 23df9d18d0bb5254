"""What a person gets to see of a comparison."""

import io
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from clearcall.scoring import Evaluation, Flag, Fragment, Rules, Turn
from clearcall.streams.explain import Explanation, Transcript, explain_texts, read_transcript
from clearcall.streams.explain.as_html import to_html
from clearcall.streams.explain.as_json import to_json
from clearcall.streams.explain.as_text import print_explanation, print_scores
from clearcall.streams.explain.diff import difference
from clearcall.streams.explain.explanation import ShownFragment, ShownTurn

PAPER = Rules(mode="paper")

FRAGMENT = Fragment(
    turn=0,
    speaker=0,
    text="It costs 104.",
    start=0,
    end=13,
    score=92.3,
    paper_score=71.0,
    source_text="it costs one forty",
    source_start=3,
    source_end=21,
    below_threshold=False,
    flags=(Flag("number", "said 140, wrote 104", cleaned=(9, 12), source=(12, 21)),),
)
DIFFERENCE = difference(FRAGMENT.source_text, FRAGMENT.text)
FLAGGED = Explanation(
    rules=Rules(),
    names={0: "agent"},
    evaluation=Evaluation((FRAGMENT,), (Flag("coverage", "left out: what about friday"),)),
    fragments=(ShownFragment(1, FRAGMENT, DIFFERENCE, ((9, 12),)),),
    turns=(ShownTurn(0, DIFFERENCE),),
)
NOTHING = explain_texts(Transcript(()), Transcript(()), PAPER)


def text_of(shown: Explanation, *, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=100,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        no_color=False,
        highlight=False,
    )
    print_explanation(shown, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def scores_of(shown: Explanation) -> str:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    print_scores(shown, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class Page(HTMLParser):
    """Collects what could leave the page, and checks that tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.shown: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [name for name, _ in attrs if name in {"src", "href", "srcset"} or name.startswith("on")]
        if tag in {"script", "link", "iframe", "img", "object"}:
            self.outside.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def test_the_text_shows_scores_reasons_and_the_verdict() -> None:
    shown = text_of(FLAGGED)
    assert "fragment 1  agent  similarity 92.3  paper 71.0  flagged" in shown
    assert "  said  it costs [-one forty-]" in shown.lower()
    assert "  wrote It costs {+104.+}" in shown
    assert "! number: said 140, wrote 104" in shown
    assert "! whole text: coverage: left out: what about friday" in shown
    assert shown.splitlines()[-1].startswith("FLAGGED  1 of 1 fragments flagged, similarity mean 92.3, lowest 92.3")


def test_on_a_terminal_the_difference_is_coloured_and_unmarked() -> None:
    shown = text_of(FLAGGED, colour=True)
    assert "\x1b[" in shown
    assert "{+" not in shown


def test_the_short_form_has_one_line_for_a_fragment() -> None:
    lines = [line for line in scores_of(FLAGGED).splitlines() if "It costs" in line]
    assert len(lines) == 1
    assert "number (said 140, wrote 104)" in lines[0]


def test_the_json_has_everything_that_was_scored() -> None:
    value = json.loads(to_json(FLAGGED))
    assert value["flagged"] is True
    assert value["summary"] == {"fragments": 1, "flagged": 1, "mean": 92.3, "lowest": 92.3}
    (fragment,) = value["fragments"]
    assert (fragment["start"], fragment["end"], fragment["paper_score"]) == (0, 13, 71.0)
    assert fragment["flags"] == [
        {"guard": "number", "reason": "said 140, wrote 104", "cleaned": [9, 12], "source": [12, 21]}
    ]
    assert fragment["difference"][-1] == {"kind": "added", "text": "104."}
    assert value["flags"][0]["guard"] == "coverage"


def test_the_page_needs_nothing_from_outside_and_marks_what_a_guard_saw() -> None:
    html = to_html(FLAGGED)
    page = Page(html)
    assert page.outside == []
    assert page.open == []
    assert "url(" not in html
    assert "<mark>104</mark>" in html
    assert "prefers-color-scheme: dark" in html
    assert "said 140, wrote 104" in "".join(page.shown)


@pytest.mark.parametrize("shown", [NOTHING, explain_texts(read_transcript("hello there"), Transcript(()), PAPER)])
def test_an_empty_answer_is_shown_as_nothing_to_score(shown: Explanation) -> None:
    assert "nothing to score" in text_of(shown)
    assert json.loads(to_json(shown))["summary"]["mean"] is None
    assert "there is nothing to score" in to_html(shown)


def test_text_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script> [bold]x[/bold] \x1b[31m $title ${pill}"
    shown = explain_texts(read_transcript(evil), read_transcript(evil), PAPER)
    html = to_html(shown)
    assert Page(html).outside == []
    assert "&lt;script&gt;" in html
    assert "$title ${pill}" in html
    assert "[bold]x[/bold]" in text_of(shown)
    assert "\x1b" not in text_of(shown) + html


def test_turns_are_compared_whole_where_both_texts_have_the_same() -> None:
    said = read_transcript("0: um hello\n1: yes uh please")
    same = explain_texts(said, read_transcript("0: Hello.\n1: Yes, please."), PAPER)
    assert [turn.speaker for turn in same.turns] == [0, 1]
    fewer = explain_texts(said, read_transcript("0: Hello."), PAPER)
    assert fewer.turns == ()


def test_a_guards_span_is_shown_within_its_fragment_only() -> None:
    words = " ".join(f"word{number}" for number in range(30))
    shown = explain_texts(read_transcript(words), read_transcript(words), PAPER)
    assert len(shown.fragments) == 2
    assert all(item.marked == () for item in shown.fragments)


TEXTS = st.text(max_size=80) | st.sampled_from(["\ud800", "\x00", "שלום", "👩‍👩‍👧", "um", "$1", "0:", "agent: x"])


@settings(deadline=None, max_examples=60)
@given(TEXTS, TEXTS)
def test_any_two_texts_can_be_shown_in_every_format(said: str, wrote: str) -> None:
    source, cleaned = Transcript((Turn(0, said),)), Transcript((Turn(0, wrote),))
    shown = explain_texts(source, cleaned, Rules())
    json.loads(to_json(shown))
    Page(to_html(shown))
    to_html(shown).encode()
    text_of(shown).encode()
    scores_of(shown).encode()
