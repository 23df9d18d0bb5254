"""The generator of the benchmark: what it makes can be read by nobody, or the figure would mean nothing."""

import random
import sys
from pathlib import Path

import pytest

from clearcall.schemas import Chunk, DecodeError, Headers, decode

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from malformed import malformed


def test_nothing_that_it_makes_is_a_chunk() -> None:
    source, reasons = random.Random(1), set()
    for number in range(20_000):
        _, value, headers = malformed(source, number)
        with pytest.raises(DecodeError) as refusal:
            decode(Chunk, value, Headers.parse(headers).schema)
        reasons.add(refusal.value.reason)
    assert reasons == {"not_json", "wrong_shape", "tombstone", "unknown_schema"}
