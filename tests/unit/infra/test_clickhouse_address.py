import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clearcall.infra.clickhouse import DatabaseAway, Embedded, Server, parse
from clearcall.infra.clickhouse.address import refuse_if_locked


@pytest.mark.parametrize(
    ("dsn", "path"),
    [
        ("chdb://./out/db", Path("out/db")),
        ("chdb://out/db", Path("out/db")),
        ("chdb:///var/db", Path("/var/db")),
        ("chdb:///a%20b", Path("/a b")),
    ],
)
def test_a_chdb_address_names_a_folder(dsn: str, path: Path) -> None:
    assert parse(dsn) == Embedded(path, "clearcall")


def test_a_chdb_address_may_name_another_database() -> None:
    assert parse("chdb:///x?database=trial") == Embedded(Path("/x"), "trial")


@pytest.mark.parametrize(
    ("dsn", "server"),
    [
        ("http://db:9000/calls", Server("db", 9000, secure=False, database="calls")),
        ("http://db", Server("db", 8123, secure=False, database="clearcall")),
        ("https://db/calls", Server("db", 8443, secure=True, database="calls")),
        ("http://[::1]:8123/calls", Server("::1", 8123, secure=False, database="calls")),
    ],
)
def test_a_server_address_has_clickhouse_ports_by_default(dsn: str, server: Server) -> None:
    assert parse(dsn) == server


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "db",
        "postgres://db/x",
        "chdb://",
        "http://",
        "http://db/a b",
        "chdb:///x?database=a;b",
        "chdb://~no-such-user/x",
    ],
)
def test_an_address_that_cannot_be_read_is_refused(dsn: str) -> None:
    with pytest.raises(ValueError, match=r"address|folder|name"):
        parse(dsn)


def test_a_server_s_address_is_written_as_it_is_read() -> None:
    assert str(parse("https://[::1]/calls")) == "https://[::1]:8443/calls"


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="CLEARCALL_DB_PASSWORD") as refused:
        parse("http://me:hunter2@db/calls")
    assert "hunter2" not in str(refused.value)


def test_a_folder_without_a_status_file_is_free(tmp_path: Path) -> None:
    refuse_if_locked(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatabaseAway, match="is a file, not a folder"):
        refuse_if_locked(tmp_path / "file")


def test_a_folder_whose_process_ended_is_free(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("PID: 1\n")
    refuse_if_locked(tmp_path)


def test_a_folder_open_in_this_process_is_free_for_it_whatever_id_is_written_there(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("PID: 1\n")
    with status.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refuse_if_locked(tmp_path)


@pytest.mark.parametrize("written", [4711, os.getpid()], ids=["its own id", "in a container the id is ours"])
def test_a_folder_open_in_another_process_is_refused_with_that_process(tmp_path: Path, written: int) -> None:
    hold = (
        "import fcntl, sys; status = open(sys.argv[1], 'w'); status.write(f'PID: {sys.argv[2]}\\n'); "
        "status.flush(); fcntl.flock(status, fcntl.LOCK_EX); print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "status"), str(written)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(DatabaseAway, match=f"open in process {written}: "):
            refuse_if_locked(tmp_path)
        other.communicate(b"\n")
