from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearcall.scoring import Evaluation, Rules, Turn, evaluate, evaluate_turn
from clearcall.scoring.types import GUARDS

AGENT, CALLER = 0, 1
CALL = [
    Turn(AGENT, "thank you for calling happy valley motors my name is robert how can i help you"),
    Turn(CALLER, "hi um i i need a new uh brake pad for my two thousand nineteen honda civic"),
    Turn(AGENT, "okay so that part is one hundred and forty dollars and we don't have it in stock"),
    Turn(CALLER, "oh okay when will you have it"),
]


def reasons(evaluation: Evaluation) -> list[tuple[str, str]]:
    local = [flag for fragment in evaluation.fragments for flag in fragment.flags]
    return [(flag.guard, flag.reason) for flag in (*local, *evaluation.flags)]


def test_a_faithful_turn_scores_100_and_shows_its_source_as_it_was_said() -> None:
    evaluation = evaluate_turn("I need a new brake pad for my 2019 Honda Civic.", 1, CALL)
    (fragment,) = evaluation.fragments
    assert not evaluation.flagged
    assert fragment.score == 100
    assert fragment.source_text == "i need a new uh brake pad for my two thousand nineteen honda civic"
    assert (fragment.start, fragment.end, fragment.speaker, fragment.turn) == (0, 47, CALLER, 1)


def test_both_scores_are_recorded_in_strict_mode_and_paper_mode_is_blind_to_a_price() -> None:
    cleaned = "so that part is one hundred and four dollars and we don't have it in stock"
    strict = evaluate_turn(cleaned, 2, CALL)
    paper = evaluate_turn(cleaned, 2, CALL, rules=Rules(mode="paper"))
    assert strict.fragments[0].paper_score == paper.fragments[0].score == paper.fragments[0].paper_score
    assert not paper.flagged
    assert reasons(strict) == [("number", "said 140, wrote 104")]


def test_paper_mode_takes_characters_as_given_case_and_all() -> None:
    shouted = evaluate_turn("HI UM I I NEED A NEW UH BRAKE PAD", 1, CALL, rules=Rules(mode="paper"))
    assert shouted.fragments[0].below_threshold
    assert not evaluate_turn("HI UM I I NEED A NEW UH BRAKE PAD for my 2019 honda civic", 1, CALL).flagged


def test_a_flag_names_its_place_in_the_fragment_and_in_the_own_turn() -> None:
    cleaned = "So that part is $104 and we don't have it in stock."
    (fragment,) = evaluate_turn(cleaned, 2, CALL).fragments
    (flag,) = fragment.flags
    assert flag.cleaned is not None
    assert flag.source is not None
    assert cleaned[slice(*flag.cleaned)] == "$104"
    assert CALL[2].text[slice(*flag.source)] == "one hundred and forty"


def test_only_the_fragments_at_a_flags_place_are_flagged() -> None:
    said = " ".join(f"word{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10]}" for n in range(60))
    cleaned = said.replace("wordac", "not").replace("wordbk", "wordbk not")
    flagged = [fragment.flagged for fragment in evaluate_turn(cleaned, 0, [Turn(0, said)]).fragments]
    assert flagged == [True, False, False, False]


def test_another_speakers_words_are_flagged_by_the_margin() -> None:
    evaluation = evaluate_turn("When will you have it?", 2, CALL)
    assert "speaker_margin" in [guard for guard, _ in reasons(evaluation)]


def test_words_of_the_speakers_other_turns_score_well_but_do_not_cover_this_one() -> None:
    evaluation = evaluate_turn("My name is Robert. How can I help you?", 2, CALL)
    assert evaluation.fragments[0].score == 100
    assert "coverage" in [flag.guard for flag in evaluation.flags]


def test_each_guard_can_be_switched_off() -> None:
    cleaned = "So Honda parts are $104 and we have it, no problem at all my friend."
    on = {guard for guard, _ in reasons(evaluate_turn(cleaned, 2, CALL))}
    assert {"number", "negation", "capitalised_new_word", "new_words"} <= on
    for guard in on:
        off = evaluate_turn(cleaned, 2, CALL, rules=Rules(guards=GUARDS - {guard}))
        assert {name for name, _ in reasons(off)} == on - {guard}
    assert reasons(evaluate_turn(cleaned, 2, CALL, rules=Rules(guards=frozenset()))) == []


def test_a_false_start_in_the_middle_does_not_lower_the_score_of_the_rest() -> None:
    said = "it's it's called a stir fry pan and it and it fits right on your uh st- it fits right on your burner"
    (fragment,) = evaluate_turn(
        "It's called a stir fry pan and it fits right on your burner.", 0, [Turn(0, said)]
    ).fragments
    assert (fragment.score, fragment.flagged) == (100, False)
    assert fragment.source_text == said[5:]


def test_an_empty_answer_has_no_fragments_and_is_flagged_unless_nothing_was_said() -> None:
    assert evaluate_turn("", 2, CALL).fragments == ()
    assert evaluate_turn("", 2, CALL).flagged
    assert not evaluate_turn("", 0, [Turn(0, "uh um")]).flagged
    assert not evaluate_turn(" ...", 0, [Turn(0, "")]).flagged


def test_an_invention_where_nothing_was_said_is_flagged() -> None:
    assert evaluate_turn("I would like to order a pizza.", 0, [Turn(0, "uh"), Turn(1, "hello")]).flagged


def test_the_source_is_the_speakers_nearest_speech_up_to_the_limit() -> None:
    turns = [Turn(0, f"turn number{'abcdefghijklmnop'[n]} {'x' * 80}") for n in range(16)]
    near = evaluate_turn("turn numberh", 8, turns, rules=Rules(source_chars=300, guards=frozenset()))
    far = evaluate_turn("turn numbera", 8, turns, rules=Rules(source_chars=300, guards=frozenset()))
    assert near.fragments[0].score == 100
    assert far.fragments[0].score < 100


def test_a_whole_conversation_is_compared_turn_by_turn() -> None:
    cleaned = [
        Turn(AGENT, "Thank you for calling Happy Valley Motors. My name is Robert. How can I help you?"),
        Turn(CALLER, "Hi, I need a new brake pad for my 2019 Honda Civic."),
        Turn(AGENT, "Okay, so that part is $140, and we have it in stock."),
        Turn(CALLER, "Okay, when will you have it?"),
    ]
    evaluation = evaluate(cleaned, CALL)
    assert reasons(evaluation) == [("negation", "said we don't, wrote we")]
    assert [fragment.turn for fragment in evaluation.fragments if fragment.flagged] == [2]
    assert evaluation.fragments[2].source_text in f"{CALL[0].text} {CALL[2].text}"


def test_turns_that_were_cut_otherwise_are_compared_speaker_by_speaker() -> None:
    cleaned = [
        Turn(AGENT, "Thank you for calling Happy Valley Motors."),
        Turn(AGENT, "My name is Robert. How can I help you?"),
        Turn(AGENT, "Okay, so that part is $140, and we don't have it in stock."),
        Turn(CALLER, "Hi, I need a new brake pad for my 2018 Honda Civic. Okay, when will you have it?"),
    ]
    evaluation = evaluate(cleaned, CALL)
    assert reasons(evaluation) == [("number", "said 2019, wrote 2018")]
    (flagged,) = [fragment for fragment in evaluation.fragments if fragment.flagged]
    (flag,) = flagged.flags
    assert flag.cleaned is not None
    assert cleaned[flagged.turn].text[slice(*flag.cleaned)] == "2018"


def test_a_speaker_whose_words_are_all_gone_is_flagged() -> None:
    evaluation = evaluate([Turn(AGENT, "hello there")], [Turn(AGENT, "hello there"), Turn(CALLER, "i want a refund")])
    assert reasons(evaluation) == [("coverage", "nothing that was said is there")]


def test_nothing_at_all_is_faithful() -> None:
    assert evaluate([], []) == Evaluation(())
    assert not evaluate([], [], mode="paper").flagged


def test_the_threshold_and_the_shape_of_fragments_are_parameters() -> None:
    cleaned = [Turn(0, "one day we will call them and ask")]
    source = [Turn(0, "some day we would call them to ask")]
    assert not evaluate(cleaned, source, mode="paper", threshold=50).flagged
    assert evaluate(cleaned, source, mode="paper", threshold=95).flagged
    assert len(evaluate(cleaned, source, mode="paper", words=4, overlap=1).fragments) == 3
    with pytest.raises(ValueError, match="overlap"):
        evaluate(cleaned, source, words=3, overlap=3)
    with pytest.raises(ValueError, match="nan"):
        evaluate(cleaned, source, threshold=float("nan"))


@pytest.mark.parametrize(
    ("said", "faithful", "unfaithful"),
    [
        (
            "嗯我的电话号码是五五五我明天打给你",
            "我的电话号码是五五五\uff0c我明天打给你。",
            "我的地址在北京\uff0c你可以来找我。",
        ),
        ("مرحبا كيف يمكنني مساعدتك اليوم", "مرحبا، كيف يمكنني مساعدتك اليوم؟", "لا أعرف ما الذي تتحدث عنه"),
        ("привет чем я могу вам помочь", "Привет! Чем я могу вам помочь?", "До свидания, мы закрыты сегодня."),
        ("cafe\u0301 ole\u0301 s'il vous plai\u0302t", "Café olé, s'il vous plaît.", "Un thé vert pour moi."),
    ],
)
def test_other_scripts_are_told_apart(said: str, faithful: str, unfaithful: str) -> None:
    assert not evaluate_turn(faithful, 0, [Turn(0, said)], rules=Rules(guards=GUARDS)).flagged
    assert evaluate_turn(unfaithful, 0, [Turn(0, said)]).flagged


@pytest.mark.parametrize("unit", ["hello there my friend ", "漢字", "مرحبا ", "a", "😀", "five ", "e\u0301", "no "])
def test_a_chunk_of_fifty_thousand_characters_is_scored(unit: str) -> None:
    said = (unit * 50_000)[:50_000]
    assert not evaluate_turn(said, 0, [Turn(0, said)]).flagged
    evaluate_turn(said[: len(said) // 2], 0, [Turn(0, said)], rules=Rules(mode="strict"))


ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["uh", "i", "don't", "not", "five", "5", "Mary", "the", "oh", "$3.50", "漢", "é", "…", "\x00"]),
        max_size=30,
    ).map(" ".join),
)


@settings(max_examples=200, deadline=None)
@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_no_pair_of_texts_makes_it_raise_and_every_offset_is_in_its_text(said: str, cleaned: str, other: str) -> None:
    turns = [Turn(1, other), Turn(0, said), Turn(0, other)]
    for rules in (Rules(), Rules(mode="paper")):
        evaluation = evaluate_turn(cleaned, 1, turns, rules=rules)
        joined = f"{said} {other}"
        for fragment in evaluation.fragments:
            assert cleaned[fragment.start : fragment.end] == fragment.text
            assert joined[fragment.source_start : fragment.source_end] == fragment.source_text
            assert 0 <= fragment.score <= 100
            assert 0 <= fragment.paper_score <= 100
        local = [flag for fragment in evaluation.fragments for flag in fragment.flags]
        for flag in (*local, *evaluation.flags):
            assert flag.reason
            assert flag.cleaned is None or 0 <= flag.cleaned[0] <= flag.cleaned[1] <= len(cleaned)
            assert flag.source is None or 0 <= flag.source[0] <= flag.source[1] <= len(said)


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_what_was_said_is_faithful_to_itself(said: str, other: str) -> None:
    assert not evaluate_turn(said, 1, [Turn(1, other), Turn(0, said), Turn(0, other)]).flagged
    assert not evaluate([Turn(0, said), Turn(1, other)], [Turn(0, said), Turn(1, other)]).flagged


def test_a_guard_that_is_off_in_evaluate_is_off() -> None:
    cleaned = [replace(turn, text=turn.text.replace("don't", "do")) for turn in CALL]
    assert evaluate(cleaned, CALL).flagged
    assert not evaluate(cleaned, CALL, enabled=GUARDS - {"negation"}).flagged
