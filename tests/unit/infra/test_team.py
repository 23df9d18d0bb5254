"""Which consultant answers which call, and what follows a task."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.infra.settings import Settings
from clearcall.infra.team import Team
from clearcall.schemas import Track

CALLS = 4000
LEEWAY = 0.05
"""Six standard deviations of a share of so many calls."""


def team(**tables: Any) -> Team:
    return Team.of(Settings(**tables))


def shares_of(found: Team) -> dict[str, float]:
    answerers = [found.answerer(f"call-{number}", 0) for number in range(CALLS)]
    return {name: answerers.count(name) / CALLS for name in found.delivered}


@given(st.lists(st.floats(0, 1, exclude_min=True), min_size=1, max_size=4))
def test_each_canary_answers_about_its_share_and_the_default_the_rest(weights: list[float]) -> None:
    whole = max(1.0, sum(weights) * 1.001)
    given_shares = {f"canary-{at}": weight / whole for at, weight in enumerate(weights)}
    found = shares_of(team(consultants=[{"name": name, "share": share} for name, share in given_shares.items()]))
    assert all(abs(found[name] - share) < LEEWAY for name, share in given_shares.items())
    assert abs(found[""] - (1 - sum(given_shares.values()))) < LEEWAY


@given(st.text(min_size=1, max_size=50))
def test_a_call_has_the_same_answerer_wherever_it_is_asked(call_id: str) -> None:
    one, other = (team(consultants=[{"name": "canary", "share": 0.5}]) for _ in range(2))
    assert one.answerer(call_id, 0) == other.answerer(call_id, 0)


def test_the_split_is_the_same_on_every_machine_and_in_every_release() -> None:
    found = team(consultants=[{"name": "canary", "share": 0.5}])
    assert [found.answerer(f"call-{number}", 0) for number in range(8)] == [
        *("", "canary", "canary", "canary", "", "canary", "", "")
    ]


def test_a_growing_canary_keeps_the_calls_that_it_has() -> None:
    small, large = (team(consultants=[{"name": "canary", "share": share}]) for share in (0.1, 0.4))
    assert all(large.answerer(f"c{n}", 0) == "canary" for n in range(CALLS) if small.answerer(f"c{n}", 0) == "canary")


def test_shadows_and_consultants_without_a_share_of_calls_answer_none() -> None:
    found = team(consultants=[{"name": "next", "shadow": True}, {"name": "digits", "share": 0}, {"name": "main"}])
    assert shares_of(found) == {"main": 1.0, "digits": 0.0}


TASKS = {
    "consultants": [
        {"name": "main"},
        {"name": "digits", "share": 0},
        {"name": "next", "shadow": True},
    ],
    "tasks": [{"name": "punctuate"}, {"name": "shorten"}, {"name": "format-numbers", "consultant": "digits"}],
}


def test_a_chunk_passes_the_tasks_in_order_each_by_its_consultant() -> None:
    found = team(**TASKS)
    track: Track | None = found.track("main", 0)
    passed = []
    while track is not None:
        passed.append((track.agent, track.task, track.step))
        track = found.following(track, "call")
    assert passed == [("main", "punctuate", 0), ("main", "shorten", 1), ("digits", "format-numbers", 2)]


def test_a_shadow_goes_on_until_a_task_is_somebody_elses() -> None:
    found = team(**TASKS)
    second = found.following(found.track("next", 0), "call")
    assert second == Track(agent="next", shadow=True, task="shorten", step=1)
    assert found.following(second, "call") is None


def test_a_shadow_answers_the_first_task_whoever_does_it() -> None:
    tasks = [{"name": "one", "consultant": "main"}, {"name": "two"}]
    found = team(consultants=[{"name": "main"}, {"name": "next", "shadow": True}], tasks=tasks)
    assert [found.is_shadowed("next", step) for step in (0, 1)] == [True, True]
    assert not found.is_shadowed("main", 0)


@pytest.mark.parametrize(
    "track",
    [
        Track(task="gone", step=1),
        Track(task="punctuate", step=1),  # of another order of the tasks
        Track(task="format-numbers", step=2),
        Track(task="format-numbers", step=99),
    ],
)
def test_what_is_at_no_task_of_today_or_at_the_last_ends(track: Track) -> None:
    assert team(**TASKS).following(track, "call") is None


@given(st.builds(Track, task=st.sampled_from(["", "punctuate", "shorten", "x"]), step=st.integers(0, 9)))
def test_no_track_can_go_round_in_circles(track: Track) -> None:
    found = team(**TASKS)
    following = found.following(track, "call")
    assert following is None or following.step == track.step + 1
