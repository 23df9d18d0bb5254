"""The TOML file of the settings."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from clearcall.infra.settings import BadSettings, Settings, load
from clearcall.infra.team import Team

WORDS = (
    *(f"{name} = " for name in Settings.model_fields),
    *("[[tasks]]\nname = ", "[[consultants]]\nname = ", "share = ", "[", "]]", "'''", '"""', "{a = 1}", "a.b.c = 1"),
    *(r"\U0010FFFF", "1979-05-27T07:32:00Z", "0x", "inf", "nan", "true"),
)


def check(data: bytes) -> None:
    """Any file gives settings, for every consultant and task of its tables, or says what is wrong, a line each."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clearcall.toml"
        path.write_bytes(data)
        with patch.dict(os.environ, {}, clear=True):
            try:
                settings = load(path)
            except BadSettings as error:
                assert error.problems
                assert all(error.problems)
                return
    assert settings.stall_timeout > settings.request_timeout
    team = Team.of(settings)
    for step in range(len(team.tasks)):
        for agent in (team.answerer("call", step), *team.shadows):
            team.settings_of(agent, step)
