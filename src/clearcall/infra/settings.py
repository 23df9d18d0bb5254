"""Settings: defaults, then ``CLEARCALL_…`` in the environment, then a TOML file, then flags, in increasing weight."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from clearcall.infra.settings_sources import (
    ENV_PREFIX,
    BadSettings,
    Described,
    SecretFiles,
    environment_origins,
    problems_of,
    read_toml,
    shown,
    unknown_variables,
)
from clearcall.infra.settings_tables import ConsultantTable, TaskTable, check, tables_of

__all__ = ["SECRETS", "BadSettings", "Described", "Settings", "describe", "load", "unknown_in_environment"]

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]

_HOST_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,/]+):[0-9]{1,5}")


Guard = Literal["number", "negation", "capitalised_new_word", "new_words", "coverage", "order", "speaker_margin"]


class Settings(BaseSettings):
    """Everything that can be set; the field's name in capitals after ``CLEARCALL_`` is its environment variable.

    A secret can also be the content of a file: ``CLEARCALL_DB_PASSWORD_FILE``, ``CLEARCALL_KAFKA_PASSWORD_FILE``, ….
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    # Kafka
    kafka: str = Field("localhost:9092", description="bootstrap servers, host:port, comma separated")
    topic_prefix: str = Field("", description="put before every topic's name")
    group_prefix: str = Field("clearcall", description="put before every consumer group's name")
    partitions: Count = Field(12, description="partitions of every topic: the most workers a stage can use")
    replication: Count = Field(1, description="replicas of every topic; 3 in production")
    kafka_security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = Field(
        "plaintext", description="of the brokers' listener: TLS, a user, both or none"
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="how the user is proved; PLAIN sends the password itself"
    )
    kafka_user: str = Field("", description="where kafka_security is sasl_…; its password is a secret")
    kafka_password: SecretStr = Field(SecretStr(""), description="of kafka_user")
    kafka_ca_file: Path | None = Field(None, description="PEM of who signed the brokers; else the system's authorities")
    kafka_cert_file: Path | None = Field(None, description="PEM of our own certificate, where brokers ask for one")
    kafka_key_file: Path | None = Field(None, description="PEM of that certificate's key, without a passphrase")

    # ClickHouse
    db: str = Field("http://localhost:8123/clearcall", description="http(s)://host:port/database or chdb://path")
    db_user: str = Field("default", description="the server's user; its password is a secret")
    db_password: SecretStr = Field(SecretStr(""), description="of db_user")
    db_ca_file: Path | None = Field(None, description="PEM of who signed an https server; else the usual authorities")

    # Consultant
    consultant: Literal["openai", "vllm", "rules", "recorded"] = Field(
        "openai", description="who cleans: an OpenAI-compatible server, vLLM in process, rules, recorded answers"
    )
    urls: Annotated[tuple[str, ...], NoDecode] = Field(
        ("http://localhost:8000/v1",), description="model servers of one model, comma separated in the environment"
    )
    model: str = Field("", description="as the server names it; empty asks it. For vllm: name on the hub, or folder")
    api_key: SecretStr = Field(SecretStr(""), description="sent to the model servers as a bearer token")
    recording: Path | None = Field(None, description="answers for the recorded consultant")
    decoding: Literal["constrained", "project", "free", "free-then-constrained", "free-then-project"] = Field(
        "constrained", description="how the model is held to what was said; without grammars on the server: project"
    )
    prompt: str = Field("", description="as `clearcall prompt list` names it, or a file of yours; empty is the newest")
    outage: Literal["wait", "degrade"] = Field("wait", description="no model answers: stop acking, or clean by rules")
    request_shape: Literal["window", "chunk"] = Field(
        "window", description="what a request holds: a call's queued chunks, or each chunk alone with those before it"
    )
    window_words: Count = Field(600, description="most words of new speech in one request")
    context_words: Count = Field(120, description="most words of earlier speech shown for context")
    requests_in_flight: Count = Field(32, description="most requests under way per model URL, or in the vllm engine")
    connect_timeout: Seconds = Field(5.0, description="seconds for a connection to a model server or database")
    request_timeout: Seconds = Field(120.0, description="seconds from a request to the end of its answer")

    # vLLM in process
    vllm_max_model_len: Count = Field(4096, description="tokens of prompt and answer")
    vllm_gpu_memory_utilization: Share = Field(0.9, description="share of the GPU's memory for weights and cache")
    vllm_dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field("auto", description="of the loaded weights")
    vllm_quantization: str = Field("", description="such as fp8; empty takes the model as it is")
    vllm_tensor_parallel_size: Count = Field(1, description="GPUs that share the model")
    vllm_enforce_eager: bool = Field(False, description="compile no graphs: starts sooner, answers slower")

    # Scoring
    mode: Literal["paper", "strict"] = Field("strict", description="Algorithm 1 alone, or normalised and with guards")
    threshold: Annotated[float, Field(ge=0, le=100)] = Field(
        80.0, description="of similarity, 0 to 100; below is flagged"
    )
    fragment_words: Count = Field(20, description="most words of a fragment")
    fragment_overlap: Annotated[int, Field(ge=0)] = Field(3, description="words that neighbouring fragments share")
    source_chars: Count = Field(2400, description="characters of the same speaker's speech that count as source")
    reduction_check: Literal["auto", "always", "never"] = Field(
        "auto", description="flag what is no allowed reduction of what was said; auto: not where decoding was free"
    )
    guards_off: Annotated[tuple[Guard, ...], NoDecode] = Field((), description="guards that do not run in strict mode")
    lexicon: Path | None = Field(None, description="file of more fillers that may be left out, one a line")
    policy: Literal["restore", "keep"] = Field("restore", description="a chunk still flagged at the bound")

    # Evaluator agent
    evaluator_agent: Literal["off", "tools"] = Field(
        "off", description="a model that calls the scoring function beside the rules, to count how it distorts texts"
    )
    evaluator_agent_urls: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="its model servers, which take tools; else the consultant's"
    )
    evaluator_agent_model: str = Field("", description="as its server names it; empty asks the server")
    evaluator_agent_share: Share = Field(0.01, description="of scored answers that it is shown")
    evaluator_agent_in_flight: Count = Field(
        4, description="answers that it is shown at once; others are let go meanwhile"
    )
    evaluator_agent_api_key: SecretStr = Field(SecretStr(""), description="sent to evaluator_agent_urls")

    # Several consultants and tasks
    consultants: Annotated[tuple[ConsultantTable, ...], NoDecode] = Field(
        (), description="tables [[consultants]] at a file's end: canaries and shadows; JSON in the environment"
    )
    tasks: Annotated[tuple[TaskTable, ...], NoDecode] = Field(
        (), description="tables [[tasks]] at a file's end: what a chunk passes, in order; JSON in the environment"
    )

    # Delivery
    in_flight: Count = Field(1000, description="most messages under way in one stage")
    in_flight_bytes: Count = Field(67_108_864, description="most bytes of messages under way in one stage")
    retries: Annotated[int, Field(ge=0)] = Field(3, description="of a failing message, before the dead letters")
    dead_letter_run: Count = Field(50, description="unexpected failures in a row that stop the worker")
    dead_letter_share: Share = Field(0.5, description="of the last 200 messages, failed or refused, that stops it")
    unreadable_share: Share = Field(0.998, description="of the last 5,000 messages, not readable, that stops it")
    batch_rows: Count = Field(10_000, description="the sink inserts at this many messages")
    batch_bytes: Count = Field(33_554_432, description="or this many bytes of them")
    batch_seconds: Seconds = Field(1.0, description="or this many seconds after the first")
    # A group forms anew only when all its workers have drained, so a death is healed after session_timeout and this.
    # What a model needs longer for is asked again by the next worker.
    drain_timeout: Seconds = Field(5.0, description="seconds to finish work in flight on a rebalance")
    stop_timeout: Seconds = Field(25.0, description="seconds from SIGTERM to the end; under the orchestrator's 30")
    stall_timeout: Seconds = Field(
        300.0, description="seconds without assignment or progress until the worker exits; over request_timeout"
    )
    # 6 is the least that a broker takes unless it is told otherwise. A worker that is frozen for longer, by its host or
    # by swapping, loses its partitions and does again what it had under way; a larger value heals a death later.
    session_timeout: Seconds = Field(6.0, description="seconds until a dead worker's partitions move")

    # What is seen
    web_port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        0, description="a worker's /health/live, /health/ready and /metrics; 0 is off"
    )
    web_host: str = Field("127.0.0.1", description="address on which web_port listens; 0.0.0.0 is every one")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="events below it are left out")
    log_format: Literal["console", "json"] = Field("console", description="for a person, or one JSON object a line")
    log_text: bool = Field(False, description="let transcript text into logs")

    @field_validator("kafka")
    @classmethod
    def _servers(cls, value: str) -> str:
        servers = [server.strip() for server in value.split(",") if server.strip()]
        if not servers or not all(_HOST_PORT.fullmatch(server) for server in servers):
            raise ValueError("should be host:port, several separated by commas")
        return ",".join(servers)

    @field_validator("db")
    @classmethod
    def _dsn(cls, value: str) -> str:
        if not value.startswith(("http://", "https://", "chdb://")):
            raise ValueError("should begin with http://, https:// or chdb://")
        return value

    @field_validator(
        *("recording", "lexicon", "kafka_ca_file", "kafka_cert_file", "kafka_key_file", "db_ca_file"), mode="before"
    )
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("urls", "evaluator_agent_urls", "guards_off", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("consultants", "tasks", mode="before")
    @classmethod
    def _tables(cls, value: Any, info: ValidationInfo) -> Any:
        return tables_of(value, str(info.field_name))

    @field_validator("urls", "evaluator_agent_urls")
    @classmethod
    def _model_urls(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        needed = info.field_name == "urls"
        if (needed and not value) or not all(url.startswith(("http://", "https://")) for url in value):
            raise ValueError("should be one or more URLs that begin with http:// or https://")
        return tuple(url.rstrip("/") for url in value)

    @model_validator(mode="after")
    def _overlap_inside_fragment(self) -> Self:
        if self.fragment_overlap >= self.fragment_words:
            raise ValueError("fragment_overlap should be less than fragment_words")
        return self

    @model_validator(mode="after")
    def _security_is_whole(self) -> Self:
        if self.kafka_security.startswith("sasl") and not (self.kafka_user and self.kafka_password.get_secret_value()):
            raise ValueError(f"kafka_security {self.kafka_security} needs kafka_user and kafka_password")
        if self.kafka_key_file and not self.kafka_cert_file:
            raise ValueError("kafka_key_file is the key of kafka_cert_file, which is not set")
        return self

    @model_validator(mode="after")
    def _an_engine_has_a_model(self) -> Self:
        if self.consultant == "vllm" and not self.model:
            raise ValueError("consultant vllm needs a model: a name on the hub, or a folder")
        return self

    @model_validator(mode="after")
    def _recorded_answers_have_a_recording(self) -> Self:
        if self.consultant == "recorded" and self.recording is None:
            raise ValueError("consultant recorded needs a recording: a file that `clearcall record` writes")
        return self

    @model_validator(mode="after")
    def _a_slow_answer_is_no_stall(self) -> Self:
        if self.stall_timeout <= self.request_timeout:
            raise ValueError("stall_timeout should be more than request_timeout, or a slow answer would end the worker")
        return self

    @model_validator(mode="after")
    def _tables_fit(self) -> Self:
        check(self.consultants, self.tasks)
        for kind, tables in (("consultants", self.consultants), ("tasks", self.tasks)):
            for table in tables:
                try:
                    self.overridden(table.overrides)
                except ValidationError as error:
                    found = "; ".join(problems_of(error, {}, SECRETS)).replace(", from the default", "")
                    raise ValueError(f"[[{kind}]] {table.name}: {found}") from error
                except ValueError as error:
                    raise ValueError(f"[[{kind}]] {table.name}: {error}") from error
        return self

    def overridden(self, changes: Mapping[str, Any]) -> Self:
        """These settings with ``changes``, for one consultant and task; raises as their validation does."""
        return type(self)(**{**dict(self), "consultants": (), "tasks": (), **changes})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - no dotenv: it is not in the documented order
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - ours names each file in the environment
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What ``load`` gives (file and flags) over the environment, over files that the environment names."""
        return (init_settings, env_settings, SecretFiles(settings_cls))


def load(config: Path | None = None, **flags: Any) -> Settings:
    """The settings of this run; ``flags`` left at ``None`` were not given.

    Raises:
        BadSettings: an unknown key, a value that does not fit, or a file that cannot be read; one line each.
    """
    return _load(config, flags)[0]


def describe(config: Path | None = None, **flags: Any) -> list[Described]:
    """Every setting of this run with where it came from; secrets and passwords inside URLs are masked.

    Raises:
        BadSettings: as ``load`` does.
    """
    settings, origins = _load(config, flags)
    return [
        Described(name, shown(getattr(settings, name)), origins.get(name, "default"), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def unknown_in_environment() -> list[str]:
    """Variables that begin like a setting and set nothing, one line each with what was probably meant."""
    return unknown_variables(Settings.model_fields, SECRETS)


def _load(config: Path | None, flags: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    given = {name: value for name, value in flags.items() if value is not None}
    if secrets := SECRETS & given.keys():
        raise BadSettings([f"{name}: never a flag; set {ENV_PREFIX}{name.upper()}" for name in sorted(secrets)])
    file = read_toml(config, Settings.model_fields, SECRETS) if config else {}
    origins = (
        environment_origins(Settings.model_fields, SECRETS)
        | dict.fromkeys(file, str(config))
        | {name: f"flag --{name.replace('_', '-')}" for name in given}
    )
    try:
        return Settings(**{**file, **given}), origins
    except ValidationError as error:
        raise BadSettings(problems_of(error, origins, SECRETS)) from error


SECRETS = frozenset(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr)
"""Settings that come from the environment or a file it names, never from a flag or the TOML file."""
