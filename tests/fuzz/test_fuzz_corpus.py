"""Every decoder's corpus, and what hypothesis thinks of beside it; no fuzzer is needed for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_parts import CORPUS, harness, names
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def _corpus() -> Iterator[tuple[str, Path]]:
    return ((name, path) for name in names() for path in sorted((CORPUS / name).iterdir()))


@pytest.mark.parametrize("name", names())
def test_every_decoder_has_a_corpus_of_small_inputs(name: str) -> None:
    sizes = [path.stat().st_size for path in (CORPUS / name).iterdir()]
    assert 3 <= len(sizes) <= 60
    assert max(sizes) <= 20_000


@pytest.mark.parametrize(("name", "path"), [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in _corpus()])
def test_an_input_of_the_corpus_is_read_or_refused_as_promised(name: str, path: Path) -> None:
    harness(name).check(path.read_bytes())


@pytest.mark.parametrize("name", names())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_an_input_made_of_the_decoder_s_own_words_is_read_or_refused_as_promised(
    name: str, data: st.DataObject
) -> None:
    one = harness(name)
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    words = st.sampled_from([word.encode("utf-8", "surrogatepass") for word in one.words])
    made = st.lists(words | st.binary(max_size=8) | st.text(max_size=8).map(str.encode), max_size=12).map(b"".join)
    one.check(data.draw(made | st.builds(_spliced, st.sampled_from(seeds), made, st.floats(0, 1), st.floats(0, 1))))


def _spliced(seed: bytes, made: bytes, start: float, end: float) -> bytes:
    """The seed with a stretch of it replaced."""
    first, last = sorted((round(start * len(seed)), round(end * len(seed))))
    return seed[:first] + made + seed[last:]
