"""Where settings come from, and how they and their errors are shown."""

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource
from typing_extensions import override

ENV_PREFIX = "CLEARCALL_"
MASK = "********"

_TABLES = ("consultants", "tasks")
"""What was given for them is never shown: a secret may be in it that should not."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_SECRET_PARAMETER = re.compile(r"(?i)([?&](?:password|api_key|token)=)[^&]*")


class BadSettings(Exception):
    """Settings that cannot be used; ``problems`` has one line for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))


@dataclass(frozen=True, slots=True)
class Described:
    """A setting as shown: its value (secrets masked), where it came from, what it means."""

    name: str
    value: str
    origin: str
    description: str


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from the files that ``CLEARCALL_<NAME>_FILE`` names; the trailing newline is not part of them."""

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        path = os.environ.get(_file_variable(field_name))
        if field.annotation is not SecretStr or not path:
            return None, field_name, False
        try:
            return Path(path).read_text("utf-8").rstrip("\r\n"), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise BadSettings([f"{field_name}: cannot read {path}, named by {_file_variable(field_name)}"]) from error

    @override
    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value is not None}


def read_toml(path: Path, known: Collection[str], secrets: Collection[str]) -> dict[str, Any]:
    """The settings in a TOML file.

    Raises:
        BadSettings: the file cannot be read, is not TOML, has an unknown key or holds a secret.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadSettings([f"{path}: {(error.strerror or 'cannot be read').lower()}"]) from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise BadSettings([f"{path}: not TOML: {error}"]) from error
    except RecursionError as error:
        raise BadSettings([f"{path}: nested too deep"]) from error
    problems = [f"{path}: unknown key {key!r}{_did_you_mean(key, known)}" for key in found if key not in known]
    problems += [
        f"{path}: {key} is a secret, not for this file; set {ENV_PREFIX}{key.upper()} or {_file_variable(key)}"
        for key in found
        if key in secrets
    ]
    if problems:
        raise BadSettings(problems)
    return found


def environment_origins(names: Collection[str], secrets: Collection[str]) -> dict[str, str]:
    """The variable that sets each setting which the environment sets."""
    set_here = {key.upper(): key for key, value in os.environ.items() if value}
    files = {name: set_here.get(_file_variable(name)) for name in secrets}
    direct = {name: set_here.get(f"{ENV_PREFIX}{name.upper()}") for name in names}
    return {name: key for name, key in [*files.items(), *direct.items()] if key}


def unknown_variables(known: Collection[str], secrets: Collection[str]) -> list[str]:
    """Variables that look like settings and are none, with what was probably meant."""
    names = {f"{ENV_PREFIX}{name.upper()}" for name in known} | {_file_variable(name) for name in secrets}
    names.add(f"{ENV_PREFIX}CONFIG")
    found = sorted(key for key in os.environ if key.startswith(ENV_PREFIX) and key not in names)
    return [f"{key} is not a setting{_did_you_mean(key, names)}" for key in found]


def problems_of(error: ValidationError, origins: Mapping[str, str], secrets: Collection[str]) -> list[str]:
    """One line for each problem: the setting, what it should be, what it was and where that came from."""
    lines = []
    for problem in error.errors(include_url=False):
        name = str(problem["loc"][0]) if problem["loc"] else ""
        message = problem["msg"].removeprefix("Value error, ")
        message = message[:1].lower() + message[1:]
        if not name:
            lines.append(message)
            continue
        origin = f"from {origins.get(name, 'the default')}"
        if name in _TABLES:
            lines.append(f"{_place(problem['loc'])}: {message}, {origin}")
            continue
        value = MASK if name in secrets else repr(masked(_written(problem["input"])))
        lines.append(f"{name}: {message}; it is {value}, {origin}")
    return lines


def _place(loc: Iterable[int | str]) -> str:
    """Where in a setting something is wrong, such as ``consultants[0].share``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def _written(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "a number too long to show"


def shown(value: Any) -> str:
    """A setting's value as text, without what should stay secret."""
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, tuple):
        return ", ".join(shown(item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else masked(str(value))


def masked(text: str) -> str:
    """The text with the credentials of the URLs in it replaced."""
    return _SECRET_PARAMETER.sub(rf"\g<1>{MASK}", _CREDENTIALS.sub(f"{MASK}@", text))


def _file_variable(name: str) -> str:
    return f"{ENV_PREFIX}{name.upper()}_FILE"


def _did_you_mean(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
