"""The documented TOML file: every setting that a file may hold, with its default and its meaning."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from clearcall.infra.settings import SECRETS, Settings
from clearcall.infra.settings_sources import ENV_PREFIX

_SECTIONS = {
    "kafka": "Kafka",
    "db": "The performance database (ClickHouse)",
    "consultant": "The consultant",
    "vllm_max_model_len": "vLLM in this process, where consultant is vllm",
    "mode": "Scoring",
    "evaluator_agent": "The evaluator agent",
    "consultants": "Several consultants and tasks",
    "in_flight": "Delivery",
    "web_port": "What is seen",
}
"""Each section by its first setting."""

_HEAD = f"""\
# Settings of clearcall. Every line shows a default; remove the # to change it.
# The environment ({ENV_PREFIX}KAFKA for kafka) is weaker than this file, flags are stronger.
# Use it with: clearcall --config clearcall.toml ...   (or {ENV_PREFIX}CONFIG=clearcall.toml)
#
# Secrets are never kept here. Set {ENV_PREFIX}KAFKA_PASSWORD, {ENV_PREFIX}DB_PASSWORD and {ENV_PREFIX}API_KEY, or name
# files that hold them: {ENV_PREFIX}KAFKA_PASSWORD_FILE, {ENV_PREFIX}DB_PASSWORD_FILE and {ENV_PREFIX}API_KEY_FILE.
"""


def example_toml() -> str:
    """The text of ``clearcall.example.toml``."""
    return _HEAD + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        if name in _SECTIONS:
            yield f"\n# {_SECTIONS[name]}\n"
        if name not in SECRETS:
            yield from textwrap.wrap(_meaning(field), 100, initial_indent="# ", subsequent_indent="# ")
            yield f"#{name} = {_literal(field.default)}" if field.default is not None else f'#{name} = ""  # not set'


def _meaning(field: FieldInfo) -> str:
    choices = ", ".join(get_args(field.annotation)) if get_origin(field.annotation) is Literal else ""
    return "; ".join(part for part in (field.description, choices and f"one of {choices}") if part)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str | Path) else str(value)
