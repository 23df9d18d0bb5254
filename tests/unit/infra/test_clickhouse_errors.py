import pytest

from clearcall.infra.clickhouse.errors import DatabaseAway, NotMigrated, QueryRefused, RowsRefused, translate

HOME = "http://db:8123/calls"


@pytest.mark.parametrize("code", [60, 81])
def test_a_missing_table_or_database_names_the_command_that_makes_it(code: int) -> None:
    error = translate(code, "", HOME, inserting=True)
    assert isinstance(error, NotMigrated)
    assert "clearcall db migrate" in str(error)


def test_a_wrong_password_names_the_variables_to_set() -> None:
    error = translate(516, "", HOME, inserting=False)
    assert isinstance(error, DatabaseAway)
    assert "CLEARCALL_DB_PASSWORD" in str(error)


def test_a_server_that_does_not_answer_is_away_and_says_why_in_few_words() -> None:
    error = translate(None, "Max retries … [Errno 111] Connection refused')) executing", HOME, inserting=True)
    assert type(error) is DatabaseAway
    assert str(error) == f"{HOME} does not answer: [Errno 111] Connection refused"


@pytest.mark.parametrize("code", [27, 53, 117, 469])
def test_rows_that_can_never_be_stored_are_refused_without_quoting_them(code: int) -> None:
    error = translate(code, "Cannot parse 'my card number is 4111'", HOME, inserting=True)
    assert type(error) is RowsRefused
    assert "4111" not in str(error)


@pytest.mark.parametrize("code", [241, 252, 242, 999, 12345])
def test_a_database_in_trouble_is_away_so_that_no_row_becomes_a_dead_letter(code: int) -> None:
    assert type(translate(code, "trouble", HOME, inserting=True)) is DatabaseAway


def test_a_statement_that_the_engine_does_not_take_is_refused() -> None:
    assert type(translate(62, "Syntax error", HOME, inserting=False)) is QueryRefused
