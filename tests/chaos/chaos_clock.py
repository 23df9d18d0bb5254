"""``clearcall`` in a process whose clock can jump: python chaos_clock.py FILE worker --stage ...

FILE holds by how many seconds the clock is wrong.
"""

import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_LOOK_SECONDS = 0.2


def main() -> None:
    file = Path(sys.argv.pop(1))
    right = time.time
    wrong_by = 0.0

    def wrong() -> float:
        return right() + wrong_by

    def watch() -> None:
        nonlocal wrong_by
        while True:
            with suppress(OSError, ValueError):
                wrong_by = float(file.read_text())
            time.sleep(_LOOK_SECONDS)

    time.time = wrong
    threading.Thread(target=watch, daemon=True).start()
    from clearcall.streams.cli import main as clearcall  # noqa: PLC0415 - after the clock is set

    clearcall()


main()
