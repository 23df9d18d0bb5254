"""Prompt files, and the chat that is written with one."""

from fuzz_parts import text_of

from clearcall.agents.consultant.prompt import UnreadablePrompt, read_prompt

WORDS = (
    *(
        "=== system\n",
        "=== user\n",
        "=== assistant\n",
        "=== request\n",
        "=== earlier\n",
        "=== findings\n",
        "$lines",
        "$count",
    ),
    *("$earlier", "$turns", "$findings", "$$", "${", "}"),
)


def check(data: bytes) -> None:
    """A file is a prompt whose templates can be filled, or refused."""
    try:
        prompt = read_prompt("given", text_of(data))
    except UnreadablePrompt as error:
        assert str(error)
        return
    prompt.request.substitute(earlier="", count=1, lines="")
    prompt.earlier.substitute(turns="")
    prompt.findings.substitute(findings="", lines="")
