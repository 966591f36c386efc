"""Whether the authorizers of server and brokers fit together, and let the brokers do what they do as such; and with
which principals brokers come to their controller, by their settings and by the certificate that each one shows.

`gather` reads the files; all else is pure. Source: NodeToControllerChannelManager, ChannelBuilders, JaasContext,
DefaultKafkaPrincipalBuilder (Kafka 3.9).
"""

import re
import ssl
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME, AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS, CLUSTER_NAME, AclOperation, ResourceType
from kafka_reassign_rpc.core.config_values import java_host
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.broker_findings import name_for_controller
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.jaas import JaasEntry, parse_entry
from kafka_reassign_rpc.security.login.sasl_login import DEFAULT_MECHANISM, GSSAPI, JAAS, OAUTHBEARER, SCRAM
from kafka_reassign_rpc.security.properties import BadSetting, Properties, prefix_of, uses_sasl
from kafka_reassign_rpc.security.sasl.kerberos import NoShortName, default_realm, parse_rules, short_name
from kafka_reassign_rpc.security.sasl.sasl_config import ENABLED, RULES, enabled_mechanisms
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.support.host_port import is_address
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


_NEEDED = "CLUSTER_ACTION on the cluster (ControlledShutdown, AlterPartition, AllocateProducerIds): ISRs would freeze"
_NEXT_PRINCIPAL = re.compile(r",(?=\s*[A-Za-z]+:)")
"""A comma with a principal behind it. Other commas are those of a distinguished name."""


def findings(
    answers: Sequence[BrokerAnswer],
    advertised: Sequence[Endpoint],
    authorizer: AclAuthorizer | None,
    logins: BrokerLogins,
    *,
    refuses: bool,
) -> Iterator[Finding]:
    """What follows for a server with this authorizer.

    logins   what is known of the logins of brokers
    refuses  whether it refuses what needs a right where it has no authorizer and brokers have one (broker.authorizer)
    """
    heard = [one for one in answers if not one.problem]
    classes: defaultdict[str, list[int]] = defaultdict(list)
    for one in heard:
        classes[one.configs.get(AUTHORIZER, "")].append(one.broker.id)
    if authorizer is None:
        classes.pop("", None)
        for name, brokers in classes.items():
            yield _without(f"{some_brokers(brokers, 'have')} {AUTHORIZER}={name}", refuses=refuses)
        return
    if not authorizer.loaded:
        yield unsafe("authorizer", "the ACLs in ZooKeeper cannot be read in time", "give a longer --timeout-ms")
        return
    for name, brokers in classes.items():
        if name != CLASS_NAME:
            shown = name or "no authorizer"
            yield warning(
                "authorizer",
                f"{some_brokers(brokers, 'have')} {shown}, and the server has {CLASS_NAME}",
                "give server and brokers the same settings: a client may do on the one what the other refuses",
            )
    yield from _super_users(authorizer)
    yield from _brokers_rights(answers, {one.listener: one for one in advertised}, authorizer, logins)


def _without(have: str, *, refuses: bool) -> Finding:
    what = f"{have}, and the server has none: "
    what += (
        "it would not control the cluster, and refuse everything that needs a right"
        if refuses
        else "with broker.authorizer=ignore any client may do what the brokers refuse, except quotas, SCRAM"
        " credentials and ACLs"
    )
    return unsafe("authorizer", what, f"give the server --authorizer-class-name {CLASS_NAME} and their --super-users")


def _super_users(authorizer: AclAuthorizer) -> Iterator[Finding]:
    """Kafka separates them only by semicolons: a distinguished name has commas."""
    odd = sorted(one for one in authorizer.super_users if _NEXT_PRINCIPAL.search(one))
    if odd:
        yield warning(
            "super-users",
            f"{some(map(repr, odd))} is one principal for Kafka: it looks like a comma instead of a semicolon",
            "separate the principals of super.users by semicolons",
        )


def _brokers_rights(
    answers: Sequence[BrokerAnswer],
    listeners: Mapping[str, Endpoint],
    authorizer: AclAuthorizer,
    logins: BrokerLogins,
) -> Iterator[Finding]:
    """A broker that does not answer is judged by the settings that name its listener: they can show that it may not
    act, but not that it may.
    """
    refused, shut_out, unknown, admitted = (defaultdict[str, list[int]](list) for _ in range(4))
    for one in answers:
        name = logins.listener if one.problem else name_for_controller(one.configs)
        if name is None:
            continue
        try:
            principal = _principal(one, name, listeners, logins)
        except UnknownPrincipal as error:
            unknown[str(error)].append(one.broker.id)
        except CannotLogIn as error:
            shut_out[str(error)].append(one.broker.id)
        else:
            if not _may_act(authorizer, principal, one.endpoint.host):
                refused[principal].append(one.broker.id)
            elif not one.problem:
                admitted[principal].append(one.broker.id)
    if refused:
        come = some(f"{some_brokers(brokers)} would come as {principal}" for principal, brokers in refused.items())
        yield unsafe(
            "authorizer",
            f"{come}, who lacks {_NEEDED}" + "".join(_slips(sorted(refused), authorizer.super_users)),
            "add their principal to --super-users, or give it that right with kafka-acls.sh",
        )
    for why, brokers in shut_out.items():
        yield unsafe(
            "authorizer",
            f"{some_brokers(brokers)} could not log in to the server: {why}",
            "give the server's listener rules that fit their principals, as on the brokers",
        )
    for why, brokers in unknown.items():
        they_need = "it needs" if len(brokers) == 1 else "they need"
        yield warning(
            "authorizer",
            f"the principal of {some_brokers(brokers)} is not known here ({why}); {they_need} {_NEEDED}",
            "see that their principals are in --super-users, as on the brokers, or have that right; --kafka-config"
            " with the server.properties of a broker the check knows who they are",
        )
    if not refused and not shut_out and not unknown:
        for principal, brokers in admitted.items():
            yield fine("authorizer", f"{some_brokers(brokers)} may do as {principal} what brokers do")


def _principal(one: BrokerAnswer, name: str, listeners: Mapping[str, Endpoint], logins: BrokerLogins) -> str:
    """Raises UnknownPrincipal and CannotLogIn."""
    listener = listeners.get(name)
    if listener is None:
        raise UnknownPrincipal(f"the server has no listener {name}")
    theirs = next((at.security_protocol for at in one.broker.endpoints if at.listener == name), None)
    if theirs not in (None, listener.security_protocol):
        raise CannotLogIn(f"{name} speaks {theirs} there and {listener.security_protocol} here")
    mechanism = one.configs.get("sasl.mechanism.inter.broker.protocol")
    certificate = one.certificate if one.endpoint.listener == name else None
    return principal_at(listener, mechanism, certificate, logins)


def _slips(refused: Sequence[str], super_users: Collection[str]) -> Iterator[str]:
    """Says what seems wrong with super.users."""
    if not super_users:
        yield ". super.users is empty"
    for principal in refused:
        for one in sorted(super_users):
            if one != principal and principal in map(str.strip, _NEXT_PRINCIPAL.split(one)):
                yield f". super.users has the one principal {one!r}: it looks like a comma instead of a semicolon"
            elif _alike(one) == _alike(principal):
                yield f". super.users has {one!r}, which is not the same: letters and blanks count"


def _alike(principal: str) -> str:
    return "".join(principal.split()).lower()


def _may_act(authorizer: AclAuthorizer, principal: str, host: str) -> bool:
    """A host that is a name has no ACL of its own: Kafka compares addresses."""
    action, cluster = AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER
    of_host = java_host(host if is_address(host) else "")
    return authorizer.authorize(principal, of_host, action, cluster, CLUSTER_NAME)
