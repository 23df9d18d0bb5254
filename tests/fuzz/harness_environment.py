"""Settings from the environment: each line a variable, without the prefix; ``…_FILE`` is given the file's content."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from fuzz_parts import text_of

from clearcall.infra.clickhouse import address
from clearcall.infra.settings import SECRETS, BadSettings, Settings, describe, load, unknown_in_environment

WORDS = (
    *(f"{name.upper()}=" for name in Settings.model_fields),
    "_FILE=",
    "nan",
    "inf",
    "1e999",
    "http://u:p@h/",
    "\n",
)


def check(data: bytes) -> None:
    """Any environment gives settings or says what is wrong, a line each; secrets are never shown."""
    with TemporaryDirectory() as folder, patch.dict(os.environ, _variables(data, Path(folder)), clear=True):
        unknown_in_environment()
        try:
            settings, shown = load(), describe()
        except BadSettings as error:
            assert error.problems
            assert all(error.problems)
            return
    values = {item.name: item.value for item in shown}
    assert values.keys() == Settings.model_fields.keys()
    assert all(values[name] in {"", "********"} for name in SECRETS)
    try:
        assert str(address.parse(settings.db))
    except ValueError as error:
        assert str(error)


def _variables(data: bytes, folder: Path) -> dict[str, str]:
    variables: dict[str, str] = {}
    for number, line in enumerate(data.replace(b"\0", b"").split(b"\n")):
        name, given, value = line.partition(b"=")
        if not given:
            continue
        if name.endswith(b"_FILE") and name[:-5].decode("ascii", "replace").lower() in SECRETS:
            path = folder / str(number)
            path.write_bytes(value)
            value = os.fsencode(path)
        variables["CLEARCALL_" + text_of(name)] = text_of(value)
    return variables
