"""How this server connects to brokers.

`troubles` counts brokers that answer but refuse its control: for a login, a certificate, a missing right, a newer
controller that they know. Each is logged once, until it is over or changes.

The settings that brokers have for connections among themselves.

Source: KafkaConfig.interBrokerListenerName and interBrokerSecurityProtocol, JaasContext.loadServerContext.
"""

import logging
import ssl
from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS, Broker, Endpoint
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.sasl_login import (
    DEFAULT_MECHANISM,
    JAAS,
    OAUTHBEARER,
    SaslLogin,
    jaas_entry,
    sasl_login,
)
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, tls_failure
from kafka_reassign_rpc.security.properties import (
    PROTOCOL_MAP,
    BadSetting,
    Properties,
    prefix_of,
    protocol_named,
    protocols_of_listeners,
    uses_sasl,
    uses_tls,
)
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from kafka_reassign_rpc.support.bounded_text import SHOWN, word
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.transport.rpc_client import RpcClient, connect

log = logging.getLogger(__name__)

LOGIN, RIGHTS, EPOCH, VERSIONS = "login", "rights", "epoch", "versions"
NO_RIGHTS = (
    "does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED): give the principal of this"
    " server's login CLUSTER_ACTION on the cluster, or name it in super.users"
)
WANTS_CERTIFICATE = "it may want a certificate that it trusts (ssl.client.auth there, ssl.keystore.location here)"


class BrokerRefuses(ConnectionError):
    """The text says which broker, where and why; `reason` only why."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class BrokerLinks:
    """listener    its name; None takes the one with the name of `protocol`, else the first that speaks it
    protocol    what the listener must speak; None takes whichever the broker registers
    tls, login  None if this server has no settings for them
    """

    def __init__(
        self,
        listener: str | None = None,
        protocol: str | None = None,
        tls: ReloadedContext | None = None,
        login: SaslLogin | None = None,
    ) -> None:
        self.listener = listener
        self.protocol = protocol
        self.tls = tls
        self._login = login
        self._troubles: dict[tuple[int, str], str] = {}

    @property
    def troubles(self) -> int:
        return len({broker for broker, _ in self._troubles})

    async def keep(self) -> None:
        """Takes up new certificates when their files change, until it is cancelled."""
        if self.tls is not None:
            await self.tls.keep()

    def endpoint(self, broker: Broker) -> Endpoint:
        """If the settings name only a protocol, that is also the listener's name
        (KafkaConfig.getInterBrokerListenerNameAndSecurityProtocol).
        """
        name = self.listener or self.protocol
        for one in broker.endpoints:
            if name is not None and one.listener == name:
                return one
        for one in broker.endpoints:
            if self.listener is None and one.security_protocol == self.protocol:
                return one
        return broker.endpoints[0]

    async def open(self, broker: Broker, client_id: str, timeout_s: float) -> RpcClient:
        """Raises BrokerRefuses (an OSError), OSError, TimeoutError, EOFError or ProtocolError."""
        at = self.endpoint(broker)
        try:
            client = await self._open(at, client_id, timeout_s)
        except (LoginFailed, ssl.SSLError) as error:
            why = tls_failure(error) if isinstance(error, ssl.SSLError) else str(error)
            reason = f"listener {word(at.listener, SHOWN)}, {at.security_protocol}: {why}"
            text = f"broker {broker.id} at {Address(at.host, at.port)}: {reason}"
            self.warn(broker.id, LOGIN, f"{text}. This server can open no connection to it until that works")
            raise BrokerRefuses(text, reason) from error
        self.forget(broker.id, LOGIN)
        return client

    async def reach(self, node: Broker, client_id: str, timeout_s: float) -> RpcClient:
        """Connects to a server of this product; a failure does not count among `troubles`. Raises as `open`, without
        BrokerRefuses.
        """
        at = self.endpoint(node)
        try:
            return await self._open(at, client_id, timeout_s)
        except LoginFailed as error:
            raise ConnectionError(
                f"listener {word(at.listener, SHOWN)} at {Address(at.host, at.port)}: {error}"
            ) from error

    async def _open(self, at: Endpoint, client_id: str, timeout_s: float) -> RpcClient:
        protocol = at.security_protocol
        if protocol not in SECURITY_PROTOCOLS:
            raise LoginFailed("this security protocol is not known")
        if self.protocol is not None and protocol != self.protocol:
            raise LoginFailed(f"it should speak {self.protocol}, by this server's settings")
        context = None
        if uses_tls(protocol):
            if self.tls is None:
                raise LoginFailed("this server has no settings of TLS (ssl.truststore.location)")
            context = self.tls.context
        if uses_sasl(protocol) and self._login is None:
            raise LoginFailed("this server has no login (sasl.mechanism.inter.broker.protocol, sasl.jaas.config)")
        login = self._login if uses_sasl(protocol) else None
        try:
            return await connect(at.host, at.port, client_id, timeout_s, context, login)
        except (EOFError, ConnectionResetError) as error:
            if context is None:
                raise
            raise LoginFailed(f"it closed the connection: {WANTS_CERTIFICATE}") from error

    def warn(self, broker: int, kind: str, text: str) -> None:
        if self._troubles.get((broker, kind)) != text:
            self._troubles[broker, kind] = text
            log.warning("%s", text)

    def forget(self, broker: int, *kinds: str) -> None:
        """These troubles are over, or, without `kinds`, the broker is no longer registered."""
        for kind in kinds or (LOGIN, RIGHTS, EPOCH, VERSIONS):
            if self._troubles.pop((broker, kind), None) is not None and kinds:
                log.info("broker %d takes this server now (%s)", broker, kind)


LISTENER, PROTOCOL = "inter.broker.listener.name", "security.inter.broker.protocol"
CONTROL_PLANE = "control.plane.listener.name"
MECHANISM = "sasl.mechanism.inter.broker.protocol"
_STORES = tuple(f"ssl.{store}" for store in ("truststore.location", "truststore.certificates", "keystore.location"))


def listener_of_controller(configs: Mapping[str, str | None]) -> str | None:
    """The name of the listener by which a broker with these configs looks for its controller; None: it does not say, or
    comes by any (MetadataCacheControllerNodeProvider).
    """
    for name in (CONTROL_PLANE, LISTENER, PROTOCOL):
        value = configs.get(name)
        if value is not None:
            return value.upper() or None  # ListenerName.normalised
    return None


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
