import re

from clearcall.infra.clickhouse.migrations import Migration, load


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [migration.number for migration in load()] == list(range(1, len(load()) + 1))


def test_every_statement_can_be_run_again() -> None:
    repeatable = re.compile(
        r"CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE \w+\s+(ADD|DROP) \w+ IF (NOT )?EXISTS"
    )
    for migration in load():
        for statement in migration.statements:
            assert repeatable.match(statement), statement.splitlines()[0]


def test_no_view_counts_at_insertion() -> None:
    assert not any("MATERIALIZED" in migration.sql.upper() for migration in load())


def test_a_file_is_split_at_semicolons_that_end_a_line() -> None:
    sql = "-- first; not code\nSELECT ';' AS a,\n  1;\n\n  -- second\nSELECT 2;\n"
    assert Migration(1, "x", sql).statements == ("SELECT ';' AS a,\n  1", "SELECT 2")


def test_the_checksum_changes_with_the_file() -> None:
    assert Migration(1, "x", "SELECT 1;").checksum != Migration(1, "x", "SELECT 2;").checksum
