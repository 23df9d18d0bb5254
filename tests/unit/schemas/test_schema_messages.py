"""What the messages promise beyond their shape."""

import pytest
from pydantic import ValidationError

from clearcall.schemas import (
    Attempt,
    Chunk,
    ConsultantInfo,
    Correction,
    Draft,
    Handover,
    Outcome,
    Status,
    TaskEnd,
    Topic,
    Track,
)

CHUNK = Chunk(call_id="call", chunk_id=4, speaker=0, text="hi")
INFO = ConsultantInfo(backend="rules", model="rules", prompt_version="1")
ATTEMPT = Attempt(iteration=0, cleaned="Hi.", outcome=Outcome.ANSWERED, consultant=INFO, flagged=True)


def test_ids_are_functions_of_the_contents_place() -> None:
    draft = Draft(chunk=CHUNK, iteration=1, outcome=Outcome.ANSWERED, cleaned="Hi.", consultant=INFO, drafted_at=1.0)
    assert CHUNK.message_id == "call/4"
    assert draft.message_id == "call/4/1"
    assert Correction(chunk=CHUNK, attempts=(ATTEMPT,)).message_id == "call/4/1"
    assert draft.key == CHUNK.key == "call"


def test_each_consultant_and_task_has_ids_of_its_own() -> None:
    track = Track(agent="canary", task="format-numbers", step=1)
    draft = Draft(
        chunk=CHUNK, iteration=0, outcome=Outcome.ANSWERED, cleaned="Hi.", consultant=INFO, drafted_at=1.0, track=track
    )
    assert draft.message_id == "call/4/0@canary:format-numbers"
    assert Correction(chunk=CHUNK, attempts=(ATTEMPT,), track=Track(agent="b")).message_id == "call/4/1@b"
    end = TaskEnd(track=Track(), status=Status.CLEAN, attempts=1)
    assert Handover(chunk=CHUNK, given="Hi.", earlier=(end,), track=Track(task="two")).message_id == "call/4/0:two"


def test_a_task_rewrites_what_it_was_given_and_the_first_one_what_was_said() -> None:
    first = Correction(chunk=CHUNK, attempts=(ATTEMPT,))
    assert (first.source, first.model_copy(update={"given": ""}).source) == ("hi", "")


@pytest.mark.parametrize("name", ["A", "a b", "a/b", "a@b", "x" * 65])
def test_a_name_that_would_spoil_an_id_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        Track(agent=name)


def test_a_correction_without_an_attempt_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        Correction(chunk=CHUNK, attempts=())


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        CHUNK.text = "bye"  # type: ignore[misc]


def test_a_validation_error_does_not_show_the_text() -> None:
    with pytest.raises(ValidationError) as caught:
        Chunk.model_validate({"call_id": "c", "chunk_id": 0, "speaker": 0, "text": ["my card number"]})
    assert "card" not in str(caught.value)


def test_every_topic_carries_a_schema_of_its_own() -> None:
    names = [topic.message_type.schema_name for topic in Topic]
    assert len(set(names)) == len(names)
