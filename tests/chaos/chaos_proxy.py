"""A TCP proxy that can be cut: the network between a worker and what it needs."""

import asyncio
from contextlib import suppress

_BYTES = 65_536


class Proxy:
    """Passes bytes from ``port`` to ``target`` on 127.0.0.1, until it is told not to."""

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self._target = target
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen, and let bytes pass."""
        self._flowing.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def refuse(self) -> None:
        """End every connection and take no new one: what a host does whose process is gone."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        if self._connections:
            await asyncio.wait(tuple(self._connections))

    def freeze(self) -> None:
        """Let no byte pass, with every connection open: what a cut cable looks like."""
        self._flowing.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._flowing.wait()
            there, to_target = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                await self._both_ways((reader, to_target), (there, writer))
            finally:
                to_target.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # ends this connection, whoever is at fault
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _both_ways(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        pumps = [asyncio.create_task(self._pump(*way)) for way in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while content := await reader.read(_BYTES):
                await self._flowing.wait()
                writer.write(content)
                await writer.drain()
