"""One batch to its end: handled and sent, or dead-lettered. What fails is tried again, and never just dropped."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from clearcall.agents.protocol import Agent, AgentError, Misconfigured, Poison, Unavailable, watch_life
from clearcall.infra.uncaught import place_of
from clearcall.schemas import DecodeError, Headers, Outgoing, Oversize, Topic
from clearcall.streams.counters import Counters
from clearcall.streams.dead_letter import VALUE_BYTES, chain, dead_letter
from clearcall.streams.limit import Outcome, Tally
from clearcall.streams.records import Record, Taken
from clearcall.streams.retry import Abandoned, Patience
from clearcall.streams.sending import Encoded, Sender
from clearcall.streams.unproven import Unproven

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Failure:
    outcome: Outcome
    reason: str
    detail: str
    errors: Sequence[str]
    logged: str = ""


class Settling:
    """Takes batches to their end for one stage.

    Args:
        stage: the stage's name, for dead letters and logs.
        tally: told how messages end; once it has a reason to stop, no dead letter is written any more.
        retries: attempts after the first for an error that is neither ``Poison`` nor ``Unavailable``.
        clock: seconds that only grow; ``now`` is seconds of the epoch.
    """

    def __init__(
        self,
        stage: str,
        sender: Sender,
        patience: Patience,
        counters: Counters,
        tally: Tally,
        *,
        retries: int,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._stage = stage
        self._sender = sender
        self._patience = patience
        self._counters = counters
        self.tally = tally
        self._retries = retries
        self._clock = clock
        self._now = now
        self._unproven = Unproven(tally, patience, self._alive, clock)

    async def settle(self, agent: Agent[Any], batch: Sequence[Taken]) -> None:
        """Return when the batch may be acked.

        A batch that cannot be handled as a whole is halved, down to each message alone.

        Raises:
            Abandoned: the assignment ended; nothing may be acked.
        """
        errors: list[str] = []
        outages = 0
        watch_life(self._alive)
        while True:
            self._alive()
            failure: _Failure | None = None
            try:
                outgoing = await agent([taken.incoming for taken in batch])
                await self._sender.send(self._encoded(batch, outgoing))
            except Abandoned:
                raise
            except Unavailable as error:
                outages += 1
                if isinstance(error, Misconfigured):
                    self._counters.misconfigured = error.logged
                self._log("agent.unavailable", batch, error.reason, outages, error)
                await self._patience.wait(outages)
            except (Poison, Oversize) as error:
                causes = [chain(error)] if error.__cause__ or error.__context__ else []
                failure = _Failure(Outcome.REFUSED, error.reason, str(error), [*errors, *causes], _logged(error))
            except Exception as error:  # noqa: BLE001 - an exception that left here would take the stage with it
                errors.append(chain(error))
                self._log("agent.failed", batch, type(error).__name__, len(errors), error)
                if len(errors) > self._retries:
                    failure = _Failure(Outcome.FAILED, "failed", errors[-1], errors)
                else:
                    await self._patience.wait(len(errors))
            else:
                self.tally.ended(Outcome.HANDLED, len(batch))
                self._counters.misconfigured = ""
                return
            if failure is not None:
                # Outside of the except: what the parts raise must not name this error as what it came from.
                await self._give_up(agent, batch, failure)
                return
            self._counters.retried += 1

    def _alive(self) -> None:
        self._counters.active_at = self._clock()

    async def bury_unreadable(self, record: Record, reason: str, detail: str) -> None:
        """As ``bury``, of a message that cannot be read; held back while this process has read none.

        Raises:
            Abandoned: as there.
        """
        await self._unproven.hold_unreadable()
        await self.bury(record, reason, detail)

    async def bury(
        self, record: Record, reason: str, detail: str, errors: Sequence[str] = (), *, logged: str = ""
    ) -> None:
        """Return when the dead letter of ``record`` is written; ``logged`` is what its log line may say of the detail.

        A Kafka that is away is waited for. A letter that it refuses for its size is written again with less of the
        message; one that it refuses at its smallest, and a dead letter itself, is logged and counted only.

        Raises:
            Abandoned: the assignment ended before it was written, or the limit of dead letters is reached.
        """
        if self.tally.reason is not None:
            await self._patience.hold()
        place: dict[str, str | int] = {
            "topic": record.partition.topic,
            "partition": record.partition.number,
            "offset": record.offset,
        }
        if record.topic is Topic.DEAD_LETTERS:
            self._drop(reason, place)
            return
        traceparent = Headers.parse(record.headers).traceparent
        died_at = self._now()
        for most in VALUE_BYTES:
            letter = dead_letter(
                record,
                stage=self._stage,
                reason=reason,
                detail=detail,
                errors=errors,
                died_at=died_at,
                value_bytes=most,
            )
            try:
                await self._sender.send([self._sender.encode(Outgoing(Topic.DEAD_LETTERS, letter, traceparent))])
            except DecodeError as error:
                log.warning("dead_letter.refused", stage=self._stage, value_bytes=most, error=str(error), **place)
            else:
                self._counters.died(reason)
                said = {"detail": logged} if logged else {}
                log.warning("dead_letter.written", stage=self._stage, reason=reason, **said, **place)
                return
        self._drop(reason, place)

    def _drop(self, reason: str, place: Mapping[str, str | int]) -> None:
        """A letter that can never be stored: held back, it would hold up its partition for good."""
        self._counters.dropped += 1
        log.error("dead_letter.dropped", stage=self._stage, reason=reason, **place)

    async def _give_up(self, agent: Agent[Any], batch: Sequence[Taken], failure: _Failure) -> None:
        if len(batch) == 1:
            self.tally.ended(failure.outcome)
            if failure.outcome is Outcome.FAILED:
                await self._unproven.hold_failure()
            record = batch[0].record
            await self.bury(record, failure.reason, failure.detail, failure.errors, logged=failure.logged)
            return
        middle = len(batch) // 2
        await self.settle(agent, batch[:middle])
        await self.settle(agent, batch[middle:])

    def _encoded(self, batch: Sequence[Taken], outgoing: Sequence[Outgoing]) -> list[Encoded]:
        traceparent = batch[-1].incoming.headers.traceparent
        return [self._sender.encode(one, traceparent) for one in outgoing]

    def _log(self, event: str, batch: Sequence[Taken], reason: str, attempt: int, error: Exception) -> None:
        record = batch[0].record
        log.warning(
            event,
            stage=self._stage,
            reason=reason,
            attempt=attempt,
            messages=len(batch),
            topic=record.partition.topic,
            partition=record.partition.number,
            offset=record.offset,
            where=place_of(error),
            **({"detail": logged} if (logged := _logged(error)) else {}),
        )


def _logged(error: Exception) -> str:
    """The error's text where its maker says that it quotes nobody."""
    return error.logged if isinstance(error, AgentError) else ""
