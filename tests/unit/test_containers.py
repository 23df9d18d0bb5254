"""What can be said of the compose file and the Dockerfile without a Docker engine."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from clearcall.infra.settings import Settings
from clearcall.streams.cli import app
from clearcall.streams.stages import STAGES

ROOT = Path(__file__).parents[2]
ENV_PREFIX = "CLEARCALL_"
SECRET = re.compile(r"PASSWORD|KEY|TOKEN|SECRET")
FROM_OUTSIDE = re.compile(r"\$\{\w+:(\?.+|-)\}")  # required, or empty where it is not set
WORKERS = ("consultant", "evaluator", "sink")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.kafka.yml").read_text())["services"]
    return services


def _seconds(duration: str) -> float:
    amount, unit = re.fullmatch(r"(\d+)([sm])", duration).groups()  # type: ignore[union-attr]
    return float(amount) * (60 if unit == "m" else 1)


def test_every_image_is_pinned_to_a_version(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        image, _, tag = service["image"].partition(":")
        assert (image == "clearcall" and "build" in service) or re.fullmatch(r"v?\d+\.\d+\.\d+(\.\d+)?", tag), name


def test_every_service_that_stays_has_a_health_check_a_restart_and_time_to_stop(
    services: dict[str, dict[str, Any]],
) -> None:
    staying = {name: service for name, service in services.items() if name not in {"topics", "migrations"}}
    assert set(staying) == {"kafka", "clickhouse", "vllm", *WORKERS}
    for name, service in staying.items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["restart"] == "unless-stopped", name
        assert "stop_grace_period" in service, name


def test_a_workers_health_is_asked_at_its_web_port(services: dict[str, dict[str, Any]]) -> None:
    asked = "http://127.0.0.1:8080/health/ready"
    for name in WORKERS:
        assert services[name]["environment"]["CLEARCALL_WEB_PORT"] == "8080"
        assert asked in services[name]["healthcheck"]["test"][-1]
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "CLEARCALL_WEB_PORT=8080" in dockerfile
    assert asked in dockerfile


def test_nothing_secret_is_written_down(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if SECRET.search(variable):
                assert FROM_OUTSIDE.fullmatch(value), f"{name}: {variable}"


def test_a_missing_password_is_asked_for(services: dict[str, dict[str, Any]]) -> None:
    assert services["sink"]["environment"]["CLEARCALL_DB_PASSWORD"].startswith("${CLEARCALL_DB_PASSWORD:?")
    assert services["clickhouse"]["environment"]["CLICKHOUSE_PASSWORD"].startswith("${CLEARCALL_DB_PASSWORD:?")


def test_every_setting_of_clearcall_exists(services: dict[str, dict[str, Any]]) -> None:
    dockerfile = set(re.findall(r"\bCLEARCALL_\w+(?==)", (ROOT / "Dockerfile").read_text()))
    given = {name for service in services.values() for name in service.get("environment", {})}
    ours = dockerfile | {name for name in given if name.startswith(ENV_PREFIX)}
    assert "CLEARCALL_KAFKA" in ours
    assert {name.removeprefix(ENV_PREFIX).lower() for name in ours} <= set(Settings.model_fields)


def test_every_stage_has_a_worker_and_every_command_exists(services: dict[str, dict[str, Any]]) -> None:
    commands = typer.main.get_command(app)
    for name, service in services.items():
        if service["image"].partition(":")[0] != "clearcall":
            continue
        context = commands.make_context("clearcall", [*service["command"], "--help"], resilient_parsing=True)
        words = [word for word in service["command"] if not word.startswith("--")]
        command: Any = commands
        for word in words:
            found = getattr(command, "get_command", lambda *_: None)(context, word)
            if found is None:
                break
            command = found
        assert not hasattr(command, "get_command"), f"{name}: {service['command']}"
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in service["command"] if word.startswith("--")} <= known, name
    assert {services[name]["command"][-1] for name in WORKERS} <= set(STAGES)
    assert all(services[name]["command"][:2] == ["worker", "--stage"] for name in WORKERS)


def test_a_worker_starts_after_its_topics_and_tables_and_may_finish_its_work(
    services: dict[str, dict[str, Any]],
) -> None:
    for name in WORKERS:
        service = services[name]
        for before in ("topics", "migrations"):
            assert service["depends_on"][before]["condition"] == "service_completed_successfully"
        stop_timeout = float(service["environment"]["CLEARCALL_STOP_TIMEOUT"])
        assert _seconds(service["stop_grace_period"]) > stop_timeout


def test_kafka_and_clickhouse_keep_their_data_and_are_reached_from_this_machine_only(
    services: dict[str, dict[str, Any]],
) -> None:
    for name in ("kafka", "clickhouse"):
        assert services[name]["volumes"]
        assert all(port.startswith("127.0.0.1:") for port in services[name]["ports"])


def test_the_model_server_is_started_only_where_it_is_asked_for(services: dict[str, dict[str, Any]]) -> None:
    assert services["vllm"]["profiles"] == ["gpu"]
    assert services["consultant"]["depends_on"]["vllm"] == {"condition": "service_healthy", "required": False}


def test_the_image_is_pinned_runs_as_nobody_special_and_has_a_health_check() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    froms = [line for line in lines if line.startswith("FROM ")]
    assert len(froms) == 2
    assert all(re.match(r"FROM python:3\.\d+(-slim)?-bookworm", line) for line in froms)
    last_stage = lines[lines.index(froms[-1]) :]
    assert "USER 10001" in last_stage
    assert 'ENTRYPOINT ["clearcall"]' in last_stage
    assert any(line.startswith("HEALTHCHECK ") for line in last_stage)


def test_the_image_is_built_from_the_package_alone() -> None:
    rules = (ROOT / ".dockerignore").read_text().split("\n")
    assert "*" in rules
    assert {rule[1:] for rule in rules if rule.startswith("!")} == {
        "src",
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
    }
