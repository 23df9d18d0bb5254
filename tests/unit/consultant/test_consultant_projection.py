"""A free answer made an allowed reduction of its source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.agents.consultant.projection import Projection, project
from clearcall.scoring.allowed import accepts, findings, is_allowed
from clearcall.scoring.reduction import reductions
from clearcall.scoring.spoken import words_of

VOCABULARY = """
uh um i I'm it it's you know The the. and, And six Six oh M. t no don't appoint appointment y- Smith is 你 好。 zebra
Zebra. "quoted" (in) well! ok? straße STRASSE
"""
SPOKEN = st.lists(st.sampled_from(VOCABULARY.split()), max_size=14).map(" ".join)
TEXT = st.text(max_size=40) | SPOKEN


@given(TEXT, TEXT)
def test_whatever_is_answered_the_result_is_an_allowed_reduction(source: str, answer: str) -> None:
    text = project(source, answer).text
    assert findings(source, text) == []
    assert accepts(reductions(source), [word.form for word in words_of(text)])


@given(TEXT, TEXT)
def test_the_places_of_words_put_back_and_dropped_are_theirs(source: str, answer: str) -> None:
    found = project(source, answer)
    said = {(word.start, word.end) for word in words_of(source)}
    wrote = {(word.start, word.end) for word in words_of(answer)}
    assert set(found.restored) <= said
    assert set(found.dropped) <= wrote
    assert found.changed == (not accepts(reductions(source), [word.form for word in words_of(answer)]))


@given(TEXT, TEXT)
def test_projecting_again_changes_no_word(source: str, answer: str) -> None:
    once = project(source, answer)
    twice = project(source, once.text)
    assert not twice.changed
    assert [word.form for word in words_of(twice.text)] == [word.form for word in words_of(once.text)]


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("uh and the name is bob", "And the name is Bob."),
        ("i i want six please", "I want six, please!"),
        ("nasa is \u201chere\u201d", "NASA is \u201chere\u201d."),
        ("it's m i t", "It's M I T"),
    ],
)
def test_an_answer_that_is_allowed_stays_as_it_is(source: str, answer: str) -> None:
    assert project(source, answer) == Projection(answer, (), ())


@pytest.mark.parametrize(
    ("source", "answer", "result"),
    [
        ("i like the film and i go", "I like the movie. And I go!", "I like the film. And I go!"),
        ("my number is six six oh four", "My number is six oh four.", "My number is six six oh four."),
        ("i don't want it", "I want it.", "I don't want it."),
        ("yes please", "Sure! Here is the text: Yes, please.", "Yes, please."),
        ("hello uh there", "", "hello there"),
        ("it was good but bad", "It was bad but good.", "It was good but bad."),
        ("good morning", "Good morning! How can I help?", "Good morning!"),
    ],
)
def test_invented_words_go_and_lost_ones_come_back(source: str, answer: str, result: str) -> None:
    assert project(source, answer).text == result


@pytest.mark.parametrize(
    ("source", "answer", "result"),
    [
        ("and the name is bob", "The name is Bob.", "And the name is Bob."),
        ("so the dog", "Well, so the dog.", "So the dog."),
        ("i want it now thanks", "I want it. Thanks.", "I want it now. Thanks."),
        ("i want it now thanks", "I want it, thanks.", "I want it now, thanks."),
        ("the cat sat i think", "The cat sat down. I think.", "The cat sat. I think."),
        ("we go and i stay", "We go. Stay.", "We go and I. Stay."),
        ("call Smith now", "Call now.", "Call Smith now."),
        ("we saw it on the news", "We saw it. The news.", "We saw it on. The news."),
        ("we saw it the news", "We saw it and. The news.", "We saw it. The news."),
        ("um so yes", "Hello. Yes.", "So. Yes."),
        ("hi i saw The Times", "Hi. The Times.", "Hi I saw. The Times."),
    ],
)
def test_case_and_marks_are_mended_where_words_came_and_went(source: str, answer: str, result: str) -> None:
    assert project(source, answer).text == result


@pytest.mark.parametrize(
    "text", ["[1,2]} ] }", "</transcript> now", "{ now", "well - i say - now", "hello , there", "a } b ] c", "- no"]
)
def test_marks_that_stand_apart_keep_the_spaces_of_the_source(text: str) -> None:
    assert project(text, text) == Projection(text, (), ())


def test_a_mark_that_the_answer_wrote_otherwise_is_written_as_there() -> None:
    assert project("um hello , there - now", "Hello, there now.").text == "Hello, there now."


@given(SPOKEN)
def test_the_source_itself_comes_back_whole(source: str) -> None:
    assert project(source, source).text.casefold() == source.casefold()


def test_an_answer_without_capitals_gets_none() -> None:
    assert project("um i i live in a house you know", "live in a house").text == "i live in a house"


@given(SPOKEN)
def test_what_a_grammar_could_have_written_is_not_changed(source: str) -> None:
    plain = turn_grammar(source).reduction.plain
    assert not project(source, plain).changed
    assert is_allowed(source, plain)
