"""The page's parts on speed: beside the bare server, a grammar's cost, and the shapes of requests."""

from collections.abc import Callable, Sequence
from statistics import median

from clearcall.agents.consultant.bench.run import STRETCH_CHUNKS, Mode, Result
from clearcall.agents.consultant.bench.shapes import Shape
from clearcall.agents.consultant.bench.speed import FirstToken, Pair, Speeds
from clearcall.agents.consultant.decoding import decoding_at
from clearcall.scoring.bench.markdown import table

_ON_SPEED = """\
Tokens written a second, and the median latency of a request, through clearcall's agent (prompt, grammar, client, answer
taken apart, draft) and with the very same bodies (the grammar included) sent bare, in turns; every prompt was asked
once before, so that both find it in the server's cache. *By round*: the least and the largest share of a single round.
Server, client and whatever else runs share the cores: compare the two sides of a row, and no figure with another
machine's."""

_ON_SHAPES = """\
Stretches of up to {chunks} consecutive chunks of held calls, all of which wait in the queue, asked in both shapes in
turns, decoding `{decoding}`: *window* is one request for the chunks that fit, *chunk* one for each, with as many words
of earlier speech before it. Initial answers only; nothing is in the server's cache but the prompt's beginning. Where a
chunk waits alone, as in a live call whose model keeps up, both are the same request."""


_NO_GRAMMAR = "the server did not take or did not obey the grammar, and what it wrote was projected"


def not_as_asked(modes: Sequence[Mode]) -> list[str]:
    """A line for each mode with answers that were decoded in another way than they were asked for, corrections too."""
    own = [each for mode in modes for each in (mode, mode.as_published) if each]
    lines = [
        f"- **{mode.name}: {count} of {_asked(mode, decoding.asked)} answers asked as `{decoding.asked}` came as "
        f"`{decoding.answered}`**: {_NO_GRAMMAR}."
        for mode in own
        for decoding, count in sorted(mode.decodings.items())
        if decoding.asked != decoding.answered
    ]
    return [*lines, ""] if lines else []


def _asked(mode: Mode, decoding: str) -> int:
    return sum(count for each, count in mode.decodings.items() if each.asked == decoding)


def _speeds_not_as_asked(name: str, found: Speeds) -> list[str]:
    asked = decoding_at(name, 0)
    answered = [decoding for pair in found.pairs for decoding in pair.ours.decodings]
    other = sum(decoding != asked for decoding in answered)
    if not other:
        return []
    return [
        f"- **{name}: {other} of {len(answered)} answers were none by a grammar**: {_NO_GRAMMAR}.",
        "  Its figures, the time to the first token included, do not tell what a grammar costs.",
    ]


def speeds(result: Result) -> list[str]:
    """Beside the bare server; nothing where that was not measured."""
    measured = [(mode.name, mode.speeds) for mode in result.modes if mode.speeds]
    if not measured:
        return []
    rows = [["mode", "in flight", "requests", "tokens/s", "bare", "of bare", "by round", "latency s", "bare s"]]
    rows += [[name, *_pair(pair)] for name, found in measured for pair in found.pairs]
    grammars = sorted(result.grammar_seconds)
    return [
        "",
        "## Speed",
        "",
        _ON_SPEED,
        "",
        *table(rows),
        "",
        *(line for name, found in measured for line in _speeds_not_as_asked(name, found)),
        *(line for name, found in measured for line in _first_tokens(name, found.first_tokens)),
        f"Making a turn's grammar takes clearcall {1000 * median(grammars):.2f} ms at the median,",
        f"{1000 * grammars[-1]:.1f} ms at most.",
    ]


def _pair(pair: Pair) -> list[str]:
    ours, bare = pair.ours, pair.bare
    share = ours.tokens_per_second / bare.tokens_per_second if bare.tokens_per_second else 0.0
    return [
        str(ours.in_flight),
        str(len(ours.latencies)),
        f"{ours.tokens_per_second:.1f}",
        f"{bare.tokens_per_second:.1f}",
        _percent(share),
        f"{_percent(min(pair.shares, default=0.0))} to {_percent(max(pair.shares, default=0.0))}",
        f"{ours.typical_latency:.2f}",
        f"{bare.typical_latency:.2f}",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _first_tokens(name: str, found: Sequence[FirstToken]) -> list[str]:
    free = _median(found, lambda each: each.free)
    new = _median(found, lambda each: each.new_grammar)
    known = _median(found, lambda each: each.known_grammar)
    if free is None:
        return []
    if new is None or known is None:
        return [f"- Time to the first token, `{name}`, bare, one at a time, median: {free:.0f} ms."]
    return [
        f"- Time to the first token, `{name}`, bare, one at a time, median: {new:.0f} ms with a grammar that the",
        f"  server has never seen, {known:.0f} ms with the same again, {free:.0f} ms for the same prompt without one.",
    ]


def _median(found: Sequence[FirstToken], read: Callable[[FirstToken], float | None]) -> float | None:
    values = [value for value in map(read, found) if value is not None]
    return 1000 * median(values) if values else None


def shapes(result: Result) -> list[str]:
    """One request for a window against one for each chunk; nothing where that was not measured."""
    if not result.shapes:
        return []
    return [
        "",
        "## One request for a window, or one for each chunk",
        "",
        _ON_SHAPES.format(chunks=STRETCH_CHUNKS, decoding=result.shape_decoding),
        "",
        *table([_COST, *map(_cost, result.shapes)]),
        "",
        *table([_QUALITY, *map(_quality, result.shapes)]),
    ]


_COST = [
    "shape", "chunks", "requests", "words/s", "by round", "tokens/s", "prompt tokens a chunk", "written", "latency s",
]  # fmt: skip
_QUALITY = [
    "shape", "turns", "unusable", "foreign", "numbers", "negations", "coverage", "deletions F1", "punctuation F1",
]  # fmt: skip


def _cost(shape: Shape) -> list[str]:
    return [
        shape.name,
        str(shape.chunks),
        str(shape.requests),
        f"{shape.words / shape.seconds:.1f}",
        f"{min(shape.rates):.1f} to {max(shape.rates):.1f}",
        f"{shape.completion_tokens / shape.seconds:.1f}",
        f"{shape.prompt_tokens / shape.chunks:.0f}",
        f"{shape.completion_tokens / shape.chunks:.0f}",
        f"{shape.typical_latency:.1f}",
    ]


def _quality(shape: Shape) -> list[str]:
    each = shape.quality
    return [
        shape.name,
        str(each.turns),
        str(each.unanswered),
        str(each.foreign),
        str(each.numbers),
        str(each.negations),
        f"{each.coverage:.3f}",
        f"{each.deletions.f1:.2f}",
        f"{each.marks.f1:.2f}",
    ]
