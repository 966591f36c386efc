"""The settings that brokers have for connections among themselves.

Source: KafkaConfig.interBrokerListenerName and interBrokerSecurityProtocol, JaasContext.loadServerContext.
"""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.client_security import DEFAULT_MECHANISM
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.sasl_login import JAAS, OAUTHBEARER, SaslLogin, jaas_entry, sasl_login
from kafka_reassign_rpc.security.properties import Properties, prefix_of
from kafka_reassign_rpc.security.security_protocols import (
    PROTOCOL_MAP,
    protocol_named,
    protocols_of_listeners,
    uses_sasl,
    uses_tls,
)
from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

LISTENER, PROTOCOL = "inter.broker.listener.name", "security.inter.broker.protocol"
CONTROL_PLANE = "control.plane.listener.name"
MECHANISM = "sasl.mechanism.inter.broker.protocol"
_STORES = tuple(f"ssl.{store}" for store in ("truststore.location", "truststore.certificates", "keystore.location"))


def broker_links(values: Mapping[str, str]) -> BrokerLinks:
    """Reads keystores, so call it off the event loop. Raises BadSetting."""
    properties = Properties(values, ("",))
    listener = (properties.text(CONTROL_PLANE) or properties.text(LISTENER) or "").upper() or None
    protocol = _protocol(properties, listener)
    prefixes = _prefixes(listener or protocol)
    of_listener = Properties(values, prefixes)
    tls = None
    if any(of_listener.text(store) is not None for store in _STORES) if protocol is None else uses_tls(protocol):
        config = TlsConfig.of(values, prefixes)
        tls = ReloadedContext("the link to brokers", config.load_client, config.files)
    login = None
    mechanism = properties.text(MECHANISM)
    if mechanism is not None if protocol is None else uses_sasl(protocol):
        login = _login(values, DEFAULT_MECHANISM if mechanism is None else mechanism, listener or protocol)
    return BrokerLinks(listener, protocol, tls, login)


def _protocol(properties: Properties, listener: str | None) -> str | None:
    """Returns None if the settings do not say."""
    given = properties.text(PROTOCOL)
    if given is not None:
        if properties.text(LISTENER) is not None:
            raise BadSetting(f"{PROTOCOL}: only one of it and {LISTENER} may be set")
        return protocol_named(given, PROTOCOL)
    protocols = protocols_of_listeners(properties.text(PROTOCOL_MAP) or "")
    if listener in protocols:
        return protocols[listener]
    if protocols and listener is not None and listener not in SECURITY_PROTOCOLS:
        name = CONTROL_PLANE if properties.text(CONTROL_PLANE) else LISTENER
        raise BadSetting(f"{name}: there is no such listener; {PROTOCOL_MAP} has {', '.join(sorted(protocols))}")
    return listener if listener in SECURITY_PROTOCOLS else None


def _prefixes(listener: str | None, mechanism: str | None = None) -> tuple[str, ...]:
    if listener is None:
        return ("",)
    of_listener = prefix_of(listener)
    if mechanism is None:
        return (of_listener, "")
    return (f"{of_listener}{mechanism.lower()}.", of_listener, "")


def _login(values: Mapping[str, str], mechanism: str, listener: str | None) -> SaslLogin:
    of_mechanism = Properties(values, _prefixes(listener, mechanism))
    entry, place = jaas_entry(of_mechanism), of_mechanism.name(JAAS)
    path = values.get(jaas.JAAS_FILE, "").strip()
    if entry is None and path:
        entry = entry_for(jaas.server_entries(path, listener or ""), mechanism)
        in_file = f"the section {jaas.SERVER_SECTION} of {path}"
        place = f"{jaas.JAAS_FILE}: {in_file}" if entry is not None else f"{place}, or {in_file}"
    if entry is None and listener is not None and not values.get(PROTOCOL_MAP) and listener not in SECURITY_PROTOCOLS:
        known = ", ".join(SECURITY_PROTOCOLS)
        raise BadSetting(
            f"{LISTENER}: nothing says the protocol of this listener, and there is no login to it: without"
            f" {PROTOCOL_MAP} the listeners are {known}"
        )
    # Kafka looks for the other settings of a login behind the mechanism for OAUTHBEARER alone (ConfigurationUtils).
    others = of_mechanism if mechanism == OAUTHBEARER else Properties(values, _prefixes(listener))
    return sasl_login(mechanism, entry, others, place)


def entry_for(found: Sequence[JaasEntry], mechanism: str) -> JaasEntry | None:
    """Returns the entry whose module is for the mechanism, else the only one."""
    module = {"PLAIN": "Plain", "OAUTHBEARER": "OAuthBearer", "GSSAPI": "Krb5"}.get(mechanism, "Scram") + "LoginModule"
    return next((entry for entry in found if entry.module.endswith(module)), found[0] if len(found) == 1 else None)
