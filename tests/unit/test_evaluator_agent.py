"""The evaluator agent: what each draft leads to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import pytest

from clearcall.agents.evaluator import Evaluator, Policy, ReductionCheck, rules_of, score
from clearcall.infra.settings import Guard, Settings
from clearcall.schemas import (
    Attempt,
    Chunk,
    Cleaned,
    ConsultantInfo,
    ContextTurn,
    Correction,
    Draft,
    Evaluation,
    Failure,
    Headers,
    Incoming,
    Outcome,
    Outgoing,
    Status,
    Topic,
)
from clearcall.scoring import GUARDS, Rules, better

SAID = "uh i would like to to book my car in for a service on the fourteenth of march please"
FAITHFUL = "I would like to book my car in for a service on the fourteenth of March, please."
INVENTED = "Good morning! Of course, let me check our availability for next week and get back to you."
QWEN = ConsultantInfo(backend="openai", model="qwen", prompt_version="clean-1")


def draft(cleaned: str, **fields: object) -> Draft:
    values: dict[str, object] = {
        "chunk": Chunk(call_id="c", chunk_id=1, speaker=1, text=SAID),
        "iteration": 0,
        "outcome": Outcome.ANSWERED,
        "cleaned": cleaned,
        "consultant": QWEN,
        "context": (ContextTurn(chunk_id=0, speaker=0, text="good morning how can i help"),),
        "drafted_at": 1.0,
    }
    return Draft.model_validate(values | fields)


def judge(*drafts: Draft, policy: Policy = "restore") -> list[Outgoing]:
    evaluator = Evaluator(Rules(), policy, now=lambda: 7.0)
    return [outgoing for one in drafts for outgoing in evaluator.judge(one, "00-trace")]


def only(outgoing: Sequence[Outgoing], topic: Topic) -> Outgoing:
    (found,) = [one for one in outgoing if one.topic is topic]
    return found


def end(outgoing: Sequence[Outgoing]) -> Cleaned:
    message = only(outgoing, Topic.CLEANED).message
    assert isinstance(message, Cleaned)
    return message


def flagged_attempt(iteration: int, cleaned: str = INVENTED) -> Attempt:
    message = only(judge(draft(cleaned, iteration=iteration)), Topic.EVALUATIONS).message
    assert isinstance(message, Evaluation)
    assert message.attempt.flagged
    return message.attempt


def test_a_faithful_answer_ends_clean_with_its_evaluation() -> None:
    outgoing = judge(draft(FAITHFUL))
    assert [one.topic for one in outgoing] == [Topic.EVALUATIONS, Topic.CLEANED]
    assert end(outgoing).status is Status.CLEAN
    assert end(outgoing).text == FAITHFUL
    assert end(outgoing).attempts[0].fragments[0].ss > 80
    assert {one.traceparent for one in outgoing} == {"00-trace"}


@pytest.mark.parametrize("iteration", [0, 1])
def test_a_flagged_answer_below_the_bound_goes_back_with_the_next_iteration(iteration: int) -> None:
    outgoing = judge(draft(INVENTED, iteration=iteration))
    sent = only(outgoing, Topic.CORRECTIONS)
    assert isinstance(sent.message, Correction)
    assert sent.iteration == iteration + 1
    assert sent.message.message_id == f"c/1/{iteration + 1}"
    assert sent.message.attempts[-1].fragments[0].flagged
    assert sent.message.context == draft("").context
    assert not [one for one in outgoing if one.topic is Topic.CLEANED]


def test_an_accepted_correction_ends_corrected_with_every_attempt() -> None:
    cleaned = end(judge(draft(FAITHFUL, iteration=1, attempts=(flagged_attempt(0),))))
    assert cleaned.status is Status.CORRECTED
    assert cleaned.iteration == 1
    assert [attempt.iteration for attempt in cleaned.attempts] == [0, 1]


def test_a_chunk_flagged_at_the_bound_is_restored_from_what_was_said() -> None:
    cleaned = end(judge(draft(INVENTED, iteration=2, attempts=(flagged_attempt(0), flagged_attempt(1)))))
    assert cleaned.status is Status.RESTORED
    assert "availability" not in cleaned.text
    assert "fourteenth of march" in cleaned.text.casefold()


def test_an_iteration_beyond_the_bound_is_finalised_and_never_loops() -> None:
    outgoing = judge(draft(INVENTED, iteration=99))
    assert end(outgoing).status is Status.RESTORED


def test_policy_keep_delivers_the_best_attempt_as_it_is_and_marks_it() -> None:
    nearly = "I would like to book my car in. We can certainly offer that, is Tuesday good for you?"
    attempts = (flagged_attempt(0), flagged_attempt(1, nearly))
    cleaned = end(judge(draft(INVENTED, iteration=2, attempts=attempts), policy="keep"))
    assert cleaned.status is Status.KEPT
    assert cleaned.iteration == 1
    assert cleaned.text == nearly


def test_a_failed_answer_is_flagged_as_a_whole_and_goes_back() -> None:
    outgoing = judge(draft("", outcome=Outcome.FAILED, failure=Failure.MISSING_LINE))
    evaluation = only(outgoing, Topic.EVALUATIONS).message
    assert isinstance(evaluation, Evaluation)
    assert evaluation.attempt.flagged
    assert evaluation.attempt.fragments == ()
    assert only(outgoing, Topic.CORRECTIONS).iteration == 1


@pytest.mark.parametrize("policy", ["restore", "keep"])
def test_a_chunk_no_attempt_answered_is_restored_by_rules_whatever_the_policy(policy: Policy) -> None:
    failed = draft("", outcome=Outcome.FAILED, failure=Failure.CUT, iteration=2)
    cleaned = end(judge(failed, policy=policy))
    assert cleaned.status is Status.RESTORED
    assert "fourteenth" in cleaned.text


def test_a_chunk_with_nothing_to_clean_passes_through_without_a_score() -> None:
    outgoing = judge(draft("", outcome=Outcome.NOTHING_TO_CLEAN))
    assert [one.topic for one in outgoing] == [Topic.CLEANED]
    assert end(outgoing).status is Status.PASSTHROUGH


def test_a_degraded_draft_is_scored_passed_through_and_never_corrected() -> None:
    outgoing = judge(draft(INVENTED, outcome=Outcome.DEGRADED))
    assert [one.topic for one in outgoing] == [Topic.EVALUATIONS, Topic.CLEANED]
    assert end(outgoing).status is Status.PASSTHROUGH


def test_a_correction_whose_bound_is_reached_ends_with_the_attempts_it_carries() -> None:
    outgoing = judge(draft(INVENTED, outcome=Outcome.BOUND_REACHED, iteration=2, attempts=(flagged_attempt(0),)))
    assert [one.topic for one in outgoing] == [Topic.CLEANED]
    assert end(outgoing).status is Status.RESTORED
    assert end(outgoing).iteration == 0


async def test_a_batch_keeps_its_order_and_gives_the_same_messages_again() -> None:
    batch = [Incoming(draft(FAITHFUL), Headers()), Incoming(draft(INVENTED), Headers())]
    evaluator = Evaluator(Rules(), "restore", now=lambda: 7.0)
    first, second = await evaluator(batch), await evaluator(batch)
    assert first == second
    assert [one.topic for one in first] == [Topic.EVALUATIONS, Topic.CLEANED, Topic.EVALUATIONS, Topic.CORRECTIONS]


REPHRASED = "I want to book my car in for a service on the fourteenth of March, please."


def checked(decoding: str, check: ReductionCheck, cleaned: str = REPHRASED, rules: Rules | None = None) -> Attempt:
    evaluator = Evaluator(rules or Rules(), "restore", now=lambda: 7.0, reduction_check=check)
    answered = draft(cleaned, consultant=QWEN.model_copy(update={"decoding": decoding}))
    message = only(evaluator.judge(answered), Topic.EVALUATIONS).message
    assert isinstance(message, Evaluation)
    return message.attempt


@pytest.mark.parametrize(
    ("decoding", "check", "found"),
    [
        ("constrained", "auto", True),
        ("project", "auto", True),
        ("free", "auto", False),
        ("rules", "auto", False),
        ("free", "always", True),
        ("constrained", "never", False),
    ],
)
def test_what_is_no_allowed_reduction_is_found_where_the_decoding_promises_one_or_always(
    decoding: str, check: ReductionCheck, *, found: bool
) -> None:
    attempt = checked(decoding, check)
    assert ("reduction" in {flag.guard for flag in attempt.flags}) == found
    assert attempt.flagged >= found
    assert ({flag.guard for flag in attempt.notes} == {"reduction"}) == (not found)


@pytest.mark.parametrize("mode", ["paper", "strict"])
def test_a_finding_that_flags_nothing_is_noted_with_the_place_it_would_be_flagged_at(
    mode: Literal["paper", "strict"],
) -> None:
    flagged = [flag for flag in checked("constrained", "auto").flags if flag.guard == "reduction"]
    noted = checked("free", "auto", rules=Rules(mode=mode))
    assert list(noted.notes) == flagged
    assert checked("free", "never").flagged == checked("free", "auto").flagged


def test_notes_do_not_make_a_correction_worse_or_better() -> None:
    plain = checked("free", "auto").model_copy(update={"iteration": 1})
    without = plain.model_copy(update={"notes": ()})
    assert not better(plain, without)
    assert not better(without, plain)


def test_an_answer_of_other_words_has_a_bounded_number_of_notes() -> None:
    said = " ".join(f"said{number} word{number}" for number in range(150))
    wrote = " ".join(f"said{number} other{number}{'x' * 300 * (number < 3)}" for number in range(150))
    attempt = score(
        draft(wrote, chunk=Chunk(call_id="c", chunk_id=1, speaker=1, text=said)), Rules(), reduction_check="never"
    )
    assert len(attempt.notes) == 50
    assert max(len(note.reason) for note in attempt.notes) == 200


def test_each_finding_has_its_place_in_the_text_where_it_is() -> None:
    lost, added = (flag for flag in checked("constrained", "auto").flags if flag.guard == "reduction")
    assert lost.source is not None
    assert added.cleaned is not None
    assert SAID[lost.source.start : lost.source.end] == "would like"
    assert REPHRASED[added.cleaned.start : added.cleaned.end] == "want"


def test_an_allowed_reduction_and_algorithm_1_alone_have_no_such_finding() -> None:
    assert not checked("constrained", "always", FAITHFUL).flags
    assert not checked("free", "auto", FAITHFUL).notes
    assert not checked("constrained", "always", rules=Rules(mode="paper")).flags


def test_a_chunk_that_is_no_allowed_reduction_at_the_bound_is_restored() -> None:
    answered = draft(REPHRASED, iteration=2, consultant=QWEN.model_copy(update={"decoding": "project"}))
    cleaned = end(judge(answered))
    assert cleaned.status is Status.RESTORED
    assert "I would like" in cleaned.text


def test_the_settings_guards_and_lexicon_are_the_evaluators(tmp_path: Path) -> None:
    assert set(get_args(Guard)) == GUARDS
    changed = draft(FAITHFUL.replace("fourteenth", "fifteenth"))
    assert score(changed, rules_of(Settings())).flagged
    assert not score(changed, rules_of(Settings(guards_off=("number",)))).flagged
    (tmp_path / "fillers").write_text("come rain or shine # a saying\n")
    said = Chunk(call_id="c", chunk_id=1, speaker=1, text="come rain or shine i want my car back")
    dropped = draft("I want my car back.", chunk=said)
    assert score(dropped, rules_of(Settings())).flagged
    assert not score(dropped, rules_of(Settings(lexicon=tmp_path / "fillers"))).flagged
