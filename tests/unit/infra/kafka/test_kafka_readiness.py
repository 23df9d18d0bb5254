"""A metadata request over a plain socket, against a broker of three lines."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clearcall.infra.kafka.errors import StartFailed
from clearcall.infra.kafka.ports import free_ports
from clearcall.infra.kafka.readiness import brokers_known, wait_until_ready


def _metadata(brokers: int, controller: int) -> bytes:
    one = struct.pack(">ih9sih", 1, 9, b"127.0.0.1", 9092, -1)
    return struct.pack(">ii", 1, brokers) + one * brokers + struct.pack(">ii", controller, 0)


@contextmanager
def _answering(*answers: bytes) -> Iterator[int]:
    """A port on which each connection gets the next answer, as it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                peer, _ = server.accept()
                with peer:
                    (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
                    peer.recv(size, socket.MSG_WAITALL)
                    peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield int(server.getsockname()[1])
        thread.join()


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(("brokers", "controller", "known"), [(1, 1, 1), (3, 2, 3), (3, -1, 0), (0, 1, 0)])
def test_the_brokers_that_serve_are_counted_once_there_is_a_controller(
    brokers: int, controller: int, known: int
) -> None:
    with _answering(_framed(_metadata(brokers, controller))) as port:
        assert brokers_known("127.0.0.1", port) == known


@pytest.mark.parametrize("answer", [_framed(_metadata(2, 1)[:-12]), struct.pack(">i", -5), b"HTTP/1.1 400 Bad Request"])
def test_an_answer_that_is_not_kafkas_is_named(answer: bytes) -> None:
    with _answering(answer) as port, pytest.raises(ValueError, match="answer"):
        brokers_known("127.0.0.1", port)


def test_a_broker_that_hangs_up_is_an_os_error() -> None:
    with _answering(_framed(_metadata(1, 1))[:7]) as port, pytest.raises(OSError, match="hung up"):
        brokers_known("127.0.0.1", port)


def test_waiting_ends_when_all_brokers_are_known() -> None:
    answers = [_framed(_metadata(count, 1)) for count in (1, 2, 3)]
    with _answering(*answers) as port:
        wait_until_ready(port, 3, timeout=60, check=lambda: None)


def test_waiting_for_nobody_has_an_end() -> None:
    (port,) = free_ports(1)
    with pytest.raises(StartFailed, match="not ready after 0 s"):
        wait_until_ready(port, 1, timeout=0, check=lambda: None)


def test_waiting_ends_when_it_is_hopeless() -> None:
    def check() -> None:
        raise StartFailed("it ended")

    with pytest.raises(StartFailed, match="it ended"):
        wait_until_ready(1, 1, timeout=60, check=check)


def test_free_ports_are_different_and_outside_the_range_of_outgoing_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(15_000 <= port < 32_000 for port in ports)


def test_a_port_that_is_listened_on_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    (taken,) = free_ports(1)
    with socket.create_server(("127.0.0.1", taken)):
        monkeypatch.setattr("clearcall.infra.kafka.ports.secrets.randbelow", lambda _: taken - 15_000)
        with pytest.raises(OSError, match="no 1 free ports"):
            free_ports(1)
