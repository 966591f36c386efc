"""The settings of a client, from its configs, named as kafka-python has them, or from the properties of a Java client
(AdminClientConfig, SslConfigs, SaslConfigs, Kafka 3.9)."""

import os
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.security.config_providers import is_of_providers, resolved
from kafka_reassign_rpc.security.login.sasl_login import GSSAPI, MECHANISMS, OAUTHBEARER, SaslLogin, client_security
from kafka_reassign_rpc.security.properties import (
    OF_CLIENTS,
    BadSetting,
    meant_by,
    parse_properties,
    protocol_named,
    uses_sasl,
    uses_tls,
)
from kafka_reassign_rpc.security.secret_files import named_files, of_settings_file, readable
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.host_port import Address, BadAddress, host_ports
from kafka_reassign_rpc.support.secrecy import told, told_name, told_names, told_path

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


DEFAULT_TIMEOUT_MS = 60_000
MAX_BYTES = 1 << 20

_NUMBERS = {
    "request.timeout.ms": "request_timeout_ms",
    "default.api.timeout.ms": "bootstrap_timeout_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "receive.buffer.bytes": "receive_buffer_bytes",
    "send.buffer.bytes": "send_buffer_bytes",
}
_TEXTS = {"client.id": "client_id"}
_HANDLED = {"bootstrap.servers", *OF_CLIENTS}
"""Those of security belong to the security protocol; names of Java classes have no meaning here."""

Warn = Callable[[str], None]


def client_configs(bootstrap: str, properties: Mapping[str, str], warn: Warn = lambda _: None) -> dict[str, Any]:
    """The arguments of ReassignmentClient. Reads the keystores. `warn` gets a line for each unknown property, as in the
    Java client.

    Raises BadSetting (a ValueError) for a property that this client cannot apply, and for a misspelt security setting:
    the Java client goes on without it, with `security.protcol` in plain text.
    """
    configs: dict[str, Any] = {
        "bootstrap_servers": bootstrap.split(","),
        "request_timeout_ms": DEFAULT_TIMEOUT_MS,
        "bootstrap_timeout_ms": DEFAULT_TIMEOUT_MS,
    }
    for name, value in properties.items():
        if name in _NUMBERS:
            configs[_NUMBERS[name]] = _number(name, value)
        elif name in _TEXTS:
            configs[_TEXTS[name]] = value
        elif name not in _HANDLED:
            if meant := meant_by(name, OF_CLIENTS):
                raise BadSetting(
                    f"{told_name(name)}: no client knows it; is {meant} meant? A slip there can send secrets in the"
                    " clear"
                )
            warn(f"The configuration '{told_name(name)}' was supplied but isn't a known config.")
    return configs | _security(properties)


def _security(properties: Mapping[str, str]) -> dict[str, Any]:
    found = client_security(properties)
    configs: dict[str, Any] = {"security_protocol": found.protocol}
    if found.tls is not None:
        configs["ssl_context"] = found.tls.load_client().context
        configs["ssl_check_hostname"] = found.tls.checks_host
    if found.login is not None:
        configs |= found.login.configs
    return configs


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadSetting(f"Invalid value {told(value)} for configuration {name}: Not a number of type INT") from None


def load_properties(path: str | None, warn: Warn = lambda _: None) -> dict[str, str]:
    r"""Returns also what `config.providers` adds; nothing where there is no file. Raises BadSetting.

    `warn` gets a line for each file with secrets that others may read. The file is UTF-8, but Java reads ISO 8859-1:
    for non-ASCII text that both understand use \\uXXXX.
    """
    if path is None:
        return {}
    try:
        text = read_bounded(Path(path), MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadSetting(f"Unable to read file {told_path(path)}: {reason}") from None
    found = parse_properties(text)
    try:
        values = resolved({name: value for name, value in found.items() if not is_of_providers(name)}, found)
    except BadSetting as error:
        raise BadSetting(f"{path}: {error}") from None
    for one in readable([*of_settings_file(path, "--command-config", found), *named_files(values)]):
        warn(str(one))
    return values
