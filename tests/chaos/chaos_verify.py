"""The verdict: what was sent against all that is on the topics and in the tables. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chaos_traffic import Place, Sent

from clearcall.schemas import MAX_ITERATION

STAGE_OF = {
    "transcripts.chunks": "consultant",
    "transcripts.corrections": "consultant",
    "transcripts.drafts": "evaluator",
    "transcripts.evaluations": "sink",
}
_SHOWN = 5

Step = tuple[str, int, int]
"""Call, chunk number, iteration."""

Letter = tuple[str, int, int, str]
"""Topic without prefix, partition, offset, stage."""


End = tuple[str, str, str, int]
"""A chunk as it was delivered: its id, its text, its status, and when, in milliseconds of the worker's clock."""


@dataclass
class Evidence:
    """All that is there at the end. Topics in the order of their partitions, tables as ``FINAL`` gives them."""

    drafts: Sequence[Step] = ()
    evaluations: Sequence[tuple[Step, bool]] = ()
    """With whether it was flagged."""
    corrections: Sequence[Step] = ()
    cleaned: Sequence[tuple[str, int, int]] = ()
    """Call, chunk number, attempts."""
    ends: Sequence[End] = ()
    """The same messages, by what they say."""
    letters: Sequence[Letter] = ()
    cleaned_rows: Sequence[tuple[str, int, str]] = ()
    """Call, chunk number, source text."""
    unmerged: Sequence[End] = ()
    """The rows of ``cleaned`` without ``FINAL``: what a reader sees who forgets it."""
    current: Sequence[End] = ()
    """The rows of ``cleaned`` as ``FINAL`` gives them."""
    evaluation_rows: Sequence[Step] = ()
    fragment_rows: Sequence[tuple[str, int, int, int]] = ()
    letter_rows: Sequence[Letter] = ()
    behind: Mapping[str, int] = field(default_factory=dict)
    """Messages not committed, by group."""
    stuck: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """``faults`` says in words what was wrong; empty means that all held."""

    chunks: int
    lost: int
    doubled: int
    redelivered: Mapping[str, int]
    said_otherwise: int
    """Chunks that were cleaned more than once, and not each time with the same text."""
    unmerged: int
    """Rows of ``cleaned`` that were there beside the current one of their chunk."""
    poison: int
    faults: Sequence[str]


def verdict(sent: Sent, found: Evidence) -> Verdict:
    """Judge a run."""
    wanted = set(sent.texts)
    rows = Counter(f"{call}/{number}" for call, number, _ in found.cleaned_rows)
    lost = wanted - rows.keys()
    doubled = [
        *_twice((call, number) for call, number, _ in found.cleaned_rows),
        *_twice(found.evaluation_rows),
        *_twice(found.fragment_rows),
        *_twice(found.letter_rows),
    ]
    scored = {step for step, _ in found.evaluations}
    faults = [
        *_some("chunks have no row in cleaned", lost),
        *_some("ids have more than one row", doubled),
        *_some("rows in cleaned that nobody sent", rows.keys() - wanted),
        *_some("rows in cleaned with another text", _other_text(sent, found)),
        *_some("rows in cleaned that say what no message says", set(found.unmerged) - set(found.ends)),
        *_some("rows in cleaned are not the last that was delivered", _outdated(found)),
        *_some(
            "chunks are not on the topic cleaned", wanted - {f"{call}/{number}" for call, number, _ in found.cleaned}
        ),
        *_some("evaluations have no row", scored - set(found.evaluation_rows)),
        *_some("rows of evaluations that are not on the topic", set(found.evaluation_rows) - scored),
        *_some("chunks whose iterations have a gap", _gaps(scored)),
        *_some("iterations above the bound", _above(found)),
        *_some("drafts out of order", out_of_order(step for step in found.drafts if step[2] == 0)),
        *_some("evaluations out of order", out_of_order(step for step, _ in found.evaluations if step[2] == 0)),
        *_some("cleaned chunks out of order", out_of_order(_accepted_at_first(found))),
        *_letters("on the topic", sent.poison, found.letters),
        *_letters("in the table", sent.poison, found.letter_rows),
        *_some("groups are behind", (f"{group} by {lag}" for group, lag in found.behind.items() if lag)),
        *_some("workers were stuck", found.stuck),
    ]
    redelivered = {
        "drafts": _repeats(found.drafts),
        "evaluations": _repeats(step for step, _ in found.evaluations),
        "corrections": _repeats(found.corrections),
        "cleaned": _repeats((call, number) for call, number, _ in found.cleaned),
        "dead letters": _repeats(found.letters),
    }
    return Verdict(
        chunks=len(wanted),
        lost=len(lost),
        doubled=len(doubled),
        redelivered=redelivered,
        said_otherwise=_repeats(chunk for chunk, _ in {(end[0], end[1]) for end in found.ends}),
        unmerged=len(found.unmerged) - len(found.current),
        poison=len(sent.poison),
        faults=faults,
    )


def out_of_order(steps: Iterable[Step]) -> list[str]:
    """Chunks that first came after a later chunk of their call: a repetition is allowed, a late first time is not."""
    highest: dict[str, int] = {}
    seen: set[Step] = set()
    late = []
    for step in steps:
        call, number, _ = step
        if step in seen:
            continue
        seen.add(step)
        if number < highest.get(call, -1):
            late.append(f"{call}/{number}")
        highest[call] = max(number, highest.get(call, -1))
    return late


def _accepted_at_first(found: Evidence) -> Iterable[Step]:
    """Chunks that were to end at once: never scored, or accepted whenever they were scored. Others overtake by design.

    A chunk that was scored again after a crash may have been flagged one time and not the other: its end may be late.
    """
    flagged = {step[:2] for step, bad in found.evaluations if bad}
    return ((call, number, 0) for call, number, _ in found.cleaned if (call, number) not in flagged)


def _other_text(sent: Sent, found: Evidence) -> list[str]:
    return [
        f"{call}/{number}"
        for call, number, text in found.cleaned_rows
        if sent.texts.get(f"{call}/{number}", text) != text
    ]


def _outdated(found: Evidence) -> list[End]:
    """Of two texts of a chunk the later one is the current one: it may have been asked for and scored again."""
    latest: dict[str, int] = {}
    for chunk, *_, at in found.ends:
        latest[chunk] = max(at, latest.get(chunk, at))
    return [row for row in found.current if row[3] < latest.get(row[0], row[3])]


def _above(found: Evidence) -> list[Step]:
    steps = [*found.drafts, *found.corrections, *(step for step, _ in found.evaluations), *found.evaluation_rows]
    above = [step for step in steps if step[2] > MAX_ITERATION]
    return above + [ended for ended in found.cleaned if ended[2] > MAX_ITERATION + 1]


def _gaps(scored: set[Step]) -> list[Step]:
    return [(call, number, at) for call, number, at in scored if at and (call, number, at - 1) not in scored]


def _letters(where: str, poison: set[Place], letters: Sequence[Letter]) -> list[str]:
    wanted = {(*place, STAGE_OF[place[0]]) for place in poison}
    return [
        *_some(f"poison has no dead letter {where}", wanted - set(letters)),
        *_some(f"dead letters of no poison {where}", set(letters) - wanted),
    ]


def _twice(ids: Iterable[object]) -> list[object]:
    return [one for one, times in Counter(ids).items() if times > 1]


def _repeats(ids: Iterable[object]) -> int:
    return sum(times - 1 for times in Counter(ids).values())


def _some(what: str, ids: Iterable[object]) -> list[str]:
    """A line for what should not be there, with the first few."""
    listed = sorted(map(str, ids))
    return [f"{len(listed)} {what}: {', '.join(listed[:_SHOWN])}"] if listed else []
