"""What the messages promise beyond their shape."""

import pytest
from pydantic import ValidationError

from clearcall.schemas import Attempt, Chunk, ConsultantInfo, Correction, Draft, Outcome, Topic

CHUNK = Chunk(call_id="call", chunk_id=4, speaker=0, text="hi")
INFO = ConsultantInfo(backend="rules", model="rules", prompt_version="1")
ATTEMPT = Attempt(iteration=0, cleaned="Hi.", outcome=Outcome.ANSWERED, consultant=INFO, flagged=True)


def test_ids_are_functions_of_the_contents_place() -> None:
    draft = Draft(chunk=CHUNK, iteration=1, outcome=Outcome.ANSWERED, cleaned="Hi.", consultant=INFO, drafted_at=1.0)
    assert CHUNK.message_id == "call/4"
    assert draft.message_id == "call/4/1"
    assert Correction(chunk=CHUNK, attempts=(ATTEMPT,)).message_id == "call/4/1"
    assert draft.key == CHUNK.key == "call"


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
