"""The headers beside a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearcall.schemas import Headers, parse_iteration
from clearcall.schemas.headers import RawHeaders


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param([], id="absent"),
        pytest.param([("iteration", None)], id="null"),
        pytest.param([("iteration", b"")], id="empty"),
        pytest.param([("iteration", b"x")], id="no number"),
        pytest.param([("iteration", b"-1")], id="negative"),
        pytest.param([("iteration", b"0")], id="zero, which is no correction"),
        pytest.param([("iteration", b"3")], id="one too many"),
        pytest.param([("iteration", b"99")], id="far too many"),
        pytest.param([("iteration", b"9" * 5000)], id="a very long number"),
        pytest.param([("iteration", b" 1")], id="with a space"),
        pytest.param([("iteration", b"1\n")], id="with a newline"),
        pytest.param([("iteration", "\u0661".encode())], id="an Arabic digit"),
        pytest.param([("iteration", b"\xff")], id="no text"),
        pytest.param([("iteration", b"1"), ("iteration", b"1")], id="twice"),
        pytest.param([("iteration", b"1"), ("iteration", b"2")], id="twice, different"),
        pytest.param([("Iteration", b"1")], id="in another case"),
    ],
)
def test_an_iteration_that_cannot_be_trusted_counts_as_the_bound(raw: RawHeaders) -> None:
    assert parse_iteration(raw) is None
    assert Headers.parse(raw).iteration is None


@pytest.mark.parametrize("iteration", [1, 2])
def test_an_iteration_within_the_bound_is_read(iteration: int) -> None:
    assert parse_iteration([("iteration", str(iteration).encode())]) == iteration


def test_headers_survive_the_way_to_kafka_and_back() -> None:
    headers = Headers(message_id="c/1/0", schema="clearcall.draft/1", traceparent="00-ab-cd-01", iteration=2)
    assert Headers.parse(headers.raw()) == headers


def test_absent_headers_are_left_out() -> None:
    assert Headers(schema="clearcall.chunk/1").raw() == [("schema", b"clearcall.chunk/1")]
    assert Headers.parse([]) == Headers()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["iteration", "schema", "message-id", "traceparent", "other"]), st.none() | st.binary()
        )
    )
)
def test_no_header_raises(raw: RawHeaders) -> None:
    assert Headers.parse(raw).iteration in {None, 1, 2}
