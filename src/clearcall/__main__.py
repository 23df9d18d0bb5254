"""The ``clearcall`` command, and ``python -m clearcall``.

A worker takes signals from its first moment: an orchestrator that stops it while it is still being loaded, which
takes about a second, gets the exit code of a worker that stopped, since nothing was taken yet.
"""

import os
import signal
import sys
from collections.abc import Sequence


def main() -> None:
    """Run the command line."""
    if _command(sys.argv[1:]) == "worker":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
    from clearcall.streams.cli import main as command_line  # noqa: PLC0415 - heavy, and after the handlers

    command_line()


def _command(arguments: Sequence[str]) -> str | None:
    """The name of the command: the first argument that is neither an option nor the value of ``--config``."""
    given = iter(arguments)
    for argument in given:
        if argument == "--config":
            next(given, None)
        elif not argument.startswith("-"):
            return argument
    return None


if __name__ == "__main__":
    main()
