"""The principals with which brokers come to their controller: by the settings of a broker, and by the certificate that
each one shows.

`gather` reads the files; all else is pure. Source: NodeToControllerChannelManager, ChannelBuilders, JaasContext,
DefaultKafkaPrincipalBuilder (Kafka 3.9).
"""

import ssl
from collections.abc import Iterable, Mapping

import msgspec

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.jaas import JaasEntry, parse_entry
from kafka_reassign_rpc.security.login.sasl_login import DEFAULT_MECHANISM, GSSAPI, JAAS, OAUTHBEARER, SCRAM
from kafka_reassign_rpc.security.properties import BadSetting, Properties, prefix_of
from kafka_reassign_rpc.security.sasl.kerberos import NoShortName, default_realm, parse_rules, short_name
from kafka_reassign_rpc.security.sasl.sasl_config import ENABLED, RULES, enabled_mechanisms
from kafka_reassign_rpc.security.security_protocols import uses_sasl
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.transport.broker_links import (
    CONTROL_PLANE,
    LISTENER,
    MECHANISM,
    PROTOCOL,
    entry_for,
)


class UnknownPrincipal(ValueError):
    """The text says why the settings do not show the principal."""


class CannotLogIn(ValueError):
    """No rule gives the broker a principal, so the server would refuse it."""


class BrokerLogins(msgspec.Struct, frozen=True):
    """It holds secrets, and does not show them.

    own           the settings of security of this server: its own login among them is not the brokers'
    file          those of a broker: what its server.properties says
    certificates  those of a broker's keystore (DER), by the name of the listener
    entries       login configurations of the file of logins, by the name of the listener
    realm         the default realm of Kerberos; empty: unknown
    """

    own: Mapping[str, str] = {}
    file: Mapping[str, str] = {}
    certificates: Mapping[str, bytes] = {}
    entries: Mapping[str, tuple[JaasEntry, ...]] = {}
    realm: str = ""

    def __repr__(self) -> str:
        return f"BrokerLogins({', '.join(self.file) or 'nothing'})"

    @property
    def listener(self) -> str | None:
        """Brokers look for their controller there; None: the settings do not say it."""
        names = (self._of_brokers(name) for name in (CONTROL_PLANE, LISTENER, PROTOCOL))
        return next((name.upper() for name in names if name), None)

    @property
    def mechanism(self) -> str:
        return self._of_brokers(MECHANISM) or DEFAULT_MECHANISM

    def _of_brokers(self, name: str) -> str:
        """The broker's file goes before this server's settings."""
        return self.file.get(name, "").strip() or self.own.get(name, "").strip()


def gather(own: Mapping[str, str], file: Mapping[str, str], listeners: Iterable[Endpoint]) -> BrokerLogins:
    """Reads also the files that these settings name. What cannot be read stays unknown.

    own        the settings of security of this server, and inter.broker.listener.name
    file       what a broker's server.properties says
    listeners  those of this server
    """
    certificates, entries, realm = {}, {}, ""
    path = own.get(jaas.JAAS_FILE, "").strip()
    for one in listeners if file else ():
        name = one.listener
        try:
            if one.security_protocol == "SSL":
                keystore = TlsConfig.of(file, (prefix_of(name), "")).keystore
                if keystore is not None:
                    certificates[name] = keystore.load().chain[0]
            elif uses_sasl(one.security_protocol):
                realm = realm or default_realm()
                if path:
                    entries[name] = jaas.server_entries(path, name)
        except BadSetting:
            continue
    return BrokerLogins(own, file, certificates, entries, realm)


def principal_at(listener: Endpoint, mechanism: str | None, certificate: bytes | None, logins: BrokerLogins) -> str:
    """The principal of a broker that comes to this listener of the server.

    mechanism     the broker's sasl.mechanism.inter.broker.protocol; None: as the settings say
    certificate   what the broker has shown on its own listener of this name; None: as in the settings

    Raises UnknownPrincipal and CannotLogIn.
    """
    protocol, name = listener.security_protocol, listener.listener
    if protocol == "PLAINTEXT":
        return ANONYMOUS
    if protocol == "SSL":
        return _by_certificate(name, certificate or logins.certificates.get(name), logins.own)
    return _by_login(name, mechanism or logins.mechanism, logins)


def _by_certificate(listener: str, certificate: bytes | None, own: Mapping[str, str]) -> str:
    config = TlsConfig.of(own, (prefix_of(listener), ""))
    if config.client_auth == ssl.CERT_NONE:
        return ANONYMOUS
    if certificate is None:
        raise UnknownPrincipal("no connection has shown a broker's certificate, and no --kafka-config has its keystore")
    try:
        return config.principal_of(certificate)
    except NoMatchingRule as error:
        raise CannotLogIn(str(error)) from None


def _by_login(listener: str, mechanism: str, logins: BrokerLogins) -> str:
    own = Properties(logins.own, (prefix_of(listener), ""))
    if mechanism not in (enabled_mechanisms(own)):
        raise CannotLogIn(f"they log in by {mechanism}, and {own.name(ENABLED)} of the server does not have it")
    if mechanism == OAUTHBEARER:
        raise UnknownPrincipal(f"{mechanism}: only the token says who it is")
    setting = f"{prefix_of(listener)}{mechanism.lower()}.{JAAS}"
    entry = _entry(listener, mechanism, setting, logins)
    if mechanism == GSSAPI:
        return _by_ticket(entry, setting, own, logins.realm)
    username = entry.option("username")
    if username is None:
        raise UnknownPrincipal(f"{setting} has no username")
    if mechanism in SCRAM and (entry.option("tokenauth") or "").lower() == "true":
        raise UnknownPrincipal(f"{setting}: a delegation token comes as its owner")
    return f"User:{username}"


def _entry(listener: str, mechanism: str, setting: str, logins: BrokerLogins) -> JaasEntry:
    """The brokers' own login configuration for the mechanism."""
    if not logins.file:
        raise UnknownPrincipal("no --kafka-config has the login of brokers")
    text = logins.file.get(setting, "").strip()
    try:
        found = parse_entry(text, setting) if text else entry_for(logins.entries.get(listener, ()), mechanism)
    except BadSetting as error:
        raise UnknownPrincipal(str(error)) from None
    if found is None:
        raise UnknownPrincipal(f"{setting} is not set")
    return found


def _by_ticket(entry: JaasEntry, setting: str, own: Properties, realm: str) -> str:
    principal = entry.option("principal")
    if principal is None or principal == "*":
        raise UnknownPrincipal(f"{setting} has no principal")
    if not realm:
        raise UnknownPrincipal("Kerberos does not say its default realm")
    if "@" not in principal:
        principal = f"{principal}@{realm}"
    try:
        return f"User:{short_name(principal, parse_rules(own.words(RULES)), realm)}"
    except NoShortName as error:
        raise CannotLogIn(f"{principal}: {error}") from None
