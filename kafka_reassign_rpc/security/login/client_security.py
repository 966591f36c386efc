"""How a connection to Kafka is secured, by the properties of a Java client or of a broker."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.sasl_login import JAAS, SaslLogin, jaas_entry, sasl_login
from kafka_reassign_rpc.security.tls.store_settings import Properties
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_MECHANISM = "GSSAPI"
"""Kafka's default of sasl.mechanism."""


def uses_tls(protocol: str) -> bool:
    return protocol.endswith("SSL")


def uses_sasl(protocol: str) -> bool:
    return protocol.startswith("SASL")


def protocol_named(text: str, setting: str) -> str:
    """The security protocol. Raises BadSetting."""
    found = text.strip().upper()
    if found not in PROTOCOLS:
        raise BadSetting(f"{setting}: expected one of {', '.join(PROTOCOLS)}, got {text!r}")
    return found


class ClientSecurity(NamedTuple):
    """One of PROTOCOLS, with what it needs: TLS (None without it) and a login (None without SASL)."""

    protocol: str = "PLAINTEXT"
    tls: TlsConfig | None = None
    login: SaslLogin | None = None


def client_security(values: Mapping[str, str]) -> ClientSecurity:
    """By the properties of a Java client. Reads no keystore. Raises BadSetting."""
    properties = Properties(values, ("",))
    protocol = protocol_named(properties.text("security.protocol") or "PLAINTEXT", "security.protocol")
    tls = TlsConfig.of(values) if uses_tls(protocol) else None
    login = None
    if uses_sasl(protocol):
        mechanism = properties.text("sasl.mechanism") or DEFAULT_MECHANISM
        login = sasl_login(mechanism, jaas_entry(properties), properties, JAAS)
    return ClientSecurity(protocol, tls, login)
