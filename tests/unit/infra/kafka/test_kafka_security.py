"""The client arguments of every way to Kafka, and that nothing of ours goes another way."""

import re
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from pydantic import SecretStr, ValidationError

import clearcall
from clearcall.infra.kafka.security import client_arguments
from clearcall.infra.settings import BadSettings, Settings, describe
from clearcall.streams.faust_app import broker_credentials

PASSWORD = "never-to-be-seen"


def settings(**given: Any) -> Settings:
    return Settings(**{"kafka_user": "me", "kafka_password": SecretStr(PASSWORD), **given})


def test_without_security_the_address_is_all() -> None:
    plain = Settings(kafka="a:1,b:2")
    assert client_arguments(plain) == {"bootstrap_servers": "a:1,b:2", "security_protocol": "PLAINTEXT"}
    assert broker_credentials(plain) is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_user_is_given_to_our_clients_and_to_faust(mechanism: str) -> None:
    given = settings(kafka_security="sasl_plaintext", kafka_sasl_mechanism=mechanism)
    arguments = client_arguments(given)
    assert (arguments["security_protocol"], arguments["sasl_mechanism"]) == ("SASL_PLAINTEXT", mechanism)
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("me", PASSWORD)
    credentials: Any = broker_credentials(given)
    assert (credentials.protocol.value, credentials.mechanism.value) == ("SASL_PLAINTEXT", mechanism)
    assert PASSWORD not in repr(credentials)


@pytest.mark.parametrize("security", ["ssl", "sasl_ssl"])
def test_tls_checks_the_brokers_certificate_and_its_name(security: str) -> None:
    context = client_arguments(settings(kafka_security=security))["ssl_context"]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    credentials: Any = broker_credentials(settings(kafka_security=security))
    assert credentials.protocol.value == security.upper()


@pytest.mark.parametrize("security", ["sasl_plaintext", "sasl_ssl"])
@pytest.mark.parametrize("missing", [{"kafka_user": ""}, {"kafka_password": SecretStr("")}])
def test_a_user_without_a_password_and_the_reverse_are_refused(security: str, missing: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="needs kafka_user and kafka_password") as refusal:
        settings(kafka_security=security, **missing)
    assert PASSWORD not in str(refusal.value)


def test_a_key_without_its_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="kafka_cert_file, which is not set"):
        settings(kafka_security="ssl", kafka_key_file=tmp_path / "key")


@pytest.mark.parametrize("content", [None, "", "not a certificate"])
def test_files_that_are_no_certificates_are_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "some.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadSettings, match=r"kafka_ca_file: .*some\.pem"):
        client_arguments(settings(kafka_security="ssl", kafka_ca_file=file))
    with pytest.raises(BadSettings, match=r"kafka_cert_file: .*some\.pem"):
        client_arguments(settings(kafka_security="ssl", kafka_cert_file=file))


def test_a_key_with_a_passphrase_is_refused_instead_of_asking_at_the_terminal(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as pem  # noqa: PLC0415 - only for this

    issued = trustme.CA().issue_cert("client")
    key = pem.load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted = key.private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.TraditionalOpenSSL, pem.BestAvailableEncryption(b"word")
    )
    cert, locked = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(issued.cert_chain_pems[0].bytes())
    locked.write_bytes(encrypted)
    with pytest.raises(BadSettings, match="passphrase"):
        client_arguments(settings(kafka_security="ssl", kafka_cert_file=cert, kafka_key_file=locked))


def test_the_password_is_shown_neither_by_the_settings_nor_by_config_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_KAFKA_PASSWORD", PASSWORD)
    shown = f"{Settings()!r} {Settings()} {describe()}"
    assert PASSWORD not in shown
    assert Settings().kafka_password.get_secret_value() == PASSWORD


def test_a_setting_that_does_not_fit_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARCALL_KAFKA_PASSWORD", PASSWORD)
    monkeypatch.setenv("CLEARCALL_KAFKA_SECURITY", "sasl_ssl")
    with pytest.raises(ValidationError) as refusal:
        Settings()
    assert PASSWORD not in f"{refusal.value} {refusal.value!r}"


def test_every_kafka_client_of_ours_takes_its_arguments_from_one_place() -> None:
    package = Path(clearcall.__file__).parent
    opened = [
        (path.name, opening)
        for path in package.rglob("*.py")
        for opening in re.findall(r"AIOKafka\w+\([^)]*", path.read_text())
    ]
    assert len(opened) >= 6
    assert [name for name, opening in opened if "client_arguments(settings)" not in opening + ")"] == []
