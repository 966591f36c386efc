"""Settings as texts by name: Java properties, and those of one listener with its security protocol; what a blank one
means, and which name a misspelt one means.

A blank is not the same as nothing. A number, a boolean, a class, and a text with a list of what it may be refuse one,
and Kafka does not start. Others take it for an empty text or list, which where it is used may be an error, no rule at
all, or as good as nothing. `tests/security/recorded/blanks.json` has what Kafka makes of each (ConfigDef.parseType, the
validators, and what uses the value).
"""

import difflib
from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS
from kafka_reassign_rpc.support.secrecy import told, told_name


class BadSetting(ValueError):
    """The text names the setting, and the file if there is one; it holds no secret."""


class Password:
    """Only `value` has the text: `str`, `repr` and a traceback show `[hidden]` (Kafka's Password)."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


_TEXTS = """
sasl.kerberos.service.name sasl.mechanism.inter.broker.protocol
sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name
sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
ssl.endpoint.identification.algorithm ssl.keystore.location ssl.keystore.type ssl.principal.mapping.rules ssl.protocol
ssl.truststore.location ssl.truststore.type
zookeeper.clientCnxnSocket zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location
zookeeper.ssl.keystore.type zookeeper.ssl.protocol zookeeper.ssl.truststore.location zookeeper.ssl.truststore.type
authorizer.class.name super.users
"""
_PASSWORDS = """
sasl.jaas.config ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password
ssl.truststore.certificates ssl.truststore.password zookeeper.ssl.keystore.password zookeeper.ssl.truststore.password
"""
_LISTS = """
sasl.enabled.mechanisms sasl.kerberos.principal.to.local.rules sasl.oauthbearer.expected.audience
ssl.cipher.suites ssl.enabled.protocols zookeeper.ssl.cipher.suites zookeeper.ssl.enabled.protocols
"""
TAKE_BLANKS = frozenset(f"{_TEXTS} {_PASSWORDS} {_LISTS}".split())
"""Settings of Kafka for which a blank is a value: an empty text, password or list. To all others it is an error."""
REFUSED = "it is blank, which Kafka refuses here: give it a value, or leave it out"


def is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def check_blank(place: str, setting: str, value: object) -> None:
    """`place`: the name as it is written, with the prefix of a listener. Raises BadSetting."""
    if is_blank(value) and setting not in TAKE_BLANKS:
        raise BadSetting(f"{place}: {REFUSED}")


LISTENER_PREFIX = "listener.name."
_BEGIN, _END = "-----BEGIN", "-----END"


def prefix_of(listener: str) -> str:
    """ListenerName.configPrefix."""
    return f"{LISTENER_PREFIX}{listener.lower()}."


def parse_properties(text: str) -> dict[str, str]:
    r"""As java.util.Properties does. Raises BadSetting for a malformed \uXXXX, with Java's message."""
    import javaproperties  # here, because most calls of the commands read no such file

    try:
        found = dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        raise BadSetting("Malformed \\uxxxx encoding.") from None
    refuse_cut_keys(found.items())
    return found


def refuse_cut_keys(settings: Iterable[tuple[str, object]]) -> None:
    """Raises BadSetting for a key or certificate in PEM that has a beginning and no end: the rest of it is where
    settings should be.
    """
    for name, value in settings:
        pem = value if isinstance(value, str) else ""
        alone = name.startswith((_BEGIN, _END))
        if alone or pem.count(_BEGIN) != pem.count(_END):
            where = "a line of PEM is alone" if alone else f"{told_name(name)}: PEM is cut after its first line"
            raise BadSetting(
                rf"{where}: in a properties file each line of it but the last ends with \; in TOML it is between"
                " three quotation marks"
            )


class Properties:
    """Each setting is read under several prefixes in their order: a listener's own before those of all listeners."""

    def __init__(self, values: Mapping[str, str], prefixes: tuple[str, ...]) -> None:
        self._values = values
        self._prefixes = prefixes

    def name(self, setting: str) -> str:
        """With the prefix under which it is set (the first prefix if it is not set)."""
        for prefix in self._prefixes:
            if self._values.get(prefix + setting) is not None:
                return prefix + setting
        return self._prefixes[0] + setting

    def text(self, setting: str) -> str | None:
        """None where it is not set; "" where it is blank and Kafka takes that. Raises BadSetting where Kafka refuses
        a blank."""
        name = self.name(setting)
        value = self._values.get(name)
        check_blank(name, self._unprefixed(setting), value)
        return None if value is None else value.strip()

    def password(self, setting: str) -> Password | None:
        value = self.text(setting)
        return None if value is None else Password(value)

    def words(self, setting: str) -> list[str] | None:
        """None where it is not set; nothing where it is blank."""
        value = self.text(setting)
        return None if value is None else [word.strip() for word in value.split(",") if word.strip()]

    def _unprefixed(self, setting: str) -> str:
        """A prefix that is none of a listener is a part of the name: `zookeeper.ssl.protocol`."""
        first = self._prefixes[0]
        return setting if first.startswith(LISTENER_PREFIX) else first + setting


_ALIKE = 0.9
"""How like a known name (difflib's ratio) a misspelt one must be. No two names of Kafka are so alike."""

_OF_CLIENTS_TEXT = """
security.protocol security.providers
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism sasl.oauthbearer.clock.skew.seconds
sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
ssl.truststore.type
"""
OF_CLIENTS = frozenset(_OF_CLIENTS_TEXT.split())
"""What Kafka's clients know of security (CommonClientConfigs, SslConfigs, SaslConfigs, Kafka 3.9)."""


def meant_by(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` misspells; upper and lower case are the same."""
    in_small = {one.lower(): one for one in sorted(known)}
    found = difflib.get_close_matches(name.lower(), in_small, 1, _ALIKE)
    return in_small[found[0]] if found else None


PROTOCOL_MAP = "listener.security.protocol.map"


def uses_tls(protocol: str) -> bool:
    return protocol.endswith("SSL")


def uses_sasl(protocol: str) -> bool:
    return protocol.startswith("SASL")


def protocol_named(text: str, setting: str) -> str:
    """Raises BadSetting."""
    found = text.strip().upper()
    if found not in SECURITY_PROTOCOLS:
        raise BadSetting(f"{setting}: expected one of {', '.join(SECURITY_PROTOCOLS)}, got {told(text)}")
    return found


def protocols_of_listeners(text: str) -> dict[str, str]:
    """`NAME:PROTOCOL,…`, the value of PROTOCOL_MAP, with names in capitals. Raises BadSetting."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, protocol = (word.strip().upper() for word in part.partition(":"))
        if not name or protocol not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise BadSetting(f"{PROTOCOL_MAP}: expected NAME:PROTOCOL with one of {known}, got {told(part)}")
        if name in found:
            raise BadSetting(f"{PROTOCOL_MAP}: {name} is there twice")
        found[name] = protocol
    return found
