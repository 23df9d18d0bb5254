"""ClickHouse's HTTP interface, as far as the driver uses it, in front of the embedded engine: for tests only.

What is real: the driver's HTTP path, the wire format, the SQL engine. What is not: a server's users, sessions, limits.
"""

import base64
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

chdb: Any = import_module("chdb")  # neither has types
lz4: Any = import_module("lz4.frame")

PASSWORD = "correct horse"

_NOT_SETTINGS = re.compile(
    r"query|query_id|database|wait_end_of_query|enable_http_compression|client_protocol_version|param_.*|"
    r"send_progress_in_http_headers|http_headers_progress_interval_ms|session_.*"
)
_FORMAT = re.compile(rb"\s+FORMAT\s+(\w+)\s*$", re.IGNORECASE)
_INSERT = re.compile(rb"(INSERT INTO .*?)\s+FORMAT\s+(\w+)\s*\n", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"Code: (\d+)")

Around = Callable[[bytes], AbstractContextManager[None]]
"""What a test puts around the run of a statement: time, a ``RuntimeError`` of the engine, or ``NoAnswer``."""


class NoAnswer(Exception):
    """The connection ends without an answer; raised behind the statement, it has been run all the same."""


@contextmanager
def clickhouse_over_http(
    folder: Path, port: int = 0, around: Around = lambda _statement: nullcontext()
) -> Iterator[str]:
    """Serve the engine in ``folder`` on ``port``, or a free one; gives ``host:port``. User ``default``."""
    kept = chdb.connect(str(folder))  # the engine lives as long as a connection does
    lock = threading.Lock()

    class Handler(_Handler):
        def run(self, sql: bytes, parameters: dict[str, str]) -> bytes:
            with around(sql), lock:
                return _run(str(folder), sql, parameters)

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        kept.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def run(self, sql: bytes, parameters: dict[str, str]) -> bytes:
        raise NotImplementedError

    def do_POST(self) -> None:
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        try:
            body = self._body()
        except RuntimeError as error:  # the driver spoils an insert on purpose where it could not build it
            self._answer(500, f"Code: 354. DB::Exception: {error} (ZLIB_INFLATE_FAILED)".encode(), "354")
            return
        if self.headers.get("Authorization") != f"Basic {base64.b64encode(f'default:{PASSWORD}'.encode()).decode()}":
            self._answer(403, b"Code: 516. DB::Exception: Authentication failed (AUTHENTICATION_FAILED)", "516")
            return
        try:
            answer = self.run(parameters.pop("query", "").encode() + body, parameters)
        except RuntimeError as error:
            code = _CODE.search(str(error))
            self._answer(500, str(error).encode(), code[1] if code else "0")
            return
        except NoAnswer:
            self.close_connection = True
            return
        self._answer(200, answer)

    do_GET = do_POST  # noqa: N815 - http.server's name

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline().strip(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            content = b"".join(parts)
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return lz4.decompress(content) if self.headers.get("Content-Encoding") == "lz4" else content

    def _answer(self, status: int, content: bytes, code: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # so that none outlives the server
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        with suppress(BrokenPipeError):
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        pass


def _run(folder: str, sql: bytes, parameters: dict[str, str]) -> bytes:
    connection = chdb.connect(folder)  # of its own, so that USE and SET end with the request
    try:
        if database := parameters.get("database"):
            connection.query(f"USE {database}")
        for name, value in parameters.items():
            if not _NOT_SETTINGS.fullmatch(name):
                quoted = value.replace("\\", "\\\\").replace("'", "\\'")
                connection.query(f"SET {name} = '{quoted}'")
        insert = _INSERT.match(sql)
        if insert:
            return _insert(connection, insert, sql[insert.end() :])
        form = _FORMAT.search(sql)
        query = sql[: form.start()] if form else sql
        bound = {name.removeprefix("param_"): value for name, value in parameters.items() if name.startswith("param_")}
        result = connection.query(query.decode(), form[1].decode() if form else "TabSeparated", params=bound)
        return bytes(result.bytes() or b"")
    finally:
        connection.close()


def _insert(connection: Any, insert: re.Match[bytes], rows: bytes) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".native") as file:
        file.write(rows)
        file.flush()
        connection.query(f"{insert[1].decode()} FROM INFILE '{file.name}' FORMAT {insert[2].decode()}")
    return b""
