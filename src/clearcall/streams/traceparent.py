"""The ``traceparent`` header (W3C Trace Context): kept where it is sound, made where it is not."""

import random
import re

_SOUND = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def kept_or_made(traceparent: str | None, source: random.Random) -> str:
    """The given ``traceparent``, or a new one (sampled) where there is none that can be read."""
    if traceparent is not None and _SOUND.fullmatch(traceparent):
        return traceparent
    trace_id = source.getrandbits(128) or 1
    span_id = source.getrandbits(64) or 1
    return f"00-{trace_id:032x}-{span_id:016x}-01"
