"""What is read from a topic, and what is refused."""

import base64
import json
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.schemas import (
    Alert,
    Attempt,
    Chunk,
    Cleaned,
    ConsultantInfo,
    ContextTurn,
    Correction,
    DeadLetter,
    DecodeError,
    Draft,
    Evaluation,
    Failure,
    FragmentScore,
    GuardFlag,
    Handover,
    Message,
    Outcome,
    Oversize,
    Span,
    Status,
    TaskEnd,
    Track,
    Undecodable,
    UnknownSchema,
    decode,
    encode,
)
from clearcall.schemas.codec import MAX_MESSAGE_BYTES, schema_of

SECRET = "my card is four two four two"
CHUNK = {"call_id": "c1", "chunk_id": 3, "speaker": 1, "text": SECRET}


def raw(**changes: Any) -> bytes:
    return json.dumps(CHUNK | changes).encode()


def refused(value: bytes | None, schema: str | None = None) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode(Chunk, value, schema)
    return caught.value


def reason_of(value: bytes) -> str | None:
    try:
        decode(Chunk, value)
    except DecodeError as error:
        return error.reason
    return None


def test_a_chunk_is_read_as_it_was_written() -> None:
    assert decode(Chunk, raw(start=1.5, end=2.5)) == Chunk(
        call_id="c1", chunk_id=3, speaker=1, text=SECRET, start=1.5, end=2.5
    )


@pytest.mark.parametrize("name", ["chunk_id", "speaker"])
@pytest.mark.parametrize("written", ['"1"', "1.0", "1e0", "true", "[1]", "null"])
def test_a_number_of_a_chunk_is_a_whole_json_number_so_that_different_records_have_different_ids(
    name: str, written: str
) -> None:
    value = raw(**{name: 77}).replace(b"77", written.encode())
    assert json.loads(value)[name] == json.loads(written)
    error = refused(value)
    assert (error.reason, str(error).partition(":")[0]) == ("wrong_shape", name)


def test_a_message_of_an_earlier_version_is_read_with_defaults_for_what_it_lacks() -> None:
    value = {
        "chunk": CHUNK,
        "iteration": 0,
        "outcome": "answered",
        "cleaned": "Hi.",
        "consultant": {"backend": "rules", "model": "rules", "prompt_version": "1"},
        "drafted_at": 1.0,
    }
    draft = decode(Draft, json.dumps(value).encode(), "clearcall.draft/1")
    assert (draft.track, draft.given, draft.message_id) == (Track(), None, "c1/3/0")
    assert schema_of(Draft) == "clearcall.draft/2"
    with pytest.raises(UnknownSchema):
        decode(Draft, json.dumps(value).encode(), "clearcall.draft/3")


def test_an_unknown_field_is_ignored() -> None:
    assert decode(Chunk, raw(confidence=0.9)).text == SECRET


@pytest.mark.parametrize("field", ["call_id", "chunk_id", "speaker", "text"])
def test_a_missing_field_is_named(field: str) -> None:
    value = {name: content for name, content in CHUNK.items() if name != field}
    error = refused(json.dumps(value).encode())
    assert error.reason == "wrong_shape"
    assert str(error) == f"{field}: Field required"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(None, "tombstone", id="tombstone"),
        pytest.param(b"", "not_json", id="nothing"),
        pytest.param(b"hello", "not_json", id="no JSON"),
        pytest.param(raw()[:-5], "not_json", id="cut JSON"),
        pytest.param(b"\x00\x01\xfe\xff", "not_json", id="binary"),
        pytest.param(b"[" * 100_000, "not_json", id="deep nesting"),
        pytest.param(raw().replace(b"card", b"\xff\xfe"), "not_json", id="no UTF-8"),
        pytest.param(raw().replace(b"card", rb"\ud800"), "not_json", id="lone high surrogate"),
        pytest.param(raw().replace(b"card", rb"\udc00 x"), "not_json", id="lone low surrogate"),
        pytest.param(b"null", "wrong_shape", id="null"),
        pytest.param(b"[1, 2]", "wrong_shape", id="list"),
        pytest.param(b'"text"', "wrong_shape", id="string"),
        pytest.param(b"{}", "wrong_shape", id="empty object"),
        pytest.param(raw(call_id=""), "wrong_shape", id="empty call id"),
        pytest.param(raw(call_id="x" * 257), "wrong_shape", id="long call id"),
        pytest.param(raw(chunk_id=-1), "wrong_shape", id="negative chunk id"),
        pytest.param(raw(chunk_id=2**31), "wrong_shape", id="chunk id beyond 32 bits"),
        pytest.param(raw(chunk_id="three"), "wrong_shape", id="chunk id in words"),
        pytest.param(raw(speaker=-1), "wrong_shape", id="negative speaker"),
        pytest.param(raw(text=None), "wrong_shape", id="null text"),
        pytest.param(raw(text={"said": SECRET}), "wrong_shape", id="text of another shape"),
        pytest.param(raw(start="nan"), "wrong_shape", id="no number"),
    ],
)
def test_a_bad_value_is_refused_with_its_reason_and_without_its_text(value: bytes | None, reason: str) -> None:
    error = refused(value)
    assert isinstance(error, Undecodable)
    assert error.reason == reason
    assert str(error)
    shown = "".join(traceback.format_exception(error))
    assert "four two" not in shown


def test_a_dead_letter_whose_original_is_no_base64_is_refused() -> None:
    letter = {"stage": "s", "reason": "r", "detail": "d", "topic": "t", "partition": 0, "offset": 1, "record_key": "a="}
    with pytest.raises(Undecodable, match=r"record_key: .*base64"):
        decode(DeadLetter, json.dumps(letter | {"record_value": None, "clearcall_version": "0", "died_at": 0}).encode())


def test_many_errors_are_summed_up() -> None:
    with pytest.raises(DecodeError, match=r"and 5 more$"):
        decode(DeadLetter, b"{}")


@pytest.mark.parametrize("schema", ["clearcall.chunk/2", "clearcall.chunk", "other/1", "", "x" * 10_000])
def test_another_schema_or_version_is_refused(schema: str) -> None:
    error = refused(raw(), schema)
    assert isinstance(error, UnknownSchema)
    assert error.reason == "unknown_schema"
    assert len(str(error)) < 200


def test_an_absent_schema_header_means_the_current_version() -> None:
    assert decode(Chunk, raw(), None) == decode(Chunk, raw(), "clearcall.chunk/1")


@pytest.mark.parametrize("speaker", [0, 1, 7, 2**31 - 1])
def test_any_speaker_that_is_no_negative_number_is_kept(speaker: int) -> None:
    assert decode(Chunk, raw(speaker=speaker)).speaker == speaker


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("  \t\n", id="white space"),
        pytest.param("a\x00b", id="NUL"),
        pytest.param("👩‍👩‍👧 👍🏽", id="emoji"),
        pytest.param("שלום \u202eعليكم", id="right to left"),
        pytest.param("e\u0301 Å", id="combining marks"),
        pytest.param("um " * 10_000, id="10,000 words"),
    ],
)
def test_a_text_is_kept_character_by_character(text: str) -> None:
    chunk = decode(Chunk, raw(text=text))
    assert chunk.text == text
    assert decode(Chunk, encode(chunk)) == chunk


def test_an_escaped_surrogate_pair_is_one_character() -> None:
    assert decode(Chunk, raw().replace(SECRET.encode(), rb"\ud83d\udc4d")).text == "👍"


def test_a_message_over_one_megabyte_is_neither_read_nor_written() -> None:
    chunk = Chunk(call_id="c", chunk_id=0, speaker=0, text="x" * MAX_MESSAGE_BYTES)
    assert refused(chunk.model_dump_json().encode()).reason == "oversize"
    with pytest.raises(Oversize, match=r"at most 1000000 fit: .* should be sent as several chunks"):
        encode(chunk)


def test_the_schema_header_has_name_and_version() -> None:
    assert schema_of(Chunk) == "clearcall.chunk/1"


def test_a_lone_surrogate_made_in_process_is_refused_on_the_way_out() -> None:
    with pytest.raises(Undecodable, match="surrogates") as caught:
        encode(Chunk(call_id="c", chunk_id=0, speaker=0, text=SECRET + "\ud800"))
    assert caught.value.reason == "not_text"
    assert "four two" not in str(caught.value)


TEXT = st.text(max_size=40)
BASE64 = st.binary(max_size=9).map(base64.b64encode).map(bytes.decode)
ORDINAL = st.integers(0, 2**31 - 1)
SCORE = st.floats(0, 100)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
SPAN = st.builds(Span, start=st.integers(0, 99), end=st.integers(0, 99))
FLAG = st.builds(GuardFlag, guard=TEXT, reason=TEXT, cleaned=st.none() | SPAN, source=st.none() | SPAN)
INFO = st.builds(ConsultantInfo, backend=TEXT, model=TEXT, prompt_version=TEXT, decoding=TEXT)
CHUNKS = st.builds(
    Chunk, call_id=st.text(min_size=1, max_size=9), chunk_id=ORDINAL, speaker=ORDINAL, text=TEXT, start=FLOAT, end=FLOAT
)
FRAGMENT = st.builds(
    FragmentScore,
    fragment_id=ORDINAL,
    text=TEXT,
    cleaned=SPAN,
    ss=SCORE,
    ss_paper=SCORE,
    source_text=TEXT,
    flagged=st.booleans(),
    flags=st.lists(FLAG, max_size=2).map(tuple),
)
ATTEMPT = st.builds(
    Attempt,
    iteration=ORDINAL,
    cleaned=TEXT,
    outcome=st.sampled_from(Outcome),
    failure=st.none() | st.sampled_from(Failure),
    consultant=INFO,
    flagged=st.booleans(),
    fragments=st.lists(FRAGMENT, max_size=2).map(tuple),
)
ATTEMPTS = st.lists(ATTEMPT, min_size=1, max_size=2).map(tuple)
CONTEXT = st.lists(st.builds(ContextTurn, chunk_id=ORDINAL, speaker=ORDINAL, text=TEXT), max_size=2).map(tuple)
NAME = st.from_regex(r"[a-z0-9-]{0,12}", fullmatch=True)
TRACK = st.builds(Track, agent=NAME, shadow=st.booleans(), task=NAME, step=ORDINAL)
END = st.builds(TaskEnd, track=TRACK, status=st.sampled_from(Status), attempts=ORDINAL)
ENDS = st.lists(END, min_size=1, max_size=2).map(tuple)
MESSAGES: list[st.SearchStrategy[Message]] = [
    CHUNKS,
    st.builds(
        Draft,
        chunk=CHUNKS,
        track=TRACK,
        given=st.none() | TEXT,
        earlier=ENDS,
        iteration=ORDINAL,
        outcome=st.sampled_from(Outcome),
        cleaned=TEXT,
        consultant=INFO,
        context=CONTEXT,
        attempts=ATTEMPTS,
        latency_ms=FLOAT,
        drafted_at=FLOAT,
    ),
    st.builds(Correction, chunk=CHUNKS, track=TRACK, context=CONTEXT, attempts=ATTEMPTS),
    st.builds(Handover, chunk=CHUNKS, track=TRACK, given=TEXT, context=CONTEXT, earlier=ENDS),
    st.builds(
        Evaluation,
        chunk=CHUNKS,
        attempt=ATTEMPT,
        mode=TEXT,
        threshold=SCORE,
        fragment_words=ORDINAL,
        fragment_overlap=ORDINAL,
        clearcall_version=TEXT,
        evaluated_at=FLOAT,
    ),
    st.builds(
        Cleaned,
        chunk=CHUNKS,
        text=TEXT,
        status=st.sampled_from(Status),
        iteration=ORDINAL,
        consultant=INFO,
        attempts=ATTEMPTS,
        mode=TEXT,
        threshold=SCORE,
        clearcall_version=TEXT,
        cleaned_at=FLOAT,
    ),
    st.builds(
        Alert,
        fingerprint=st.text(min_size=1, max_size=9),
        state=TEXT,
        monitor=TEXT,
        consultant=INFO,
        observed=FLOAT,
        reference=FLOAT,
        p_value=FLOAT,
        calls=ORDINAL,
        summary=TEXT,
        clearcall_version=TEXT,
        raised_at=FLOAT,
    ),
    st.builds(
        DeadLetter,
        stage=TEXT,
        reason=TEXT,
        detail=TEXT,
        errors=st.lists(TEXT, max_size=2).map(tuple),
        topic=TEXT,
        partition=ORDINAL,
        offset=st.integers(0, 2**63 - 1),
        record_key=st.none() | BASE64,
        record_value=st.none() | BASE64,
        record_headers=st.lists(st.tuples(TEXT, st.none() | BASE64), max_size=2).map(tuple),
        record_timestamp=st.none() | FLOAT,
        clearcall_version=TEXT,
        died_at=FLOAT,
    ),
]


@given(st.one_of(MESSAGES))
def test_every_message_survives_the_way_to_bytes_and_back(message: Message) -> None:
    back = decode(type(message), encode(message), schema_of(type(message)))
    assert back == message
    assert (back.key, back.message_id) == (message.key, message.message_id)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_any_bytes_are_read_or_refused_and_nothing_else(value: bytes) -> None:
    assert reason_of(value) in {None, "not_json", "wrong_shape"}


JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | FLOAT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.fixed_dictionaries(dict.fromkeys(CHUNK, JSON_VALUE)))
def test_any_json_object_is_read_or_refused_and_nothing_else(value: dict[str, Any]) -> None:
    assert reason_of(json.dumps(value).encode()) in {None, "not_json", "wrong_shape"}
