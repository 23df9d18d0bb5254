"""TLS in front of a plain server, with a certificate of a throw-away authority: for tests only."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trustme


@asynccontextmanager
async def with_tls(address: str, folder: Path) -> AsyncIterator[tuple[int, Path]]:
    """Relay to ``host:port``; gives the port of ``localhost`` and the PEM file of who signed its certificate."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(file)
    host, _, port = address.partition(":")

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    server = await asyncio.start_server(relay, "localhost", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], file


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
    with suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()
