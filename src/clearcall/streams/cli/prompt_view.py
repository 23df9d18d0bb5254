"""What came of a prompt's trial, side by side with what was said."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearcall.agents.consultant.prompt import role
from clearcall.agents.consultant.trial import Tried
from clearcall.schemas import Attempt


def show_answers(console: Console, tried: Sequence[Tried], threshold: float) -> None:
    """A row for each turn, then what is to be said of all."""
    table = Table(show_lines=True, expand=True)
    table.add_column("turn", no_wrap=True)
    for title, ratio in (("said", 8), ("wrote", 8), ("flags", 6)):
        table.add_column(title, ratio=ratio, overflow="fold")
    table.add_column("SS", justify="right", no_wrap=True)
    for each in tried:
        table.add_row(*_row(each, threshold))
    console.print(table)
    console.print(Text(_summary(tried)), soft_wrap=True)


def show_requests(console: Console, requests: Sequence[Mapping[str, Any]]) -> None:
    """The requests as they would go out: the chat to read, the other fields as JSON."""
    for number, request in enumerate(requests, 1):
        fields = {name: value for name, value in request.items() if name != "messages"}
        console.print(Text(f"request {number} of {len(requests)}", style="bold cyan"))
        for message in request["messages"]:
            console.print(Text(f"--- {message['role']}", style="dim"))
            console.print(Text(_printable(message["content"])), soft_wrap=True)
        console.print(Text("--- with", style="dim"))
        console.print(Text(json.dumps(fields, indent=2, ensure_ascii=False)), soft_wrap=True)


def _row(tried: Tried, threshold: float) -> tuple[Text, ...]:
    chunk, attempt = tried.draft.chunk, tried.attempt
    place = Text(f"{chunk.chunk_id} {role(chunk.speaker)}")
    said = Text(_printable(chunk.text))
    if attempt is None:
        return place, said, Text(""), Text("nothing to clean: no model is asked", style="dim"), Text("")
    scores = [fragment.ss for fragment in attempt.fragments]
    flags = Text("\n".join(_flags(attempt, threshold)), style="yellow" if attempt.flagged else "green")
    return place, said, Text(_printable(attempt.cleaned)), flags, Text(f"{min(scores):.1f}" if scores else "-")


def _flags(attempt: Attempt, threshold: float) -> Iterator[str]:
    if attempt.failure:
        yield f"no usable answer: {attempt.failure}"
    for fragment in attempt.fragments:
        if fragment.ss < threshold:
            yield f"{fragment.ss:.1f} is below {threshold:g}: {_printable(fragment.text)}"
        yield from (f"{flag.guard}: {_printable(flag.reason)}" for flag in fragment.flags)
    yield from (f"{flag.guard}: {_printable(flag.reason)}" for flag in attempt.flags)
    if not attempt.flagged:
        yield "clean"


def _summary(tried: Sequence[Tried]) -> str:
    asked = [each for each in tried if each.attempt]
    flagged = sum(each.attempt.flagged for each in asked if each.attempt)
    info = (asked or tried)[0].draft.consultant
    tokens = sum(each.draft.completion_tokens for each in tried)
    return (
        f"{len(asked)} turns asked, {flagged} flagged; model {info.model or 'none'}, prompt {info.prompt_version}, "
        f"{info.decoding}, {tokens} tokens written"
    )


def _printable(text: str) -> str:
    """The text without what would move a terminal's cursor; line ends stay."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
