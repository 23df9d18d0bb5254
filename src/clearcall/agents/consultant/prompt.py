"""Prompts: versioned files, and how a request is written into one.

A file has sections that start with ``=== name``. ``system`` and the ``user`` and ``assistant`` examples come first
and never vary, so that a server's prefix cache holds them. What was said stands between fences that it cannot close.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import cast

from clearcall.agents.consultant.backend import ChatMessage, Request, Role
from clearcall.schemas import Attempt, ContextTurn, FragmentScore
from clearcall.scoring.spaces import one_line

CLEAN = "clean-1"
CORRECT = "correct-2"
FORMAT_NUMBERS = "format-numbers-1"

_CORRECTS = "correct-"
"""How the versions begin that only correct."""

SHOWN_FINDINGS = 8
"""Most findings told to the model about one answer; more do not help a small one."""

SHOWN_CHARS = 300
"""Most characters of a finding."""

_FOLDER = files("clearcall.agents.consultant") / "prompts"
_ROLES = ("agent", "caller")
_OPENING = ("system", "user", "assistant")
_PLACES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "request": (("lines",), ("earlier", "count")),
    "earlier": (("turns",), ()),
    "findings": (("findings",), ("lines",)),
}
"""The templates by section: the places that each must have, and those that it may."""
_SECTION = re.compile(r"^=== (\w+)\n", re.MULTILINE)
_FENCE = re.compile(r"<(?=(?:/\s*)?(?:transcript|earlier)\b)", re.IGNORECASE)
_OPENED = re.compile(r"< (?=(?:/\s*)?(?:transcript|earlier)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: ``opening`` is its constant part, ``findings`` there only where it corrects."""

    version: str
    opening: tuple[ChatMessage, ...]
    request: Template
    earlier: Template
    findings: Template


Prompts = Callable[[int], Prompt]
"""The prompt of each iteration."""


def versions() -> list[str]:
    """Every prompt version that there is, in order of its name."""
    return sorted(file.name.removesuffix(".txt") for file in _FOLDER.iterdir() if file.name.endswith(".txt"))


def first_versions() -> list[str]:
    """The prompt versions that ask for a first answer, in order."""
    return [version for version in versions() if not version.startswith(_CORRECTS)]


def text_of(version: str) -> str:
    """A prompt's file; raises ``FileNotFoundError`` for a version that does not exist."""
    return (_FOLDER / f"{version}.txt").read_text(encoding="utf-8")


class UnreadablePrompt(ValueError):
    """The text is no prompt; the message says of which section and what is wrong with it."""


@cache
def load(version: str) -> Prompt:
    """The prompt of that version; raises ``FileNotFoundError`` for one that does not exist."""
    return read_prompt(version, text_of(version))


def read_prompt(version: str, text: str) -> Prompt:
    """The prompt of a file's text.

    Raises:
        UnreadablePrompt: a section is missing, unknown, or does not say where the words go.
    """
    before, *parts = _SECTION.split(text.replace("\r\n", "\n"))
    sections = [(name, body.rstrip("\n")) for name, body in zip(parts[::2], parts[1::2], strict=True)]
    _check(before, sections)
    templates = {name: Template(body) for name, body in sections}
    return Prompt(
        version=version,
        opening=tuple(ChatMessage(cast("Role", name), body) for name, body in sections if name in _OPENING),
        request=templates["request"],
        earlier=templates["earlier"],
        findings=templates.get("findings", Template("")),
    )


def _check(before: str, sections: Sequence[tuple[str, str]]) -> None:
    names = [name for name, _ in sections]
    if before.strip() or not names:
        raise UnreadablePrompt("it should begin with a section, such as === system")
    if missing := [name for name in ("system", "request", "earlier") if name not in names]:
        raise UnreadablePrompt(f"it has no section {', '.join(missing)}")
    for name, body in sections:
        if name not in (*_OPENING, *_PLACES):
            raise UnreadablePrompt(f"there is no section {name}; there are {', '.join((*_OPENING, *_PLACES))}")
        if name in _PLACES and names.count(name) > 1:
            raise UnreadablePrompt(f"it has the section {name} twice")
        needed, allowed = _PLACES.get(name, ((), ()))
        if name in _OPENING:
            continue
        if not Template(body).is_valid():
            raise UnreadablePrompt(f"in section {name} a $ stands alone; write $$ for one")
        used = Template(body).get_identifiers()
        if unknown := [place for place in used if place not in (*needed, *allowed)]:
            raise UnreadablePrompt(
                f"section {name} has no place ${unknown[0]}; it has ${', $'.join((*needed, *allowed))}"
            )
        if absent := [place for place in needed if place not in used]:
            raise UnreadablePrompt(f"section {name} lacks ${absent[0]}")


def version_for(iteration: int) -> str:
    """The prompt version used at an iteration."""
    return CORRECT if iteration else CLEAN


def released(iteration: int) -> Prompt:
    """This release's prompt of an iteration."""
    return load(version_for(iteration))


def prompts_of(first: str) -> Prompts:
    """The prompts that go with one: a version, or a file that ends with ``.txt``; empty is this release's.

    A prompt that knows findings corrects by itself; others are corrected with this release's.

    Raises:
        ValueError: there is no such version, or it is one that only corrects.
        UnreadablePrompt: the file is no prompt.
        OSError: the file cannot be read.
    """
    if not first:
        return released
    if first.endswith(".txt"):
        prompt = read_prompt(Path(first).stem, Path(first).read_text("utf-8"))
    elif first in first_versions():
        prompt = load(first)
    else:
        what = "is for corrections, not for first answers" if first in versions() else "does not exist"
        raise ValueError(f"the prompt {first} {what}; there are {', '.join(first_versions())}, and files *.txt")
    corrections = prompt if prompt.findings.template else load(CORRECT)
    return lambda iteration: corrections if iteration else prompt


def render(request: Request, prompts: Prompts = released) -> list[ChatMessage]:
    """The chat that asks for the request's lines, earlier answers and what was found in them included."""
    prompt = prompts(request.iteration)
    lines = "\n".join(
        f"{number} {role(line.chunk.speaker)}: {fenced(line.text)}" for number, line in enumerate(request.lines, 1)
    )
    question = prompt.request.substitute(
        earlier=_earlier(prompt, request.context), count=len(request.lines), lines=lines
    )
    messages = [*prompt.opening, ChatMessage("user", question)]
    for attempt in request.attempts:
        if attempt.failure:  # there is no line to show, and a stand-in for it would be copied
            continue
        findings = prompt.findings.substitute(findings=_findings(attempt, request), lines=lines)
        messages += [ChatMessage("assistant", _answered(attempt, request)), ChatMessage("user", findings)]
    return messages


def role(speaker: int) -> str:
    """A speaker's name in a prompt."""
    return _ROLES[speaker] if speaker < len(_ROLES) else f"speaker {speaker}"


def fenced(text: str) -> str:
    """The text on one line, unable to open or close a fence."""
    return _FENCE.sub("< ", one_line(text))


def unfenced(text: str, source: str) -> str:
    """The answer to ``source``, which was shown ``fenced``, without the spaces that the fencing put there."""
    return text if fenced(source) == one_line(source) else _OPENED.sub("<", text)


def _earlier(prompt: Prompt, context: Sequence[ContextTurn]) -> str:
    if not context:
        return ""
    turns = "\n".join(f"{role(turn.speaker)}: {fenced(turn.text)}" for turn in context)
    return prompt.earlier.substitute(turns=turns) + "\n"


def _answered(attempt: Attempt, request: Request) -> str:
    """An earlier answer as the assistant's turn; of a chunk in pieces the whole answer would mislead."""
    line = request.lines[0]
    text = "..." if line.parts > 1 else one_line(attempt.cleaned)
    return f"1 {role(line.chunk.speaker)}: {text}"


def _findings(attempt: Attempt, request: Request) -> str:
    line = request.lines[0]
    flagged = [fragment for fragment in attempt.fragments if fragment.flagged]
    if line.parts > 1:
        flagged = [fragment for fragment in flagged if one_line(fragment.source_text) in line.text]
    found = [_finding(fragment, line.text) for fragment in flagged]
    found += [f"- {one_line(flag.reason)[:SHOWN_CHARS]}" for flag in attempt.flags]
    return "\n".join(found[:SHOWN_FINDINGS]) or "- Some words were changed."


def _finding(fragment: FragmentScore, source: str) -> str:
    wrote, said = one_line(fragment.text)[:SHOWN_CHARS], fenced(said_in(source, fragment.source_text))[:SHOWN_CHARS]
    reasons = "; ".join(one_line(flag.reason)[:SHOWN_CHARS] for flag in fragment.flags)
    line = f'- You wrote "{wrote}", said was "{said}"'
    return f"{line} ({reasons})" if reasons else line


def said_in(source: str, window: str) -> str:
    """The whole words of ``source`` that the best match lies on.

    The match may begin within a word or in the speaker's turn before: told as it is, a small model copies that too.
    """
    window = one_line(window)
    match = SequenceMatcher(None, source, window, autojunk=False).find_longest_match()
    if not match.size:
        return source
    start = source.rfind(" ", 0, max(0, match.a - match.b) + 1) + 1
    end = source.find(" ", min(len(source), match.a + len(window) - match.b))
    return source[start : end if end >= 0 else len(source)]
