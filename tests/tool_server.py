"""Answers of a model that calls tools, as vLLM writes them."""

import json
from typing import Any


def calling(arguments: dict[str, Any] | str, name: str = "score_fragment") -> dict[str, Any]:
    """A chat completion that calls a function; arguments given as text go out as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": text}}
    return {
        "model": "served",
        "choices": [{"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7},
    }


def truly(body: dict[str, Any]) -> dict[str, Any]:
    """A call with just what was shown."""
    said, _, fragment = body["messages"][1]["content"].partition("\n</said>\n<fragment>\n")
    return calling({"fragment": fragment.removesuffix("\n</fragment>"), "source": said.removeprefix("<said>\n")})
