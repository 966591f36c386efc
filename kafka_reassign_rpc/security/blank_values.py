"""What a blank setting means: what Kafka makes of it, by its own definition.

A blank is not the same as nothing. A number, a boolean, a class, and a text with a list of what it may be refuse one,
and Kafka does not start. Others take it for an empty text or list, which where it is used may be an error, no rule at
all, or as good as nothing. `tests/security/recorded/blanks.json` has what Kafka makes of each (ConfigDef.parseType, the
validators, and what uses the value).
"""

from kafka_reassign_rpc.security.bad_setting import BadSetting

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
