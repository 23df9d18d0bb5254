"""Bytes to messages and back.

DecodeError
├── Undecodable     not JSON, not the shape, a tombstone
├── UnknownSchema   a name or version we do not read
└── Oversize        larger than Kafka takes
"""

from typing import TypeVar

import orjson
from pydantic import ValidationError

from clearcall.schemas.messages import Message

M = TypeVar("M", bound=Message)

MAX_MESSAGE_BYTES = 1_000_000
"""Largest value sent: under the broker's default ``message.max.bytes`` (1,048,588) with room for key and headers."""

_SHOWN_ERRORS = 5


class DecodeError(Exception):
    """A message that cannot be read; ``reason`` is one word for the dead letter, the text says what was wrong."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Undecodable(DecodeError):
    """Not JSON, not an object of the wanted shape, or a tombstone."""


class UnknownSchema(DecodeError):
    """A schema name or version that this clearcall does not read."""


class Oversize(DecodeError):
    """A message larger than ``MAX_MESSAGE_BYTES``."""


def encode(message: Message) -> bytes:
    """The message as JSON.

    Raises:
        Oversize: Kafka would refuse it.
        Undecodable: a text holds a lone surrogate, which is no character and has no place in UTF-8.
    """
    try:
        value = orjson.dumps(message.model_dump(mode="python"))
    except orjson.JSONEncodeError as error:
        raise Undecodable("not_text", f"{message.schema_name}: {error}") from error
    if len(value) > MAX_MESSAGE_BYTES:
        raise Oversize(
            "oversize",
            f"{message.schema_name} of {len(value)} bytes, at most {MAX_MESSAGE_BYTES} fit: "
            "what was said at such length should be sent as several chunks",
        )
    return value


def schema_of(message_type: type[Message]) -> str:
    """The ``schema`` header, such as ``clearcall.chunk/1``."""
    return f"{message_type.schema_name}/{message_type.schema_version}"


def decode(message_type: type[M], value: bytes | None, schema: str | None = None) -> M:
    """Read one message.

    Args:
        message_type: what the topic carries.
        value: the record's value; ``None`` is a tombstone.
        schema: the ``schema`` header; absent means the current version, since recognisers may not set it. Earlier
            versions are read too: what they lack has a default.

    Raises:
        DecodeError: with a reason for the dead letter; never shows the text of the message.
    """
    if value is None:
        raise Undecodable("tombstone", "the record has no value")
    if len(value) > MAX_MESSAGE_BYTES:
        raise Oversize("oversize", f"{len(value)} bytes, at most {MAX_MESSAGE_BYTES} are read: send it in parts")
    if schema is not None and schema not in _read(message_type):
        raise UnknownSchema("unknown_schema", f"schema {schema[:80]!r}, this topic carries {schema_of(message_type)!r}")
    try:
        content = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise Undecodable("not_json", f"not JSON: {error.msg} at byte {error.pos}") from error
    try:
        return message_type.model_validate(content)
    except ValidationError as error:
        raise Undecodable("wrong_shape", _describe(error)) from error


def _read(message_type: type[Message]) -> list[str]:
    """The ``schema`` headers that are read."""
    return [f"{message_type.schema_name}/{version}" for version in range(1, message_type.schema_version + 1)]


def _describe(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [f"{'.'.join(map(str, item['loc'])) or 'message'}: {item['msg']}" for item in found[:_SHOWN_ERRORS]]
    more = len(found) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
