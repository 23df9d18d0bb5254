"""Settings: defaults, then ``CLEARCALL_…`` in the environment, then a TOML file, then flags, in increasing weight."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class Settings(BaseSettings):
    """Everything that can be set; the field's name in capitals after ``CLEARCALL_`` is its environment variable."""

    model_config = SettingsConfigDict(env_prefix="CLEARCALL_", frozen=True, extra="forbid")

    # Kafka
    kafka: str = Field("localhost:9092", description="bootstrap servers, host:port, comma separated")
    topic_prefix: str = Field("", description="put before every topic's name")
    group_prefix: str = Field("clearcall", description="put before every consumer group's name")
    partitions: Count = Field(12, description="partitions of every topic: the most workers a stage can use")
    replication: Count = Field(1, description="replicas of every topic; 3 in production")

    # ClickHouse
    db: str = Field("http://localhost:8123/clearcall", description="http(s)://host:port/database or chdb://path")
    db_user: str = "default"
    db_password: SecretStr = SecretStr("")

    # Consultant
    consultant: Literal["openai", "rules", "recorded"] = "openai"
    urls: Annotated[tuple[str, ...], NoDecode] = ("http://localhost:8000/v1",)
    model: str = Field("", description="as the server names it; empty asks the server")
    api_key: SecretStr = SecretStr("")
    recording: Path | None = Field(None, description="answers for the recorded consultant")
    outage: Literal["wait", "degrade"] = Field("wait", description="no model answers: stop acking, or clean by rules")
    window_words: Count = Field(600, description="most words of new speech in one request")
    context_words: Count = Field(120, description="most words of earlier speech shown for context")
    requests_in_flight: Count = Field(32, description="most requests under way per model URL")
    connect_timeout: Seconds = 5.0
    request_timeout: Seconds = Field(120.0, description="from the request to the end of its answer")

    # Scoring
    mode: Literal["paper", "strict"] = "strict"
    threshold: Annotated[float, Field(ge=0, le=100)] = 80.0
    fragment_words: Count = 20
    fragment_overlap: Annotated[int, Field(ge=0)] = 3
    source_chars: Count = 2400
    policy: Literal["restore", "keep"] = Field("restore", description="a chunk still flagged at the bound")

    # Delivery
    in_flight: Count = Field(1000, description="most messages under way in one agent")
    retries: Annotated[int, Field(ge=0)] = Field(3, description="of a failing message, before the dead letters")
    batch_rows: Count = Field(10_000, description="the sink inserts at this many messages")
    batch_seconds: Seconds = Field(1.0, description="or this long after the first")
    drain_timeout: Seconds = Field(20.0, description="to finish work in flight on a rebalance")
    stop_timeout: Seconds = Field(25.0, description="from SIGTERM to the end; under the orchestrator's 30 s")
    stall_timeout: Seconds = Field(120.0, description="lag without progress, or no assignment: the worker exits")
    session_timeout: Seconds = Field(10.0, description="a dead worker's partitions move after this long")

    # What is seen
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["console", "json"] = "console"
    log_text: bool = Field(False, description="let transcript text into logs")
    web_host: str = "127.0.0.1"
    web_port: Annotated[int, Field(ge=0, le=65535)] = Field(0, description="health and metrics; 0 serves none")

    config_file: ClassVar[Path | None] = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - no dotenv: it is not in the documented order
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags over the file over the environment (pydantic's own order has the environment above a file)."""
        toml = [TomlConfigSettingsSource(settings_cls, cls.config_file)] if cls.config_file else []
        return (init_settings, *toml, env_settings, file_secret_settings)


def load(config: Path | None = None, **flags: Any) -> Settings:
    """The settings of this run; ``flags`` left at ``None`` were not given."""
    given = {name: value for name, value in flags.items() if value is not None}
    class _Configured(Settings):
        config_file = config

    return _Configured(**given)
