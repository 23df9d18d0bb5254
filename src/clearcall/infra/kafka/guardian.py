"""Holds the processes and the folder of one broker, and takes both away when its owner is gone.

Run as a script, with the folder as its argument. It reads JSON orders, one a line, and answers each with a line:

``{"do": "start", "argv": […], "log": path}``    → ``{"pid": 7}`` or ``{"error": "…"}``
``{"do": "signal", "pid": 7, "signal": 9}``      → ``{}``
``{"do": "poll", "pid": 7}``                     → ``{"code": null}`` while it runs

The end of stdin, which comes however the owner dies, kills every process and removes the folder.
Only the standard library is used: it starts in milliseconds and needs no installed package.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

Children = dict[int, "subprocess.Popen[bytes]"]


def _start(children: Children, argv: list[str], log: str) -> dict[str, Any]:
    with Path(log).open("ab") as out:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # noqa: S603 - its owner's own command
        except OSError as error:
            return {"error": str(error)}
    children[child.pid] = child
    return {"pid": child.pid}


def _obey(children: Children, order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "start":
        return _start(children, order["argv"], order["log"])
    child = children[order["pid"]]
    if order["do"] == "signal":
        child.send_signal(order["signal"])
        return {}
    return {"code": child.poll()}


def main(folder: str) -> None:
    """Serve orders until stdin ends, then leave nothing behind."""
    children: Children = {}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for line in sys.stdin:
            print(json.dumps(_obey(children, json.loads(line))), flush=True)  # noqa: T201 - the answer
    finally:
        for child in children.values():
            child.kill()
        for child in children.values():
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
