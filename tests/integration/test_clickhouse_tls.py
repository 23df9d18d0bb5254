"""ClickHouse by https: the driver's real path, TLS in front of the engine's HTTP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from clearcall.infra.clickhouse import DatabaseAway, check, connect, migrate, status
from clearcall.infra.settings import Settings
from clickhouse_http import PASSWORD, clickhouse_over_http
from tls_relay import with_tls

pytest.importorskip("chdb", reason="the embedded engine is not installed")
pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Served:
    port: int
    authority: Path

    def settings(self, password: str = PASSWORD, authority: Path | None = None) -> Settings:
        return Settings(
            db=f"https://localhost:{self.port}/calls",
            db_password=SecretStr(password),
            db_ca_file=authority or self.authority,
        )


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[str]:
    with clickhouse_over_http(tmp_path / "server") as address:
        yield address


@pytest.fixture
async def served(plain: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with with_tls(plain, tmp_path) as (port, authority):
        yield Served(port, authority)


def applied(settings: Settings) -> int:
    with closing(connect(settings)) as database:
        migrate(database)
        return sum(state.applied_at is not None for state in status(database))


async def test_a_server_whose_authority_is_named_is_used(served: Served) -> None:
    assert await asyncio.to_thread(applied, served.settings()) > 1


async def test_a_server_that_an_unknown_authority_signed_is_not_talked_to(served: Served) -> None:
    unnamed = Settings(db=f"https://localhost:{served.port}/calls", db_password=SecretStr(PASSWORD))
    with pytest.raises(DatabaseAway) as refusal:
        await asyncio.to_thread(connect, unnamed)
    assert PASSWORD not in repr(refusal.value)


async def test_a_wrong_password_is_refused_and_shown_nowhere(served: Served) -> None:
    with pytest.raises(DatabaseAway) as refusal:
        await asyncio.to_thread(connect, served.settings("not the password"))
    assert "not the password" not in f"{refusal.value!r} {refusal.value.__cause__!r}"


async def test_an_authority_that_is_no_certificate_is_said_so(served: Served, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for wrong in (tmp_path / "empty.pem", tmp_path / "missing.pem"):
        with pytest.raises(ValueError, match=rf"db_ca_file: .*{wrong.name} is no PEM"):
            check(served.settings(authority=wrong))
        with pytest.raises(DatabaseAway, match="db_ca_file"):
            await asyncio.to_thread(connect, served.settings(authority=wrong))
