"""Several URLs of one model: which is asked next, and what each asking teaches about its server."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from clearcall.agents.consultant.backend import ModelError
from clearcall.agents.consultant.breaker import Breaker, State
from clearcall.agents.consultant.limits import Limit, Places
from clearcall.agents.consultant.obedience import Obedience
from clearcall.agents.model_servers import Circuit, ServerState, observe
from clearcall.agents.protocol import Unavailable
from clearcall.infra.settings_sources import masked

LONGEST_PAUSE = 20.0
"""Most seconds that a server's Retry-After is obeyed."""

SLOW_SHARE = 0.5
"""Of the request's deadline: an answer that takes longer shows a server with too much in flight."""

log = structlog.get_logger()

T = TypeVar("T")


class Passing(Exception):
    """What another attempt may mend; ``after`` is the delay in seconds that the server asks for.

    ``alive``: it is there, and has too much to do.
    """

    def __init__(self, detail: str, after: float = 0.0, *, alive: bool = False) -> None:
        super().__init__(detail)
        self.after = after
        self.alive = alive


@dataclass(slots=True)
class Server:
    """One URL: its places, how many requests hold or want one, and whether it holds its model to grammars.

    It asked not to be asked before ``paused_until``. ``told`` is its limit as a log event last said it.
    """

    url: str
    places: Places
    breaker: Breaker
    grammars: Obedience
    load: int = 0
    paused_until: float = float("-inf")
    told: int = field(init=False)

    def __post_init__(self) -> None:
        self.told = self.places.limit.size

    def tell_limit(self) -> None:
        """Log the limit where it is half or double of what was logged last."""
        before, now = self.told, self.places.limit.size
        if 2 * now <= before or now >= 2 * before:
            log.info("model_server.limit", url=self.url, requests=now, before=before)
            self.told = now


class Servers:
    """The servers of one model.

    ``in_flight`` is the most requests under way for each, ``request_timeout`` the deadline of one in seconds.
    """

    def __init__(
        self,
        urls: Sequence[str],
        in_flight: int,
        request_timeout: float,
        clock: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._all = [
            Server(
                url.rstrip("/"),
                Places(Limit(in_flight, SLOW_SHARE * request_timeout)),
                Breaker(clock, rng),
                Obedience(clock),
            )
            for url in urls
        ]
        observe(self)

    def states(self) -> dict[str, ServerState]:
        """Each server's state, by URL."""
        return {
            masked(server.url): ServerState(
                server.places.limit.size,
                server.places.held,
                server.places.waiting,
                Circuit[server.breaker.state.name],
            )
            for server in self._all
        }

    def __len__(self) -> int:
        return len(self._all)

    def chosen(self, avoid: Server | None) -> Server:
        """The least loaded server of those that may be asked, another than ``avoid`` and one that is not paused if any.

        Raises:
            Unavailable: none may be asked now.
        """
        able = [server for server in self._all if server.breaker.allows()]
        if not able:
            rest = min(server.breaker.rests() for server in self._all)
            raise Unavailable(
                "model_unavailable",
                f"no model server has answered lately; asked again in {rest:.1f} s",
                loggable=True,
            )
        others = [server for server in able if server is not avoid] or able
        now = self._clock()
        ready = [server for server in others if server.paused_until <= now] or others
        least = min(server.load for server in ready)
        return self._rng.choice([server for server in ready if server.load == least])

    def pause(self) -> float:
        """Seconds until there is a server that did not ask to be left alone."""
        return round(max(0.0, min(server.paused_until for server in self._all) - self._clock()), 3)

    async def watched(self, server: Server, asking: Awaitable[T]) -> T:
        """What is asked of the server; its breaker and its pause learn how it ended."""
        probe = server.breaker.begin()
        lived: bool | None = None  # unknown, as long as nothing but a cancellation ends it
        try:
            answer = await asking
            lived = True
        except Passing as passing:
            lived = passing.alive
            if passing.after:
                server.paused_until = self._clock() + min(LONGEST_PAUSE, passing.after)
            raise
        except (ModelError, Unavailable):
            lived = True
            raise
        else:
            return answer
        finally:
            _learn(server, lived, probe=probe)


def _learn(server: Server, lived: bool | None, *, probe: bool) -> None:
    before = server.breaker.state
    if lived is None:
        server.breaker.abandoned(probe=probe)
    elif lived:
        server.breaker.succeeded()
        if before is not State.CLOSED:
            log.info("model_server.back", url=server.url)
    else:
        server.breaker.failed(probe=probe)
        if server.breaker.state is State.OPEN and before is not State.OPEN:
            log.warning("model_server.left_alone", url=server.url, seconds=round(server.breaker.rests(), 1))
