"""JSON Schema of the messages, for those who write to our topics or read from them."""

from pathlib import Path
from typing import Any

import orjson

from clearcall.schemas.topics import Topic


def file_name(topic: Topic) -> str:
    """Where a topic's schema is kept, such as ``transcripts.chunks.v1.json``."""
    return f"{topic.value}.v{topic.message_type.schema_version}.json"


def json_schema(topic: Topic) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a topic's values."""
    message_type = topic.message_type
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{message_type.schema_name}/{message_type.schema_version}",
        **message_type.model_json_schema(mode="validation"),
    }


def schema_bytes(topic: Topic) -> bytes:
    """The JSON Schema as written to its file: sorted and indented, so that a difference reads well."""
    return orjson.dumps(
        json_schema(topic), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def write_schemas(folder: Path) -> list[Path]:
    """Write every topic's schema into ``folder``; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for topic in Topic:
        path = folder / file_name(topic)
        path.write_bytes(schema_bytes(topic))
        written.append(path)
    return written
