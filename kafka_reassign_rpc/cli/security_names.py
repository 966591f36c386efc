"""Names of settings that mean security, and that nothing would use. Pure.

A broker takes a misspelt `listener.name.mtls.ssl.client.aut` without a word, and so does not ask for certificates. Here
such a name ends the start, unless the operator says that it may stay (`kafka.config.other.names`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from kafka_reassign_rpc.security.properties import LISTENER_PREFIX, OF_CLIENTS, meant_by
from kafka_reassign_rpc.support.secrecy import told_name

OTHER_NAMES = "kafka.config.other.names"

_WORDS = ("ssl", "sasl", "authori", "super")
"""A name that has one of these means security, in upper or lower case."""

_OF_BROKERS_ALONE = {
    *("authorizer.class.name", "authorizer.zookeeper.max.in.flight.requests"),
    *("sasl.mechanism.controller.protocol", "ssl.allow.dn.changes", "ssl.allow.san.changes"),
}
_OF_CLIENTS_ALONE = {"sasl.mechanism", "security.protocol", "security.providers"}
_BROKERS_OWN = (OF_CLIENTS - _OF_CLIENTS_ALONE) | _OF_BROKERS_ALONE
"""What Kafka 2.8 to 3.9 know besides the server's own settings (KafkaConfig.configNames, AclAuthorizer)."""
_OF_ACLS = "authorizer."
"""What the authorizer's own way to ZooKeeper is named with: authorizer.zookeeper.ssl.client.enable (AclAuthorizer)."""
_OF_TIERED_STORAGE = ("rlmm.config.", "rsm.config.")
"""What Kafka hands on to the parts of tiered storage, with their own logins (RemoteLogManagerConfig's prefixes)."""
_LIMITS = frozenset({"max.connection.creation.rate", "max.connections", "num.network.threads"})
_OF_A_LISTENER = frozenset({"connections.max.reauth.ms", "principal.builder.class", *_LIMITS})
"""What Kafka takes behind the prefix of a listener besides ssl.* and sasl.* (SocketServer, DynamicListenerConfig)."""
_OF_ALL_BROKERS = ("sasl.mechanism.", "sasl.enabled.")
"""Beginnings of names that Kafka reads for all listeners at once, except sasl.enabled.mechanisms."""
_OF_ANY_MECHANISM_TEXT = """
connections.max.reauth.ms sasl.jaas.config sasl.login.callback.handler.class sasl.login.class
sasl.server.callback.handler.class
"""
_OF_ANY_MECHANISM = frozenset(_OF_ANY_MECHANISM_TEXT.split())
"""What Kafka takes behind the prefix of a listener and a mechanism (DynamicBrokerConfig.ListenerMechanismConfigs)."""
_OF_TOKENS = ("sasl.oauthbearer.", "sasl.login.connect.", "sasl.login.read.", "sasl.login.retry.")
"""How the names begin that Kafka reads for OAUTHBEARER."""
_OF_ONE_MECHANISM: Mapping[str, frozenset[str]] = {
    "oauthbearer": frozenset(name for name in OF_CLIENTS if name.startswith(_OF_TOKENS)),
    "plain": frozenset({"sasl.plain.users.file"}),
}
"""What is taken behind one mechanism alone: by Kafka (ConfigurationUtils, for OAUTHBEARER), or by this server."""
_MECHANISMS = frozenset({"gssapi", "oauthbearer", "plain", "scram-sha-256", "scram-sha-512"})


class Surroundings(NamedTuple):
    """What a name has to fit to.

    own            the names of settings that this server takes from where the name is
    of_listeners   those that it takes behind the prefix of a listener
    listeners      the names of all listeners that there are, the server's and those of the broker, in small letters
    mechanisms     the mechanisms that the file enables besides Kafka's, in small letters
    is_complete    whether `listeners` has those of the broker: its file may leave them to others
    elsewhere      the names of settings that this server alone has, and does not take from there
    """

    own: Collection[str]
    of_listeners: Collection[str]
    listeners: Collection[str]
    mechanisms: Collection[str] = ()
    is_complete: bool = True
    elsewhere: Collection[str] = ()


def listeners_of(properties: Mapping[str, str]) -> set[str]:
    """Names are in small letters."""
    found = {
        word.partition(":")[0]
        for name in ("listeners", "advertised.listeners", "listener.security.protocol.map", "controller.listener.names")
        for word in properties.get(name, "").split(",")
    }
    found |= {properties.get(name, "") for name in ("inter.broker.listener.name", "control.plane.listener.name")}
    return {name.strip().lower() for name in found} - {""}


def mechanisms_of(properties: Mapping[str, str]) -> set[str]:
    """Names are in small letters."""
    setting = "sasl.enabled.mechanisms"
    lists = [value for name, value in properties.items() if name == setting or name.endswith(f".{setting}")]
    return {word.strip().lower() for value in lists for word in value.split(",")} - {""}


def unused(names: Iterable[str], around: Surroundings, may_stay: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Gives each name with the reason. Names that fit `may_stay`, which may have `*`, stay with the operator's
    leave.
    """
    patterns = tuple(may_stay)
    for name in names:
        why = _why_unused(name, around)
        if why and not any(fnmatchcase(name, pattern) for pattern in patterns):
            yield name, why


def _why_unused(name: str, around: Surroundings) -> str:
    """Returns "" if it is used."""
    if name in around.own:
        return ""
    if name.startswith(LISTENER_PREFIX):
        return _of_listener(name, around)
    of_acls = name.startswith(f"{_OF_ACLS}zookeeper.") and name.removeprefix(_OF_ACLS) in around.own
    if of_acls or name in _BROKERS_OWN or name.startswith(_OF_TIERED_STORAGE):
        return ""
    if name in around.elsewhere:
        return "it has no effect here, since it is this server's own: it belongs in the file of --config"
    return _unknown(name, {*around.own, *around.elsewhere})


def _of_listener(name: str, around: Surroundings) -> str:
    listener, _, setting = name.removeprefix(LISTENER_PREFIX).partition(".")
    if listener not in around.listeners:
        if listener.lower() in around.listeners:
            small_name = f"{LISTENER_PREFIX}{listener.lower()}.{setting}"
            return f"Kafka reads the listener's name in small letters: {told_name(small_name)}"
        if setting in _LIMITS and not around.is_complete:
            return ""
        return f"there is no such listener, only {', '.join(sorted(around.listeners)) or 'none'}"
    if _may_be_of_listener(setting, around):
        return ""
    mechanism, _, below = setting.partition(".")
    small = mechanism.lower()
    if below in _OF_ANY_MECHANISM or below in _OF_ONE_MECHANISM.get(small, ()):
        if mechanism in _MECHANISMS or mechanism in around.mechanisms:
            return ""
        return "there is no such mechanism; mechanisms are written in small letters"
    if small in _MECHANISMS or small in around.mechanisms:
        known = {*_OF_ANY_MECHANISM, *_OF_ONE_MECHANISM.get(small, ())}
        return f"no mechanism {small} of a listener has such a setting{similar(below, known)}"
    return f"no listener has such a setting{similar(setting, {*around.of_listeners, *_BROKERS_OWN})}"


def _may_be_of_listener(setting: str, around: Surroundings) -> bool:
    if setting in _OF_A_LISTENER or setting in around.of_listeners:
        return True
    is_known = setting in around.own or setting in _BROKERS_OWN
    return is_known and setting.startswith(("ssl.", "sasl.")) and not setting.startswith(_OF_ALL_BROKERS)


def _unknown(name: str, own: Collection[str]) -> str:
    meant = similar(name, {*own, *_BROKERS_OWN})
    if any(word in name.lower() for word in _WORDS):
        return f"neither Kafka nor this server knows it{meant}"
    return f"nobody knows it{meant}" if meant else ""


def similar(name: str, known: Collection[str]) -> str:
    """What may be meant, for the end of a message, or ""."""
    meant = meant_by(name, known)
    return f"; is {meant} meant?" if meant else ""
