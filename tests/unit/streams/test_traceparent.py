import random
import re

import pytest

from clearcall.streams.traceparent import kept_or_made

SOUND = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_sound_traceparent_is_kept() -> None:
    assert kept_or_made(SOUND, random.Random(1)) == SOUND


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "x",
        SOUND.upper(),
        SOUND[:-1],
        SOUND + "0",
        "00-" + "0" * 32 + "-" + "1" * 16 + "-01",
        "ff" + SOUND[2:],
    ],
)
def test_anything_else_is_replaced_by_a_new_one(given: str | None) -> None:
    made = kept_or_made(given, random.Random(1))
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", made)
    assert made == kept_or_made(None, random.Random(1))
