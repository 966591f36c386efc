"""Protocol, TLS and login of a client, by its properties."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.security.login.sasl_login import JAAS, SaslLogin, jaas_entry, sasl_login
from kafka_reassign_rpc.security.properties import Properties
from kafka_reassign_rpc.security.security_protocols import protocol_named, uses_sasl, uses_tls
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig

DEFAULT_MECHANISM = "GSSAPI"


class ClientSecurity(NamedTuple):
    protocol: str = "PLAINTEXT"
    tls: TlsConfig | None = None
    login: SaslLogin | None = None


def client_security(values: Mapping[str, str]) -> ClientSecurity:
    """By the properties of a Java client. Reads no keystore. Raises BadSetting."""
    properties = Properties(values, ("",))
    protocol = _protocol(properties.text("security.protocol"))
    tls = TlsConfig.of(values) if uses_tls(protocol) else None
    login = None
    if uses_sasl(protocol):
        mechanism = properties.text("sasl.mechanism")
        mechanism = DEFAULT_MECHANISM if mechanism is None else mechanism
        login = sasl_login(mechanism, jaas_entry(properties), properties, JAAS)
    return ClientSecurity(protocol, tls, login)


def _protocol(given: str | None) -> str:
    return "PLAINTEXT" if given is None else protocol_named(given, "security.protocol")
