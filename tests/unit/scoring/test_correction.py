from itertools import permutations

import pytest

from clearcall.schemas import Attempt, ConsultantInfo, Failure, FragmentScore, GuardFlag, Outcome, Span
from clearcall.scoring import Turn, best_attempt, better, evaluate_turn, fragment_scores, guard_flags

WHO = ConsultantInfo(backend="openai", model="m", prompt_version="1")


def fragment(number: int, ss: float, *, flagged: bool) -> FragmentScore:
    return FragmentScore(
        fragment_id=number,
        text="a",
        cleaned=Span(start=0, end=1),
        ss=ss,
        ss_paper=ss,
        source_text="a",
        flagged=flagged,
    )


def attempt(iteration: int, *scores: float, flags: int = 0, failed: bool = False) -> Attempt:
    fragments = tuple(fragment(number, ss, flagged=ss < 80) for number, ss in enumerate(scores))
    return Attempt(
        iteration=iteration,
        cleaned="a",
        outcome=Outcome.FAILED if failed else Outcome.ANSWERED,
        failure=Failure.GARBAGE if failed else None,
        consultant=WHO,
        flagged=failed or bool(flags) or any(score.flagged for score in fragments),
        fragments=fragments,
        flags=(GuardFlag(guard="coverage", reason="dropped"),) * flags,
    )


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (attempt(2, 10.0, 10.0), attempt(0, failed=True)),
        (attempt(1, 81.0, 81.0), attempt(0, 99.0, 79.0)),
        (attempt(1, 90.0), attempt(0, 99.0, flags=1)),
        (attempt(1, 90.0, flags=1), attempt(0, 95.0, flags=2)),
        (attempt(1, 90.0), attempt(0, 85.0)),
        (attempt(0, 90.0), attempt(1, 90.0)),
    ],
    ids=["evaluated", "fewer flagged fragments", "fewer flags", "fewer flags still", "higher mean", "earlier"],
)
def test_the_better_attempt_is_taken_in_the_order_of_what_matters(good: Attempt, bad: Attempt) -> None:
    assert better(good, bad)
    assert not better(bad, good)
    assert best_attempt([bad, good]) == best_attempt([good, bad]) == good


def test_a_correction_that_is_no_better_is_not_taken() -> None:
    first = attempt(0, 79.0, 90.0)
    assert best_attempt([first, attempt(1, 79.0, 89.0), attempt(2, 79.0, 90.0)]) == first


def test_the_order_is_total_over_any_sequence_of_attempts() -> None:
    attempts = [attempt(0, failed=True), attempt(1, 50.0), attempt(2, 90.0, flags=1)]
    assert {best_attempt(order) for order in permutations(attempts)} == {attempts[2]}


def test_no_attempt_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        best_attempt([])


def test_an_evaluation_travels_with_places_scores_and_flags() -> None:
    said = (
        "so that part is one hundred and forty dollars and we do have it in stock right now at the store on main street"
    )
    evaluation = evaluate_turn(
        "So that part is $104, and we do have it in stock right now at the store on Main Street.", 0, [Turn(0, said)]
    )
    scores = fragment_scores(evaluation)
    assert [score.fragment_id for score in scores] == list(range(len(evaluation.fragments)))
    assert scores[0].flags == (
        GuardFlag(
            guard="number",
            reason="said 140, wrote 104",
            cleaned=Span(start=16, end=20),
            source=Span(start=16, end=37),
        ),
    )
    assert (scores[0].ss, scores[0].flagged) == (evaluation.fragments[0].score, True)
    assert guard_flags(evaluation.flags) == ()
