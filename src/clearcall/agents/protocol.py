"""What the runtime asks of an agent, and how an agent refuses.

AgentError
├── Poison        this message can never be handled: dead letter at once
└── Unavailable   something outside is away: try again until it is back, ack nothing meanwhile
    └── Misconfigured   it is there and refuses us: settings or server need somebody's hand

Any other exception is retried a few times, then dead-lettered.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Protocol, TypeVar

from clearcall.schemas import Incoming, Message, Outgoing

R = TypeVar("R")
M_contra = TypeVar("M_contra", bound=Message, contravariant=True)


class AgentError(Exception):
    """An agent's refusal.

    Args:
        reason: one word for metrics and dead letters.
        detail: what was wrong.
        loggable: ``detail`` is written by clearcall and quotes nobody, so that ``logged`` may have it.
    """

    def __init__(self, reason: str, detail: str, *, loggable: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.logged = detail if loggable else ""


class Poison(AgentError):
    """The message can never be handled."""


class Unavailable(AgentError):
    """A model server, database or broker is away; the message is fine."""


class Misconfigured(Unavailable):
    """It answers, but not to these settings: a wrong address, name or key."""


_PULSE: ContextVar[Callable[[], None]] = ContextVar("pulse", default=lambda: None)


def show_life() -> None:
    """For an agent that waits long: what it waits for has answered, has failed by its own deadline, or is at work.

    The watchdog ends a worker in which nothing of the kind happens for ``stall_timeout`` while messages wait.
    """
    _PULSE.get()()


def watch_life(pulse: Callable[[], None]) -> None:
    """For the runtime: ``pulse`` is called by what runs in the present context, and in tasks made in it."""
    _PULSE.set(pulse)


async def in_thread(work: Callable[[], R], most: float, beat: float = 5.0) -> R:
    """What ``work`` returns, done in a thread; life is shown every ``beat`` seconds, for ``most`` seconds.

    A thread cannot be ended: one that takes longer goes on, and what it returns is lost.

    Raises:
        TimeoutError: it takes longer.
    """
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        for _ in range(max(1, math.ceil(most / beat))):
            done, _pending = await asyncio.wait((working,), timeout=min(beat, most))
            if done:
                return working.result()
            show_life()
    finally:
        working.cancel()
    raise TimeoutError(f"it takes more than {most:g} s")


class Agent(Protocol[M_contra]):
    """Turns a batch of messages of one call (or, for the sink, of any) into messages to send.

    Called again with the same messages after an exception or a crash, so its effects must be idempotent.
    The runtime sends what is returned, waits until Kafka has it, and only then acks the batch.
    """

    async def __call__(self, batch: Sequence[Incoming[M_contra]]) -> Sequence[Outgoing]:
        """Handle ``batch`` (never empty, in offset order within a call).

        Raises:
            Poison: a batch of more than one is halved, down to each message alone.
            Unavailable: the batch is tried again with backoff, without limit.
        """
        ...
