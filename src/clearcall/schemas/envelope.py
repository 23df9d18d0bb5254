"""A message with what travels beside it, on its way in and out of an agent."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clearcall.schemas.headers import Headers
from clearcall.schemas.messages import Message
from clearcall.schemas.topics import Topic

M_co = TypeVar("M_co", bound=Message, covariant=True)


@dataclass(frozen=True, slots=True)
class Incoming(Generic[M_co]):
    """A decoded message as an agent gets it."""

    message: M_co
    headers: Headers = field(default_factory=Headers)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that an agent wants sent; the runtime adds key, ids and schema."""

    topic: Topic
    message: Message
    traceparent: str | None = None
    iteration: int | None = None
