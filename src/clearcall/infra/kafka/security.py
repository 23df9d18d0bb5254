"""How our clients reach Kafka: address, TLS, user. The one place that knows."""

import ssl
from typing import Any

from clearcall.infra.settings import Settings
from clearcall.infra.settings_sources import BadSettings


def client_arguments(settings: Settings) -> dict[str, Any]:
    """What every aiokafka client of ours is given.

    Raises:
        BadSettings: a file of the settings cannot be read as what it should be.
    """
    arguments: dict[str, Any] = {
        "bootstrap_servers": settings.kafka,
        "security_protocol": settings.kafka_security.upper(),
    }
    if with_tls(settings):
        arguments["ssl_context"] = tls_context(settings)
    if with_user(settings):
        arguments["sasl_mechanism"] = settings.kafka_sasl_mechanism
        arguments["sasl_plain_username"] = settings.kafka_user
        arguments["sasl_plain_password"] = settings.kafka_password.get_secret_value()
    return arguments


def with_tls(settings: Settings) -> bool:
    """Whether the connection is encrypted."""
    return settings.kafka_security.endswith("ssl")


def with_user(settings: Settings) -> bool:
    """Whether a user is proved."""
    return settings.kafka_security.startswith("sasl")


def tls_context(settings: Settings) -> ssl.SSLContext:
    """TLS that checks the broker's certificate and its name, and shows our own certificate where there is one.

    Raises:
        BadSettings: as ``client_arguments``.
    """
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadSettings([f"kafka_ca_file: {settings.kafka_ca_file} is no PEM of certificates: {error}"]) from error
    if settings.kafka_cert_file:
        try:
            context.load_cert_chain(settings.kafka_cert_file, settings.kafka_key_file, password=_no_passphrase)
        except (OSError, ssl.SSLError) as error:
            named = settings.kafka_key_file or settings.kafka_cert_file
            raise BadSettings(
                [f"kafka_cert_file: {settings.kafka_cert_file} and the key in {named} do not fit: {error}"]
            ) from error
    return context


def _no_passphrase() -> str:
    """Asked for by an encrypted key: OpenSSL would prompt at the terminal instead."""
    raise ssl.SSLError("the key has a passphrase")
