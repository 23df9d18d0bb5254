"""Whether a server holds its model to grammars, as far as is known, and when one that did not is tried again."""

from collections.abc import Callable

REST = 300.0
"""Seconds until a server that takes no grammars is sent one again: it may have been started anew, with other flags."""


class Obedience:
    """What is known of one server. ``clock`` gives seconds that only grow.

    Without I/O: whoever asks says what came of it. Requests that began before the last change teach nothing.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changed_at = float("-inf")
        self._again_at = float("-inf")
        self.obeys = True

    def asks(self) -> bool:
        """Whether a request that begins now carries its grammar; of many one alone where the server is tried again."""
        now = self._clock()
        if not self.obeys and now < self._again_at:
            return False
        if not self.obeys:
            self._again_at = now + REST
        return True

    def obeyed(self, began: float) -> bool:
        """The answer to a request that began then is by its grammar; whether that is news."""
        return self._learn(began, obeys=True)

    def failed(self, began: float) -> bool:
        """It is not, or grammars are refused; whether that is news."""
        return self._learn(began, obeys=False)

    def _learn(self, began: float, *, obeys: bool) -> bool:
        if obeys == self.obeys or began < self._changed_at:
            return False
        self.obeys = obeys
        self._changed_at = self._clock()
        self._again_at = self._changed_at + REST
        return True
