"""Addresses of the database."""

from fuzz_parts import text_of

from clearcall.infra.clickhouse.address import Server, parse

WORDS = (
    "http://",
    "https://",
    "chdb://",
    "localhost",
    ":8123",
    "/clearcall",
    "?database=",
    "~",
    "%2F",
    "[::1]",
    "@",
    "#",
)


def check(data: bytes) -> None:
    """An address is read, or refused without a word of its password; a server's is written and read again the same."""
    try:
        address = parse(text_of(data))
    except ValueError as error:
        assert str(error)
        return
    if isinstance(address, Server):
        assert parse(str(address)) == address
