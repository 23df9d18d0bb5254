"""Fragments with their scores, and the guards' flags put to their places."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clearcall.scoring import guards, sources
from clearcall.scoring.alignment import Comparison, compare
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.matcher import best_window, is_below
from clearcall.scoring.near import SEARCHED_WHOLE, Aligned, best_near, in_form, in_source_form
from clearcall.scoring.normalise import Normalised
from clearcall.scoring.types import Evaluation, Flag, Fragment, Match, Rules, SpanOffsets, Turn

_HIGHEST = 100.0
_NO_WORDS = Match(_HIGHEST, 0, 0)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a turn is scored against: its speaker's words, those of others, and itself without what it may drop.

    ``restated`` is ``None`` where it drops nothing; ``own_start`` is the place in ``said`` of the text it is read from,
    and ``aligned`` the way there.
    """

    said: sources.Source
    others: sources.Source
    restated: Normalised | None
    own_start: int
    aligned: Aligned


def paper_fragments(turn: Turn, index: int, said: sources.Source, rules: Rules) -> list[Fragment]:
    """The fragments of a turn by Algorithm 1, on the characters as given."""
    aligned = Aligned(compare(turn.text, said.text, rules.lexicon)) if len(said.text) > SEARCHED_WHOLE else None
    scored = []
    for start, end in fragment_spans(turn.text, rules.words, rules.overlap):
        text = turn.text[start:end]
        match = best_near(text, said.text, aligned.place(start) if aligned else 0)
        below = is_below(match, text, rules.threshold)
        place = (match.start, match.end)
        scored.append(
            _fragment(turn, index, (start, end), said, place, score=match.score, paper_score=match.score, below=below)
        )
    return scored


def strict_fragments(turn: Turn, index: int, normal: Normalised, heard: Heard, rules: Rules) -> list[Fragment]:
    """The fragments of a turn on normalised texts, with the speaker margin's flags."""
    said = heard.said
    scored = []
    spoken = said.normalised(rules.lexicon)
    for start, end in fragment_spans(turn.text, rules.words, rules.overlap):
        text = turn.text[start:end]
        own_place = heard.aligned.place(start)
        paper = best_near(text, said.text, heard.own_start + own_place)
        compared = normal.slice(*normal.within(start, end))
        match, place = _best(compared, spoken, heard, own_place)
        below = bool(compared) and is_below(match, compared, rules.threshold)
        fragment = _fragment(
            turn, index, (start, end), said, place, score=match.score, paper_score=paper.score, below=below
        )
        scored.append(_with_speaker_margin(fragment, compared, match, heard.others, rules))
    return scored


def _best(compared: str, spoken: sources.NormalSource, heard: Heard, own_place: int) -> tuple[Match, SpanOffsets]:
    """The best window of all that the speaker said, or of the turn without what it may drop, and its place as given."""
    if not compared:
        return _NO_WORDS, (0, 0)
    match = best_near(compared, spoken.text, in_source_form(spoken, heard.own_start + own_place))
    if match.score < _HIGHEST and heard.restated is not None:
        restated = best_near(compared, heard.restated.text, in_form(heard.restated, own_place))
        if restated.score > match.score:
            start, end = heard.restated.original(restated.start, restated.end)
            return restated, (heard.own_start + start, heard.own_start + end)
    return match, spoken.original(match.start, match.end)


def _fragment(
    turn: Turn,
    index: int,
    span: SpanOffsets,
    said: sources.Source,
    place: SpanOffsets,
    *,
    score: float,
    paper_score: float,
    below: bool,
) -> Fragment:
    return Fragment(
        turn=index,
        speaker=turn.speaker,
        text=turn.text[slice(*span)],
        start=span[0],
        end=span[1],
        score=score,
        paper_score=paper_score,
        source_text=said.text[slice(*place)],
        source_start=place[0],
        source_end=place[1],
        below_threshold=below,
    )


def _with_speaker_margin(
    fragment: Fragment, compared: str, own: Match, others: sources.Source, rules: Rules
) -> Fragment:
    if guards.SPEAKER_MARGIN not in rules.guards or own.score + guards.MARGIN > _HIGHEST or not others.text:
        return fragment
    other = best_window(
        compared, others.normalised(rules.lexicon).text, mode="decide", threshold=own.score + guards.MARGIN
    )
    flag = guards.speaker_margin(own, other, (fragment.start, fragment.end))
    return replace(fragment, flags=(flag,)) if flag else fragment


def with_flags(
    fragments: list[Fragment], turns: Sequence[Turn], indices: Sequence[int], comparison: Comparison, rules: Rules
) -> Evaluation:
    """The fragments with the guards' flags at their places, and the flags that belong to none of them."""
    if not comparison.blocks:
        return Evaluation(tuple(fragments))
    starts = sources.join(turns).starts
    offset = dict(zip(indices, starts, strict=True))
    local = [
        flag for name, guard in guards.FRAGMENT_GUARDS.items() if name in rules.guards for flag in guard(comparison)
    ]
    whole = [flag for name, guard in guards.TURN_GUARDS.items() if name in rules.guards for flag in guard(comparison)]
    if not local:
        return Evaluation(tuple(fragments), tuple(whole))
    fragment_starts = [fragment.start + offset[fragment.turn] for fragment in fragments]
    fragment_ends = [fragment.end + offset[fragment.turn] for fragment in fragments]
    mine: dict[int, list[Flag]] = {}
    for flag in local:
        touched = _touched(flag, fragment_starts, fragment_ends)
        if not touched:
            whole.append(flag)
        for index in touched:
            mine.setdefault(index, []).append(_shifted(flag, -offset[fragments[index].turn]))
    flagged = [
        replace(fragment, flags=(*fragment.flags, *mine[index])) if index in mine else fragment
        for index, fragment in enumerate(fragments)
    ]
    return Evaluation(tuple(flagged), tuple(whole))


def _touched(flag: Flag, starts: Sequence[int], ends: Sequence[int]) -> range:
    """The indices of the fragments that a flag's place overlaps, or that it is in or at if it is a point."""
    if flag.cleaned is None:
        return range(0)
    first, last = flag.cleaned
    if first == last:
        return range(bisect_left(ends, first), bisect_right(starts, last))
    return range(bisect_right(ends, first), bisect_left(starts, last))


def _shifted(flag: Flag, shift: int) -> Flag:
    if not shift or flag.cleaned is None:
        return flag
    return replace(flag, cleaned=(flag.cleaned[0] + shift, flag.cleaned[1] + shift))
