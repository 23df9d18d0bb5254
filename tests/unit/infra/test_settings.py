"""Where settings come from, and what is said of bad ones."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clearcall.infra.settings import SECRETS, BadSettings, Settings, describe, load, unknown_in_environment
from clearcall.infra.settings_example import example_toml

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CLEARCALL_"):
            monkeypatch.delenv(name)


def toml(folder: Path, text: str) -> Path:
    path = folder / "clearcall.toml"
    path.write_text(text, "utf-8")
    return path


def problems(config: Path | None = None, **flags: Any) -> list[str]:
    with pytest.raises(BadSettings) as caught:
        load(config, **flags)
    return caught.value.problems


def test_without_anything_the_defaults_hold() -> None:
    assert load() == Settings()
    assert {item.origin for item in describe()} == {"default"}


def test_the_file_outweighs_the_environment_and_flags_outweigh_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("MODEL", "THRESHOLD", "RETRIES"):
        monkeypatch.setenv(f"CLEARCALL_{name}", "1")
    config = toml(tmp_path, "threshold = 2\nretries = 2\n")
    settings = load(config, retries=3)
    assert (settings.model, settings.threshold, settings.retries) == ("1", 2.0, 3)
    origins = {item.name: item.origin for item in describe(config, retries=3)}
    assert origins["model"] == "CLEARCALL_MODEL"
    assert origins["threshold"] == str(config)
    assert origins["retries"] == "flag --retries"
    assert origins["kafka"] == "default"


def test_a_flag_that_was_not_given_weighs_nothing(tmp_path: Path) -> None:
    assert load(toml(tmp_path, 'model = "m"'), model=None).model == "m"


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_KAFKA", "")
    assert load().kafka == "localhost:9092"
    assert next(item.origin for item in describe() if item.name == "kafka") == "default"


def test_urls_are_comma_separated_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_URLS", "http://a:1/v1/, http://b:2/v1,")
    assert load().urls == ("http://a:1/v1", "http://b:2/v1")


def test_urls_are_a_list_in_the_file_and_in_flags(tmp_path: Path) -> None:
    assert load(toml(tmp_path, 'urls = ["http://a/v1", "http://b/v1"]')).urls == ("http://a/v1", "http://b/v1")
    assert load(urls=["http://c/v1"]).urls == ("http://c/v1",)
    assert load(urls="http://c/v1,http://d/v1").urls == ("http://c/v1", "http://d/v1")


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_comes_from_the_environment_or_a_file_that_it_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "secret"
    file.write_text("from file\n")
    monkeypatch.setenv(f"CLEARCALL_{name.upper()}_FILE", str(file))
    assert getattr(load(), name).get_secret_value() == "from file"
    assert next(item.origin for item in describe() if item.name == name) == f"CLEARCALL_{name.upper()}_FILE"
    monkeypatch.setenv(f"CLEARCALL_{name.upper()}", "direct")
    assert getattr(load(), name).get_secret_value() == "direct"


def test_a_secrets_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEARCALL_API_KEY_FILE", str(tmp_path / "none"))
    assert problems() == [f"api_key: cannot read {tmp_path / 'none'}, named by CLEARCALL_API_KEY_FILE"]


def test_a_secret_is_never_a_flag() -> None:
    assert problems(db_password="x") == ["db_password: never a flag; set CLEARCALL_DB_PASSWORD"]


def test_a_secret_is_refused_in_the_file_without_showing_it(tmp_path: Path) -> None:
    config = toml(tmp_path, 'api_key = "hunter2"')
    (line,) = problems(config)
    assert line.startswith(f"{config}: api_key is a secret, not for this file; set CLEARCALL_API_KEY")
    assert "hunter2" not in line


def test_secrets_and_passwords_in_urls_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_DB_PASSWORD", "hunter2")
    monkeypatch.setenv("CLEARCALL_DB", "https://me:hunter2@host:8443/x?password=hunter2&secure=1")
    monkeypatch.setenv("CLEARCALL_URLS", "http://key:hunter2@a/v1,http://b/v1")
    shown = {item.name: item.value for item in describe()}
    assert "hunter2" not in str(shown)
    assert shown["db"] == "https://********@host:8443/x?password=********&secure=1"
    assert shown["urls"] == "http://********@a/v1, http://b/v1"
    assert shown["db_password"] == "********"
    assert shown["api_key"] == ""


def test_an_unknown_key_is_named_with_its_file_and_what_was_probably_meant(tmp_path: Path) -> None:
    config = toml(tmp_path, "treshold = 70\nnothing_like_it = 1\n")
    assert problems(config) == [
        f"{config}: unknown key 'treshold'; did you mean 'threshold'?",
        f"{config}: unknown key 'nothing_like_it'",
    ]


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    assert problems(tmp_path / "none.toml") == [f"{tmp_path / 'none.toml'}: no such file or directory"]
    (line,) = problems(toml(tmp_path, "threshold == 3"))
    assert "clearcall.toml: not TOML: " in line
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert "not TOML" in problems(tmp_path / "binary.toml")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kafka = " + "[" * 5000, "nested too deep"),
        ("partitions = " + "1" * 5000, "not TOML"),
        (f"urls = [0x{'f' * 5000}]", "a number too long to show"),
    ],
)
def test_a_file_that_python_itself_cannot_take_in_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in problems(toml(tmp_path, text))[0]


def test_an_engine_in_this_process_needs_a_model() -> None:
    assert problems(None, consultant="vllm") == ["consultant vllm needs a model: a name on the hub, or a folder"]


def test_each_bad_value_is_one_line_with_its_value_and_origin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEARCALL_THRESHOLD", "300")
    config = toml(tmp_path, 'consultant = "magic"')
    assert problems(config, retries=-1) == [
        f"consultant: input should be 'openai', 'vllm', 'rules' or 'recorded'; it is 'magic', from {config}",
        "threshold: input should be less than or equal to 100; it is '300', from CLEARCALL_THRESHOLD",
        "retries: input should be greater than or equal to 0; it is '-1', from flag --retries",
    ]


def test_a_bad_value_never_shows_the_password_inside_it() -> None:
    assert "hunter2" not in problems(db="mysql://me:hunter2@host")[0]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"kafka": "localhost"}, "kafka: should be host:port"),
        ({"kafka": ","}, "kafka: should be host:port"),
        ({"kafka": "a:1,b"}, "kafka: should be host:port"),
        ({"db": "postgres://x"}, "db: should begin with http://, https:// or chdb://"),
        ({"urls": []}, "urls: should be one or more URLs"),
        ({"urls": ["ftp://x"]}, "urls: should be one or more URLs"),
        ({"fragment_words": 3, "fragment_overlap": 3}, "fragment_overlap should be less than fragment_words"),
        ({"no_such": 1}, "no_such: extra inputs are not permitted"),
    ],
)
def test_a_value_that_cannot_work_is_refused(flags: dict[str, Any], said: str) -> None:
    assert problems(None, **flags)[0].startswith(said)


def test_several_kafka_servers_are_kept_in_order() -> None:
    assert load(kafka="a:9092, [::1]:9093").kafka == "a:9092,[::1]:9093"


def test_a_variable_that_sets_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_TRESHOLD", "1")
    monkeypatch.setenv("CLEARCALL_CONFIG", "x.toml")
    monkeypatch.setenv("CLEARCALL_API_KEY_FILE", "x")
    assert unknown_in_environment() == ["CLEARCALL_TRESHOLD is not a setting; did you mean 'CLEARCALL_THRESHOLD'?"]


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().kafka = "x:1"  # type: ignore[misc]


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_example_file_is_current() -> None:
    assert (ROOT / "clearcall.example.toml").read_text("utf-8") == example_toml(), (
        "run clearcall config example > clearcall.example.toml"
    )


def test_the_example_file_with_every_line_active_is_the_defaults(tmp_path: Path) -> None:
    lines = [line[1:] if line.startswith("#") and line[1:2].isalpha() else line for line in example_toml().splitlines()]
    config = toml(tmp_path, "\n".join(lines))
    assert load(config) == Settings()
    from_file = {item.name for item in describe(config) if item.origin == str(config)}
    assert from_file == set(Settings.model_fields) - SECRETS
