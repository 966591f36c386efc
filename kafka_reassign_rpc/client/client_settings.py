"""The settings of a client, from its configs. Their names are kafka-python's, where it has them."""

import os
import re
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.kerberos import GSSAPI
from kafka_reassign_rpc.security.login.sasl_login import MECHANISMS, OAUTHBEARER, SaslLogin
from kafka_reassign_rpc.security.security_protocols import protocol_named, uses_sasl, uses_tls
from kafka_reassign_rpc.support.host_port import Address, BadAddress, host_ports
from kafka_reassign_rpc.support.secrecy import told, told_names

DEFAULT_PORT = 9092
_ALONE = re.compile(r"(?:[A-Za-z_]+://)?(?:\[[^\[\]]+\]|[^:/\[\],\s]+)")
"""A host without a port, which Kafka's clients refuse and kafka-python does not."""
_OF_TLS = (
    "ssl_context",
    "ssl_check_hostname",
    "ssl_cafile",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_password",
    "ssl_crlfile",
)
_OF_SASL = (
    "sasl_mechanism",
    "sasl_plain_username",
    "sasl_plain_password",
    "sasl_kerberos_service_name",
    "sasl_kerberos_domain_name",
    "sasl_oauth_token_provider",
)


class _Configs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes below 0 mean the system's own."""

    client_id: str = "kafka-reassign-rpc"
    request_timeout_ms: int = 30_000
    bootstrap_timeout_ms: int = 30_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    retry_backoff_ms: int = 100
    connections_max_idle_ms: int = 540_000
    metadata_max_age_ms: int = 300_000
    max_in_flight_requests_per_connection: int = 5
    receive_message_max_bytes: int = 100_000_000
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1
    security_protocol: str = "PLAINTEXT"


class ClientSettings(NamedTuple):
    """`named`: the addresses as given, for messages. `controllers`: they are those of KRaft controllers."""

    named: list[str]
    addresses: tuple[Address, ...]
    controllers: bool
    configs: _Configs
    tls: ssl.SSLContext | None
    login: SaslLogin | None


def client_settings(configs: Mapping[str, Any]) -> ClientSettings:
    """Reads the files of TLS. Raises BadSetting for an unknown or unusable config."""
    rest = dict(configs)
    controllers = "bootstrap_controllers" in rest
    given = rest.pop("bootstrap_controllers" if controllers else "bootstrap_servers", "localhost")
    addresses = _addresses(given)
    of_tls = {name: rest.pop(name) for name in _OF_TLS if name in rest}
    of_sasl = {name: rest.pop(name) for name in _OF_SASL if name in rest}
    unknown = rest.keys() - set(_Configs.__struct_fields__)
    if unknown:
        raise BadSetting(f"Unrecognized configs: {told_names(sorted(unknown))}")
    try:
        found = msgspec.convert({name: value for name, value in rest.items() if value is not None}, _Configs)
    except msgspec.ValidationError as error:
        raise BadSetting(str(error)) from None
    protocol = protocol_named(found.security_protocol, "security_protocol")
    return ClientSettings(
        [text for text, _ in addresses],
        tuple(address for _, address in addresses),
        controllers,
        found,
        _context(of_tls) if uses_tls(protocol) else None,
        _login(of_sasl) if uses_sasl(protocol) else None,
    )


def _addresses(given: str | Iterable[str]) -> list[tuple[str, Address]]:
    texts = (text.strip() for text in (given.split(",") if isinstance(given, str) else given))
    try:
        found = host_ports(f"{text}:{DEFAULT_PORT}" if _ALONE.fullmatch(text) else text for text in texts)
    except BadAddress as error:
        raise BadSetting(str(error)) from None
    if not found:
        raise BadSetting("No bootstrap.servers are given")
    return [(text, address._replace(host=address.host or "localhost")) for text, address in found]


def _context(configs: Mapping[str, Any]) -> ssl.SSLContext:
    given = configs.get("ssl_context")
    if given is not None:
        if not isinstance(given, ssl.SSLContext):
            raise BadSetting("ssl_context: expected an ssl.SSLContext")
        return given
    try:
        context = ssl.create_default_context(cafile=_path(configs, "ssl_cafile"))
        context.check_hostname = bool(configs.get("ssl_check_hostname", True))
        own = _path(configs, "ssl_certfile")
        if own is not None:
            context.load_cert_chain(own, _path(configs, "ssl_keyfile"), configs.get("ssl_password"))
        revoked = _path(configs, "ssl_crlfile")
        if revoked is not None:
            context.load_verify_locations(revoked)
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    except OSError as error:  # ssl.SSLError is one
        raise BadSetting(f"the files of ssl_* cannot be used: {error}") from None
    return context


def _path(configs: Mapping[str, Any], name: str) -> str | None:
    value = configs.get(name)
    return None if value is None else os.fspath(value)


def _login(configs: Mapping[str, Any]) -> SaslLogin:
    mechanism = configs.get("sasl_mechanism")
    if mechanism not in MECHANISMS:
        raise BadSetting(f"sasl_mechanism: {told(mechanism)} is not one of {', '.join(MECHANISMS)}")
    given = {name: value for name, value in configs.items() if value is not None and name != "sasl_mechanism"}
    if mechanism == GSSAPI:
        return SaslLogin(mechanism, {"sasl_kerberos_service_name": "kafka", **given})
    if mechanism == OAUTHBEARER:
        needed: Iterable[str] = ("sasl_oauth_token_provider",)
    else:
        needed = ("sasl_plain_username", "sasl_plain_password")
    for name in needed:
        if name not in given:
            raise BadSetting(f"{name}: {mechanism} needs it")
    return SaslLogin(mechanism, given)
