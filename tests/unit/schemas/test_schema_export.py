"""The JSON Schemas that are published with the package."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from clearcall.schemas import Topic
from clearcall.schemas.export import file_name, json_schema, schema_bytes, write_schemas

EXPORTED = Path(str(files("clearcall.schemas"))) / "exported"


def shape(schema: Any) -> Any:
    """The schema without its prose, which may change within a version."""
    if isinstance(schema, dict):
        return {key: shape(value) for key, value in schema.items() if key != "description" or isinstance(value, dict)}
    if isinstance(schema, list):
        return [shape(item) for item in schema]
    return schema


@pytest.mark.parametrize("topic", Topic, ids=str)
def test_a_schema_changes_only_together_with_its_version(topic: Topic) -> None:
    published = json.loads((EXPORTED / file_name(topic)).read_bytes())
    assert shape(json_schema(topic)) == shape(published), (
        f"the schema of {topic} changed: raise {topic.message_type.__name__}.schema_version, "
        f"then run `clearcall schemas export --out {EXPORTED}` and keep the old file"
    )


@pytest.mark.parametrize("topic", Topic, ids=str)
def test_the_published_schemas_have_the_current_prose(topic: Topic) -> None:
    assert (EXPORTED / file_name(topic)).read_bytes() == schema_bytes(topic), "run clearcall schemas export"


def test_a_changed_field_is_a_changed_shape() -> None:
    schema = json_schema(Topic.CHUNKS)
    changed = json.loads(json.dumps(schema))
    changed["properties"]["text"]["maxLength"] = 5
    assert shape(changed) != shape(schema)
    changed = {**schema, "description": "other words"}
    assert shape(changed) == shape(schema)


def test_export_writes_one_file_per_topic(tmp_path: Path) -> None:
    written = write_schemas(tmp_path / "new" / "folder")
    assert [path.name for path in written] == [file_name(topic) for topic in Topic]
    assert json.loads(written[0].read_bytes())["$id"] == "clearcall.chunk/1"
