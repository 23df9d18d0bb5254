"""When a worker must stop instead of writing dead letters: a fault of ours would empty the topic into them."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from clearcall.infra.settings import Settings


@dataclass(frozen=True, slots=True)
class DeadLetterLimit:
    """How much may go wrong before the messages are no longer to blame.

    A bad deploy fails with every message, and each would go to the dead letters: by the morning the topic is empty,
    and a day of calls has to be replayed by hand. A worker that stops leaves them where they are; its exit is seen,
    and the version before takes them up. What a sender does wrong is another matter: one that sends rubbish must not
    stop the calls of everyone else, however much it sends, so unreadable messages are judged apart and mildly.

    It counts from zero after each start, so an orchestrator that starts a stopped worker at once lets it try again:
    until something was handled no unexpected failure becomes a dead letter, for up to a minute, and until something
    was read one unreadable message a second does (see ``unproven``).

    Args:
        run: unexpected failures in a row, no message succeeding in between. 50: with one message in ten failing by
            itself a run of 50 happens once in 10^50 messages; a bad deploy is there within seconds. A message
            counts when its retries are used up.
        share: of the last ``window`` messages that were handled, those that failed or were refused by an agent.
            0.5: a fault that spares some messages (one branch, one table) has no long run. Ten times what bad
            calls alone have been seen to cause.
        window: messages. 200: enough that a few bad calls, which come together, do not fill half of it.
        unreadable_share: of the last ``unreadable_window`` messages that arrived, those that cannot be decoded.
            0.998: with one good message among a hundred bad ones the share is 0.99, and passing 0.998 by chance is a
            matter of 10^-11; a version that no longer reads its topic has 1.
        unreadable_window: messages. 5,000: at 0.998 ten good ones are enough to go on.
    """

    run: int = 50
    share: float = 0.5
    window: int = 200
    unreadable_share: float = 0.998
    unreadable_window: int = 5_000

    @classmethod
    def of(cls, settings: Settings) -> "DeadLetterLimit":
        """The limit as set."""
        return cls(
            run=settings.dead_letter_run,
            share=settings.dead_letter_share,
            unreadable_share=settings.unreadable_share,
        )


class Outcome(StrEnum):
    """What became of a message that an agent was given."""

    HANDLED = "handled"
    REFUSED = "refused"  # Poison, or too large: the agent knew what it did
    FAILED = "failed"  # an exception that nobody expected, retries used up


class Tally:
    """Counts against a limit; once ``reason`` is set it stays."""

    def __init__(self, limit: DeadLetterLimit) -> None:
        self._limit = limit
        self._run = 0
        self._handled = _Window(limit.window)
        self._arrived = _Window(limit.unreadable_window)
        self.reason: str | None = None
        self.proven = False
        """Something was handled since the start: this version can do it."""
        self.read = False
        """Something was read since the start."""

    def ended(self, outcome: Outcome, messages: int = 1) -> None:
        """Messages that an agent was given came to their end."""
        if outcome is Outcome.HANDLED:
            self._run = 0
            self.proven = True
        elif outcome is Outcome.FAILED:
            self._run += messages
        for _ in range(min(messages, self._limit.window)):
            self._handled.add(bad=outcome is not Outcome.HANDLED)
        if self._run >= self._limit.run:
            self._stop(f"{self._run} messages in a row failed")
        elif self._handled.share >= self._limit.share:
            self._stop(f"{self._handled.bad} of the last {self._limit.window} messages failed or were refused")

    def arrived(self, *, readable: bool) -> None:
        """A message came from Kafka."""
        self.read = self.read or readable
        self._arrived.add(bad=not readable)
        if not readable and self.read:
            self.judge_unreadable()

    def judge_unreadable(self) -> None:
        """Stop where too many cannot be read; while none could it is for who holds them back to ask."""
        if self._arrived.share >= self._limit.unreadable_share:
            self._stop(f"{self._arrived.bad} of the last {self._limit.unreadable_window} messages cannot be read")

    @property
    def undecided(self) -> bool:
        """Nothing was read yet, and too little came to judge by: more must come, whatever waits already."""
        return not self.read and not self._arrived.full

    def _stop(self, reason: str) -> None:
        self.reason = self.reason or f"{reason}; this looks like a fault of this version, not of the messages"


class _Window:
    """The share of bad ones among the last ``length``; 0 until there are so many."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._last: deque[bool] = deque(maxlen=length)
        self.bad = 0

    def add(self, *, bad: bool) -> None:
        if len(self._last) == self._length:
            self.bad -= self._last[0]
        self._last.append(bad)
        self.bad += bad

    @property
    def full(self) -> bool:
        return len(self._last) == self._length

    @property
    def share(self) -> float:
        return self.bad / self._length if self.full else 0.0
