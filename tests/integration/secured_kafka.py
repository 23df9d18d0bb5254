"""Apache Kafka that listens with TLS and asks for a user, with certificates of a throw-away authority."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme
from cryptography.hazmat.primitives import serialization
from pydantic import SecretStr

from clearcall.infra.kafka.apache import ApacheKafka
from clearcall.infra.settings import Settings

USER = "clearcall"
PASSWORD = "open-sesame-twice"

_PLAIN_LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
)
_SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass(frozen=True)
class Certificates:
    """PEM files of an authority, and of a client that it signed."""

    authority: Path
    stranger: Path
    client_cert: Path
    client_key: Path


@dataclass(frozen=True)
class SecuredKafka:
    """A broker with listeners of every kind."""

    broker: ApacheKafka
    certificates: Certificates

    def settings(self, security: str, **given: Any) -> Settings:
        """Settings that the listener of that security takes."""
        return Settings(
            **{
                "kafka": self.broker.bootstrap_of(security.upper()),
                "kafka_security": security,
                "kafka_ca_file": self.certificates.authority,
                "kafka_user": USER,
                "kafka_password": SecretStr(PASSWORD),
                "kafka_cert_file": self.certificates.client_cert if security == "ssl" else None,
                "kafka_key_file": self.certificates.client_key if security == "ssl" else None,
                **given,
            }
        )


@contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """One broker: TLS with certificates of both sides, a user in the clear, and TLS with a user."""
    certificates, properties = _certificates(folder)
    mechanisms = ("SCRAM-SHA-512", "PLAIN")
    logins = {"SCRAM-SHA-512": _SCRAM_LOGIN, "PLAIN": _PLAIN_LOGIN}
    properties |= {"sasl.enabled.mechanisms": ",".join(mechanisms), "listener.name.ssl.ssl.client.auth": "required"}
    for listener in ("sasl_ssl", "sasl_plaintext"):
        for mechanism in mechanisms:
            name = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            properties[name] = logins[mechanism]
    listeners = ("SSL", "SASL_SSL", "SASL_PLAINTEXT")
    with ApacheKafka(properties=properties, listeners=listeners, scram={USER: PASSWORD}) as broker:
        yield SecuredKafka(broker, certificates)


def _certificates(folder: Path) -> tuple[Certificates, dict[str, str]]:
    authority = trustme.CA()
    server, client = authority.issue_cert("localhost"), authority.issue_cert("clearcall@example.org")
    files = Certificates(
        folder / "authority.pem", folder / "stranger.pem", folder / "client.pem", folder / "client.key"
    )
    authority.cert_pem.write_to_path(files.authority)
    trustme.CA().cert_pem.write_to_path(files.stranger)
    for blob in client.cert_chain_pems:
        blob.write_to_path(files.client_cert, append=True)
    client.private_key_pem.write_to_path(files.client_key)
    keystore = folder / "server.pem"
    keystore.write_bytes(_as_java_wants_it(server.private_key_pem.bytes()))
    for blob in server.cert_chain_pems:
        blob.write_to_path(keystore, append=True)
    return files, {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.authority),
    }


def _as_java_wants_it(key: bytes) -> bytes:
    loaded = serialization.load_pem_private_key(key, None)
    return loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
