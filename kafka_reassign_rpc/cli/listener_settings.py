"""Listeners by Kafka's settings: their protocols, where clients reach them, and their security."""

import socket
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Endpoint
from kafka_reassign_rpc.security.login.sasl_login import DEFAULT_MECHANISM
from kafka_reassign_rpc.security.properties import (
    PROTOCOL_MAP,
    BadSetting,
    prefix_of,
    protocols_of_listeners,
    uses_sasl,
    uses_tls,
)
from kafka_reassign_rpc.security.sasl.sasl_config import ENABLED, SaslConfig
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.server.listener import ListenerSecurity, by_certificate, tls_context
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.support.host_port import is_every_address
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told_name
from kafka_reassign_rpc.transport.broker_links import LISTENER, MECHANISM

CLIENT_AUTH = "ssl.client.auth"


def complete_listeners(values: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the security protocol of each listener, and an advertised listener for each in the same order. Raises
    UsageError.
    """
    try:
        protocols = protocols_of_listeners(values[PROTOCOL_MAP] or "")
    except BadSetting as error:
        raise UsageError(str(error)) from None
    listeners = _with_protocols(values["listeners"], protocols, "--listeners")
    advertised = values["advertised.listeners"]
    if advertised is not None:
        by_name = {one.listener: one for one in _with_protocols(advertised, protocols, "--advertised-listeners")}
        if by_name.keys() != {one.listener for one in listeners}:
            raise UsageError("--advertised-listeners: one is needed for each of --listeners, with the same name")
        advertised = tuple(by_name[one.listener] for one in listeners)
    advertised = _reachable(listeners, advertised)
    for one in listeners:
        refuse_without_effect(values, one.listener, one.security_protocol, f"{PROTOCOL_MAP} says its protocol")
    return {**values, "listeners": tuple(listeners), "advertised.listeners": advertised}


def _reachable(listeners: Sequence[Endpoint], advertised: Sequence[Endpoint] | None) -> Sequence[Endpoint] | None:
    """As KafkaConfig and brokers do: one without a host is advertised by the name of this host. Raises UsageError."""
    published = listeners if advertised is None else advertised
    if (nowhere := next((one for one in published if is_every_address(one.host)), None)) is not None:
        given = "--listeners" if advertised is None else "--advertised-listeners"
        raise UsageError(
            f"{given}: {nowhere.listener} would be advertised at {nowhere.host}, where nobody can connect: name an"
            " address that clients and brokers reach with --advertised-listeners"
        )
    if all(one.host for one in published):
        return advertised
    return tuple(msgspec.structs.replace(one, host=one.host or socket.getfqdn()) for one in published)


def refuse_without_effect(values: Mapping[str, Any], listener: str, protocol: str, cure: str) -> None:
    """Raises UsageError for a setting of security of this listener that its protocol ignores: its author
    thinks that the door is closed. `kafka.config.other.names` may let it stay.
    """
    prefix = prefix_of(listener)
    stay = values.get(OTHER_NAMES) or ()
    for name in values:
        setting = name.removeprefix(prefix)
        of_tls, of_sasl = setting.startswith("ssl."), "sasl." in setting
        if not name.startswith(prefix) or any(fnmatchcase(name, pattern) for pattern in stay):
            continue
        if (of_tls and not uses_tls(protocol)) or (of_sasl and not uses_sasl(protocol)):
            raise UsageError(
                f"{told_name(name)}: it has no effect, since this listener speaks {protocol}, so it would be open:"
                f" {cure}; remove the setting, or let it stay by {OTHER_NAMES}, if that is meant"
            )


def sasl_sources(listeners: Sequence[Endpoint], values: Mapping[str, Any]) -> SaslSources | None:
    """None where no listener has SASL. Reads nothing but the file of logins. Raises UsageError."""
    properties = security_properties(values)
    names = [one.listener for one in listeners if uses_sasl(one.security_protocol)]
    try:
        configs = {name: SaslConfig.of(properties, name) for name in names}
        _check_brokers_mechanism(configs, values)
        return SaslSources(configs) if names else None
    except BadSetting as error:
        raise UsageError(str(error)) from None


def _check_brokers_mechanism(configs: Mapping[str, SaslConfig], values: Mapping[str, Any]) -> None:
    """As KafkaConfig does. Raises BadSetting."""
    brokers = (values.get(LISTENER) or "").upper()
    given = values.get(MECHANISM)
    mechanism = DEFAULT_MECHANISM if given is None else given
    if brokers in configs and mechanism not in configs[brokers].mechanisms:
        shown = mechanism or "a blank"
        raise BadSetting(f"{MECHANISM}: {shown} is not among {ENABLED} of listener {brokers}, by which brokers come")


def listener_security(
    listeners: Sequence[Endpoint], values: Mapping[str, Any], sasl: SaslSources | None = None
) -> dict[str, ListenerSecurity]:
    """By listener name. Reads the stores. Raises UsageError."""
    properties = security_properties(values)
    try:
        return {one.listener: _security(one, properties, sasl) for one in listeners}
    except BadSetting as error:
        raise UsageError(str(error)) from None


def _security(listener: Endpoint, properties: Mapping[str, str], sasl: SaslSources | None) -> ListenerSecurity:
    protocol = listener.security_protocol
    if protocol == "PLAINTEXT":
        return ListenerSecurity()
    config = tls_config(listener, properties) if uses_tls(protocol) else None
    tls = None if config is None else tls_context(listener.listener, config)
    if config is not None and not uses_sasl(protocol):
        return ListenerSecurity(tls, by_certificate(config))
    assert sasl is not None
    return ListenerSecurity(tls, sasl.authenticator(listener.listener))


def tls_config(listener: Endpoint, properties: Mapping[str, str]) -> TlsConfig:
    """Of a listener that has TLS. Raises BadSetting."""
    if uses_sasl(listener.security_protocol):  # without its prefix, this one is for SSL listeners
        properties = {name: value for name, value in properties.items() if name != CLIENT_AUTH}
    return TlsConfig.of(properties, (prefix_of(listener.listener), ""))


def _with_protocols(listeners: Sequence[Endpoint], protocols: Mapping[str, str], setting: str) -> list[Endpoint]:
    found = []
    for place, one in enumerate(listeners, 1):
        protocol = protocols.get(one.listener, one.listener)
        if protocol not in SECURITY_PROTOCOLS:
            which = f"listener {place} of {len(listeners)}"
            raise UsageError(f"{setting}: {PROTOCOL_MAP} does not say the security protocol of {which}, by its name")
        found.append(msgspec.structs.replace(one, security_protocol=protocol))
    return found
