import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.scoring import Rules, Turn, evaluate, evaluate_turn, findings
from clearcall.scoring.alignment import compare
from clearcall.scoring.anchors import stretches

COMMON = ["the", "and", "to", "of", "a", "in", "that", "for", "on", "with", "we", "they", "have", "this", "will", "can"]


def spoken(words: int, seed: int = 1, fillers: Sequence[str] = ("um", "uh")) -> str:
    """Text with the frequencies of speech: a few words most of the time, many rare ones, fillers between."""
    chance = random.Random(seed)
    rare = ["w" + "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 8))) for _ in range(1500)]
    said: list[str] = []
    while len(said) < words:
        kind = chance.random()
        if kind < 0.05 and fillers:
            said.append(chance.choice(fillers))
        elif kind < 0.5:
            said.append(chance.choice(COMMON))
        else:
            said.append(rare[int(chance.random() ** 2 * len(rare))])
    return " ".join(said)


def faithful(text: str) -> str:
    return " ".join(word for word in text.split() if word not in ("um", "uh"))


@pytest.mark.parametrize("words", [12_000, 40_000])
def test_a_long_faithful_text_adds_and_drops_nothing_but_fillers(words: int) -> None:
    text = spoken(words)
    comparison = compare(faithful(text), text)
    assert list(comparison.added()) == []
    assert comparison.kept == frozenset(range(len(comparison.source.forms)))


@pytest.mark.parametrize("words", [12_000, 40_000])
def test_a_long_text_without_its_fillers_is_not_flagged(words: int) -> None:
    text = spoken(words, seed=2)
    evaluation = evaluate_turn(faithful(text), 0, [Turn(0, text)])
    assert not evaluation.flagged
    assert {fragment.score for fragment in evaluation.fragments} == {100.0}


def test_a_long_text_is_not_flagged_in_paper_mode_and_beside_other_turns() -> None:
    text = spoken(6_000, seed=5)
    call = [Turn(0, "good morning"), Turn(1, "hello"), Turn(0, text), Turn(1, "thanks"), Turn(0, "bye")]
    assert not evaluate_turn(faithful(text), 2, call, rules=Rules(mode="paper")).flagged
    assert not evaluate_turn(faithful(text), 2, call).flagged
    assert not evaluate([Turn(turn.speaker, faithful(turn.text)) for turn in call], call).flagged


def test_a_long_allowed_reduction_with_one_word_added_has_one_finding() -> None:
    text = spoken(12_000, seed=6)
    words = faithful(text).split()
    (flag,) = findings(text, " ".join([*words[:9000], "unheard", *words[9000:]]))
    assert flag.reason == "said nothing there, wrote unheard"


def test_a_fragments_window_in_a_long_source_is_at_its_place() -> None:
    text = spoken(12_000, seed=7) + " goodbye"
    last = evaluate_turn(faithful(text), 0, [Turn(0, text)]).fragments[-1]
    assert last.source_end == len(text)
    assert text[last.source_start : last.source_end] == last.source_text


def test_a_long_text_with_one_word_in_fifty_changed_differs_there_alone() -> None:
    said = spoken(12_000, fillers=()).split()
    wrote = ["otherwise" if index % 50 == 25 else word for index, word in enumerate(said)]
    comparison = compare(" ".join(wrote), " ".join(said))
    assert [comparison.cleaned.forms[index] for index in comparison.added()] == ["otherwise"] * (len(said) // 50)


def test_a_long_text_that_says_the_same_over_and_over_is_aligned_to_the_end() -> None:
    said = [*["opening", *spoken(60, fillers=()).split(), "basically"] * 250, "goodbye"]
    wrote = [word for word in said if word != "basically"]
    comparison = compare(" ".join(["so", *wrote, "bye"]), " ".join(["well", *said]))
    assert [comparison.cleaned.forms[index] for index in comparison.added()] == ["so", "bye"]


def test_a_long_answer_that_has_nothing_to_do_with_its_source_is_scored_to_the_end() -> None:
    wrote, said = spoken(4_000, seed=3), spoken(4_000, seed=4)
    evaluation = evaluate_turn(wrote.title(), 0, [Turn(0, said)])
    assert all(fragment.flagged for fragment in evaluation.fragments)


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=60),
    st.lists(st.sampled_from("abcdefgh"), max_size=60),
    st.integers(0, 60),
)
def test_between_the_stretches_both_texts_have_the_same_words(wrote: list[str], said: list[str], cells: int) -> None:
    at = source_at = 0
    for stretch in stretches(wrote, said, cells):
        assert wrote[at : stretch.cleaned_from] == said[source_at : stretch.source_from]
        at, source_at = stretch.cleaned_to, stretch.source_to
    assert wrote[at:] == said[source_at:]
