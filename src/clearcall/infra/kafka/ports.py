"""Free ports for brokers that may be stopped and started again on the same port."""

import secrets
import socket

# Below every system's usual range for outgoing connections: a client that retries a stopped broker's port from the
# same range can connect to itself, and any outgoing connection can take the port before the broker is back.
_LOWEST, _HIGHEST = 15_000, 32_000
_TRIES = 200


def free_ports(count: int) -> list[int]:
    """Different ports on 127.0.0.1 that nothing listens on now.

    Raises:
        OSError: none was found.
    """
    found: set[int] = set()
    for _ in range(_TRIES * count):
        port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST)
        if port not in found and _is_free(port):
            found.add(port)
        if len(found) == count:
            return sorted(found)
    raise OSError(f"no {count} free ports between {_LOWEST} and {_HIGHEST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
