"""A run knows how far its shadows are, and that they end no chunk."""

import base64
from typing import Any

from clearcall.schemas import Chunk, Draft, Evaluation, Message, Topic, Track, encode
from clearcall.streams.progress import Progress
from clearcall.streams.shadow_progress import ShadowProgress
from clickhouse_samples import CONSULTANT, attempt, chunk, cleaned, dead_letter, evaluation, fragment

SHADOW = Track(agent="next", shadow=True)
SCORED = attempt(0, [fragment(0, 90.0)])


def progress(*chunks: Chunk) -> Progress:
    found = Progress(shadows=ShadowProgress(("next", "other")))
    for offset, each in enumerate(chunks):
        found.add((0, offset), each.message_id)
    return found


def scored(of: Chunk, *, ends: bool = True, **changes: Any) -> bytes:
    made: Evaluation = evaluation(of, SCORED).model_copy(update={"track": SHADOW, "ends": ends, **changes})
    return encode(made)


def letter(message: Message, topic: Topic, stage: str) -> bytes:
    content = base64.b64encode(encode(message)).decode()
    changes = {"topic": topic.value, "stage": stage, "partition": 0, "record_value": content}
    return encode(dead_letter(0).model_copy(update=changes))


def test_a_shadow_is_waited_for_until_its_last_evaluation_of_each_delivered_chunk() -> None:
    found = progress(chunk(number=0), chunk(number=1))
    found.on_evaluation(scored(chunk(number=1)))
    for number in (0, 1):
        found.on_cleaned(encode(cleaned(chunk(number=number), attempts=(SCORED,))))
    assert found.ended == 2
    assert found.shadows.left() == {"next": 1, "other": 2}
    found.on_evaluation(scored(chunk(number=0), ends=False))
    assert found.shadows.left()["next"] == 1
    found.on_evaluation(scored(chunk(number=0), attempt=attempt(1, [fragment(0, 90.0)])))
    assert found.shadows.left() == {"other": 2}
    assert (found.evaluations, found.shadows.evaluations) == (2, 3)


def test_the_same_evaluation_twice_and_that_of_a_delivered_consultant_count_for_nothing() -> None:
    found = progress(chunk())
    for _ in range(2):
        found.on_evaluation(scored(chunk()))
    found.on_evaluation(scored(chunk(), track=Track(agent="canary")))
    assert (found.shadows.evaluations, found.shadows.ended) == (1, 1)


def test_a_chunk_with_nothing_to_clean_is_not_expected_of_a_shadow() -> None:
    found = progress(chunk())
    found.on_cleaned(encode(cleaned(chunk())))
    assert found.shadows.left() == {}


def test_a_dead_letter_of_a_shadow_ends_its_part_and_not_the_chunk() -> None:
    found = progress(chunk(number=0), chunk(number=1))
    found.on_dead_letter(letter(chunk(number=0), Topic.CHUNKS, "shadow-next"))
    draft = Draft(
        chunk=chunk(number=1),
        track=SHADOW,
        iteration=0,
        outcome="answered",
        cleaned="x",
        consultant=CONSULTANT,
        drafted_at=1.0,
    )
    found.on_dead_letter(letter(draft, Topic.DRAFTS, "evaluator"))
    assert (found.ended, found.dead) == (0, 2)
    for number in (0, 1):
        found.on_cleaned(encode(cleaned(chunk(number=number), attempts=(SCORED,))))
    assert (found.ended, found.shadows.left()) == (2, {"other": 2})


def test_a_dead_letter_of_the_delivered_ends_the_chunk() -> None:
    found = progress(chunk(number=0))
    found.on_dead_letter(letter(chunk(number=0), Topic.CHUNKS, "consultant"))
    assert found.ended == 1
