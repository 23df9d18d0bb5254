"""Whether a broker serves: a metadata request over a plain socket, with no client library and no event loop."""

import socket
import struct
import time
from collections.abc import Callable

from clearcall.infra.kafka.errors import StartFailed

_METADATA, _VERSION = 3, 1  # the oldest version that names the controller; every broker of today still answers it
_CLIENT = b"clearcall"
_PAUSE = 0.05  # seconds between two questions


def brokers_known(host: str, port: int, timeout: float = 5.0) -> int:
    """How many brokers the one at ``host:port`` knows to serve; 0 while the cluster has no controller.

    Raises:
        OSError: nobody answers there, or not within ``timeout`` seconds.
        ValueError: the answer is not Kafka's.
    """
    header = struct.pack(f">hhih{len(_CLIENT)}s", _METADATA, _VERSION, 1, len(_CLIENT), _CLIENT)
    body = header + struct.pack(">i", 0)  # no topics
    with socket.create_connection((host, port), timeout=timeout) as peer:
        peer.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", _exactly(peer, 4))
        return _parse(_exactly(peer, size))


def wait_until_ready(port: int, brokers: int, timeout: float, check: Callable[[], None]) -> None:
    """Return when the broker at ``port`` of 127.0.0.1 knows ``brokers`` brokers; ``check`` raises when it is hopeless.

    Raises:
        StartFailed: not within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        check()
        try:
            if brokers_known("127.0.0.1", port) >= brokers:
                return
        except OSError:
            pass  # not listening yet
        if time.monotonic() > deadline:
            raise StartFailed(f"the broker on port {port} is not ready after {timeout:g} s")
        time.sleep(_PAUSE)


def _exactly(peer: socket.socket, size: int) -> bytes:
    if not 0 <= size < 1 << 20:
        raise ValueError(f"an answer of {size} bytes is not Kafka's")
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise ConnectionResetError("the broker hung up in the middle of its answer")
        data += more
    return data


def _parse(answer: bytes) -> int:
    try:
        _, brokers = struct.unpack_from(">ii", answer)
        at = 8
        for _ in range(brokers):
            at += 4  # node id
            at = _after_string(answer, at) + 4  # host, port
            at = _after_string(answer, at)  # rack
        (controller,) = struct.unpack_from(">i", answer, at)
    except struct.error as error:
        raise ValueError("the answer to a metadata request is cut") from error
    return int(brokers) if controller >= 0 else 0


def _after_string(answer: bytes, at: int) -> int:
    (length,) = struct.unpack_from(">h", answer, at)
    return at + 2 + max(int(length), 0)
