"""The grammar of a turn: it writes the turn and its reductions, and no word that was not said."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearcall.agents.consultant.grammar import TurnGrammar, turn_grammar, window_ebnf
from clearcall.agents.consultant.splitting import split
from clearcall.scoring.allowed import is_allowed
from clearcall.scoring.reduction import Reduction, clean_words, reductions, written
from clearcall.scoring.spoken import words_of

VOCABULARY = """
uh um i i'm it it's you know mean the a have to and six oh m t no don't appoint appointment y- Smith is just é ß 你 好
😀 "quoted" (in) a\\b c]d ^x well, ok. what? m. t.
"""
SPOKEN = st.lists(st.sampled_from(VOCABULARY.split()), max_size=16).map(" ".join)
TEXT = st.text(max_size=40) | SPOKEN


def reduced(reduction: Reduction, data: st.DataObject) -> str:
    """One of the reductions that the policy allows, written with some punctuation and case."""
    at, kept = 0, []
    while at < len(reduction.words):
        to = data.draw(st.sampled_from([*reduction.exits[at], None, None]))
        if to is None:
            word = reduction.words[at]
            spelled = word.guard == "letter"
            mark = data.draw(st.sampled_from(["", ","] if spelled else ["", ",", ".", "?", "!"]))
            text = word.text
            if data.draw(st.booleans()) and len(text[0].swapcase()) == 1 and text[0].swapcase().swapcase() == text[0]:
                text = text[0].swapcase() + text[1:]
            kept.append(word._replace(text=text, before="", after=mark))
            at += 1
        else:
            at = to
    return written([word._replace(glued=False) if not index else word for index, word in enumerate(kept)])


@given(TEXT)
def test_the_turn_itself_is_written(text: str) -> None:
    grammar = turn_grammar(text)
    assert grammar.accepts(grammar.reduction.plain)


@given(TEXT, st.data())
def test_every_reduction_that_the_policy_allows_is_written(text: str, data: st.DataObject) -> None:
    grammar = turn_grammar(text)
    assert grammar.accepts(reduced(grammar.reduction, data))


@given(TEXT, st.data())
def test_a_word_that_was_not_said_is_written_nowhere(text: str, data: st.DataObject) -> None:
    grammar = turn_grammar(text)
    answer = reduced(grammar.reduction, data).split(" ")
    at = data.draw(st.integers(0, len(answer)))
    assert not grammar.accepts(" ".join([*answer[:at], "zebra", *answer[at:]]))


@given(TEXT, st.data())
def test_what_the_grammar_writes_is_an_allowed_reduction(text: str, data: st.DataObject) -> None:
    answer = reduced(reductions(text), data)
    assert is_allowed(text, answer)


@given(SPOKEN, SPOKEN)
def test_another_turn_is_written_only_if_it_is_an_allowed_reduction(text: str, other: str) -> None:
    if turn_grammar(text).accepts(other):
        assert is_allowed(text, other)


@given(TEXT, st.data())
def test_what_the_decided_grammar_writes_is_an_allowed_reduction(text: str, data: st.DataObject) -> None:
    grammar = turn_grammar(text, decided=True)
    assert grammar.accepts(written(clean_words(text)))
    answer = reduced(grammar.reduction, data)
    assert grammar.accepts(answer)
    assert is_allowed(text, answer)


@pytest.mark.parametrize(
    "answer",
    ["I want six.", "uh i want six", "Uh, I want um six!", "i, want. six?", "I i want six", "I, I want um six"],
)
def test_case_of_the_first_letter_punctuation_and_fillers_are_free(answer: str) -> None:
    assert turn_grammar("uh i i want um six").accepts(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I want",
        "I six",
        "I want 6",
        "want i six",
        "I WANT six",
        "I want six ",
        " I want six",
        "I want six.. ",
        "I  want six",
    ],
)
def test_nothing_else_is_free(answer: str) -> None:
    assert not turn_grammar("uh i i want um six").accepts(answer)


def test_no_full_stop_stands_between_spelled_letters() -> None:
    grammar = turn_grammar("it is m i t")
    assert grammar.accepts("It is M, I, T.")
    assert not grammar.accepts("It is M. I. T.")


def test_a_turn_of_fillers_may_be_empty_and_one_of_words_may_not() -> None:
    assert turn_grammar("uh um").accepts("")
    assert turn_grammar("").accepts("")
    assert not turn_grammar("yes").accepts("")


@given(TEXT)
def test_the_rules_are_ascii_and_each_is_defined_once_and_used(text: str) -> None:
    ebnf = turn_grammar(text).ebnf()
    assert ebnf.isascii()
    assert ebnf.isprintable() or "\n" in ebnf
    names = [line.split(" ::= ")[0] for line in ebnf.splitlines()]
    assert len(names) == len(set(names))
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", ebnf)
    assert set(re.findall(r"\br\d+\b", bare)) <= set(names)


def test_quotes_brackets_and_backslashes_are_escaped() -> None:
    root = turn_grammar('"\\]').ebnf().splitlines()[-1]
    assert root.startswith(r'root ::= ("\U00000022")? "\U0000005c" ("" | ')
    assert root.endswith(r' | "\U0000005d")')


def test_a_window_has_its_heads_and_a_turn_on_each_line() -> None:
    ebnf = window_ebnf([("1 agent:", turn_grammar("uh hello")), ("2 caller:", turn_grammar("hi"))])
    assert ebnf.splitlines()[2:] == [
        r'root ::= "1 agent\U0000003a" t0 "\n" "2 caller\U0000003a" t1',
        't0 ::= " " [uU] "h" m t0r1 | " " [hH] "ello" m',
        't0r1 ::= " " [hH] "ello" m',
        't1 ::= " " [hH] "i" m',
    ]


def test_a_window_without_turns_is_empty() -> None:
    assert 'root ::= ""' in window_ebnf([])


def test_a_long_turn_is_cut_where_nothing_that_may_go_is_torn() -> None:
    text = "you know the car is here. do you know the number six six six and now i see"
    pieces = list(split(text, 7))
    assert [text for _, text in pieces] == [
        "you know the car is here.",
        "do you know the number",
        "six six six and now i see",
    ]
    assert [glue for glue, _ in pieces] == ["", " ", " "]


@given(TEXT, st.integers(1, 12))
def test_the_pieces_of_a_turn_are_its_words(text: str, most: int) -> None:
    pieces = list(split(text, most))
    assert pieces[0][0] == ""
    whole = [word.form for word in words_of(text)]
    assert [word.form for _, piece in pieces for word in words_of(piece)] == whole
    assert all(len(words_of(piece)) <= most for _, piece in pieces)


def test_a_piece_of_no_word_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        list(split("hello", 0))


def test_a_grammar_of_a_part_knows_no_word_of_the_rest() -> None:
    whole = reductions("uh i i want six")
    assert TurnGrammar(whole.part(0, 3)).accepts("I")
    assert not TurnGrammar(whole.part(0, 3)).accepts("I want")


@settings(deadline=None)
@given(TEXT, SPOKEN, st.data())
def test_xgrammar_writes_what_the_matcher_here_accepts(text: str, other: str, data: st.DataObject) -> None:
    xgrammar = pytest.importorskip("xgrammar.testing", reason="xgrammar is there only beside a model server")
    grammar = turn_grammar(text)
    for answer in (grammar.reduction.plain, reduced(grammar.reduction, data), other, f"{text} zebra", ""):
        assert xgrammar._is_grammar_accept_string(grammar.ebnf(), answer) == grammar.accepts(answer)
