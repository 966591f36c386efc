"""The settings of security, a part of the server's catalogue: TLS, SASL on listeners, and this server's own logins to
brokers and to ZooKeeper. Names and meanings are Kafka's, except sasl.plain.users.file; those of ZooKeeper's SASL are
system properties of Java there.

Passwords and keys are in files alone: everybody on the machine can read a command line.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.settings_reader import Setting, in_group, kafka_setting
from kafka_reassign_rpc.cli.value_parsers import (
    client_auth,
    listed,
    text_or_empty,
    true_or_false,
    whole,
    words,
)
from kafka_reassign_rpc.security.login import jaas, sasl_login
from kafka_reassign_rpc.security.properties import LISTENER_PREFIX, PROTOCOL_MAP, BadSetting, Password
from kafka_reassign_rpc.security.sasl.oauthbearer import TokenRules
from kafka_reassign_rpc.security.sasl.sasl_config import (
    JWKS_BACKOFF_MS,
    JWKS_MOST_BACKOFF_MS,
    JWKS_REFRESH_MS,
    MAX_REAUTH_MS,
    MAX_RECEIVE_SIZE,
)
from kafka_reassign_rpc.security.tls.context_parts import VERSIONS
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.transport import broker_links as brokers
from kafka_reassign_rpc.transport.broker_links import BrokerLinks, broker_links
from kafka_reassign_rpc.zookeeper import access as zk
from kafka_reassign_rpc.zookeeper.access import Access, zookeeper_access

ZOOKEEPER = "security of ZooKeeper"


def _switch(name: str, help_: str) -> Setting:
    return kafka_setting(name, help_, "true|false", "false", true_or_false)


_TO_BROKERS = in_group(
    "connections to brokers",
    kafka_setting(
        brokers.PROTOCOL,
        "The security protocol of the brokers' listener to which the controller connects, in the place of its name"
        " (inter.broker.listener.name).",
        "PROTOCOL",
        "that of the listener",
    ),
    kafka_setting(
        brokers.CONTROL_PLANE,
        "The name of the brokers' listener for their controller, where they have one apart from others.",
        "NAME",
        "inter.broker.listener.name",
    ),
    kafka_setting(
        brokers.MECHANISM,
        f"The SASL mechanism by which the server logs in to brokers: {', '.join(sasl_login.MECHANISMS)}.",
        "MECHANISM",
        "GSSAPI",
    ),
    kafka_setting(
        sasl_login.KERBEROS_SERVICE,
        "The first part of the brokers' Kerberos principal.",
        "NAME",
        "not set",
        of_listeners=True,
    ),
    kafka_setting(
        sasl_login.TOKEN_URL,
        "Where the server gets its token for OAUTHBEARER: https://… of a token endpoint, or file://… of a token.",
        "URL",
        "not set",
        of_listeners=True,
    ),
    kafka_setting(
        jaas.JAAS_FILE,
        "The file with login configurations (JAAS): the sections KafkaServer, for listeners and brokers, and Client,"
        " for ZooKeeper.",
        "FILE",
        "not set",
    ),
)
_OF_ZOOKEEPER = in_group(
    ZOOKEEPER,
    _switch(
        zk.SET_ACL,
        "Whether only the server's ZooKeeper identity may write the znodes that the server creates, as Kafka does it."
        " Servers and brokers need the same identity.",
    ),
    _switch(zk.ENABLE_TLS, "Whether connections to ZooKeeper use TLS."),
    kafka_setting("zookeeper.ssl.keystore.location", "The file with the key for ZooKeeper.", "FILE", "not set"),
    kafka_setting(
        "zookeeper.ssl.keystore.password",
        "The password of that keystore; of its key where it is PEM.",
        "PASSWORD",
        "not set",
        secret=True,
    ),
    kafka_setting("zookeeper.ssl.keystore.type", "Its format.", "PEM|PKCS12|JKS", "what its bytes say"),
    kafka_setting(
        "zookeeper.ssl.truststore.location",
        "The file with the certificates that those of ZooKeeper are checked against.",
        "FILE",
        "what the system trusts",
    ),
    kafka_setting(
        "zookeeper.ssl.truststore.password", "The password of that truststore.", "PASSWORD", "not set", secret=True
    ),
    kafka_setting("zookeeper.ssl.truststore.type", "Its format.", "PEM|PKCS12|JKS", "what its bytes say"),
    kafka_setting("zookeeper.ssl.enabled.protocols", "The versions of TLS.", "VERSION[,…]", ",".join(VERSIONS)),
    kafka_setting("zookeeper.ssl.protocol", "Known, and of no effect.", "VERSION", "TLSv1.2"),
    kafka_setting("zookeeper.ssl.cipher.suites", "The cipher suites by Java's names.", "SUITE[,…]", "OpenSSL's"),
    kafka_setting(
        "zookeeper.ssl.endpoint.identification.algorithm",
        "HTTPS: the certificate of a ZooKeeper server has to have its host name. Empty: it need not.",
        "HTTPS",
        "HTTPS",
        text_or_empty,
    ),
    *(
        _switch(name, "Known, and refused where it is true: nothing detects revoked certificates.")
        for name in zk.UNSUPPORTED
    ),
    kafka_setting(zk.SOCKET, f"Known; with TLS it can only be {zk.NETTY}.", "CLASS", "not set"),
    kafka_setting(
        zk.SASL, "Whether the server logs in where there is a login for ZooKeeper.", "true|false", "true", true_or_false
    ),
    kafka_setting(zk.SECTION, f"The section for ZooKeeper in {jaas.JAAS_FILE}.", "NAME", zk.DEFAULT_SECTION),
    kafka_setting(zk.SERVICE, "The first part of ZooKeeper's Kerberos principal.", "NAME", "zookeeper"),
)
OUTWARD_SETTINGS = (*_TO_BROKERS, *_OF_ZOOKEEPER)


def links(properties: Mapping[str, str], listener: str | None) -> BrokerLinks:
    """How this server connects to brokers, to the listener of that name. `properties` are the settings of security.
    Reads keystores. Raises UsageError.
    """
    try:
        return broker_links({**properties, **({} if listener is None else {brokers.LISTENER: listener})})
    except BadSetting as error:
        raise UsageError(str(error)) from None


def access(properties: Mapping[str, str]) -> Access:
    """How this server connects to ZooKeeper. Reads keystores. Raises UsageError."""
    try:
        return zookeeper_access(properties)
    except BadSetting as error:
        raise UsageError(str(error)) from None


_sasl = partial(kafka_setting, of_listeners=True)
_JWKS = "sasl.oauthbearer.jwks.endpoint."
_RULES = TokenRules()

SASL_SETTINGS = in_group(
    "SASL of listeners",
    _sasl(
        "sasl.enabled.mechanisms",
        "The mechanisms of SASL_PLAINTEXT and SASL_SSL listeners: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER,"
        " GSSAPI.",
        "MECHANISM[,…]",
        "GSSAPI",
        listed,
    ),
    _sasl(
        "sasl.jaas.config",
        "Login configurations as Java has them. Behind the prefix of a listener and plain"
        " (listener.name.<name>.plain.sasl.jaas.config) it has the users of PLAIN, as brokers have them:"
        " PlainLoginModule required user_alice=…; behind gssapi it has the server's keytab: Krb5LoginModule. Without it"
        " the section KafkaServer of java.security.auth.login.config has them. For the brokers' listener and the"
        " mechanism of sasl.mechanism.inter.broker.protocol, it has the server's own login to brokers.",
        "ENTRY",
        "the section KafkaServer of java.security.auth.login.config",
        secret=True,
    ),
    _sasl(
        "sasl.plain.users.file",
        "A TOML file with users of PLAIN and hashes of their passwords, looked at every second.",
        "FILE",
        "not set",
        of_kafka=False,
    ),
    _sasl(
        "sasl.server.callback.handler.class",
        "Known, so that it is not left out: this server runs no Java. Only Kafka's own"
        " OAuthBearerValidatorCallbackHandler is accepted; it is what OAUTHBEARER does here.",
        "CLASS",
        "not set",
    ),
    _sasl(
        "sasl.server.max.receive.size",
        "The largest request, in bytes, before a client has authenticated.",
        "BYTES",
        str(MAX_RECEIVE_SIZE),
        whole(0, 2**31 - 1),
    ),
    _sasl(
        "connections.max.reauth.ms",
        "How long a session lasts, in milliseconds: then the client has to authenticate again, or its next request"
        " closes the connection. 0: sessions last as long as the client's token, if it has one, else without end.",
        "MS",
        str(MAX_REAUTH_MS),
        whole(0),
    ),
    _sasl(
        "sasl.kerberos.principal.to.local.rules",
        "How a Kerberos principal becomes the name of a user: rules as in Kafka, the first that matches counts.",
        "RULE[,…]",
        "DEFAULT: the first part of a name of the default realm",
        listed,
    ),
    _sasl(
        f"{_JWKS}url",
        "Where the keys come from that tokens of OAUTHBEARER are signed with: an http(s) URL, or file:///….",
        "URL",
        "not set; OAUTHBEARER needs it",
    ),
    _sasl(
        f"{_JWKS}refresh.ms", "How often the keys are fetched, in milliseconds.", "MS", str(JWKS_REFRESH_MS), whole(1)
    ),
    _sasl(
        f"{_JWKS}retry.backoff.ms",
        "How long to wait, in milliseconds, after keys could not be fetched. It doubles each time.",
        "MS",
        str(JWKS_BACKOFF_MS),
        whole(1),
    ),
    _sasl(
        f"{_JWKS}retry.backoff.max.ms",
        "The longest such wait, in milliseconds.",
        "MS",
        str(JWKS_MOST_BACKOFF_MS),
        whole(1),
    ),
    _sasl(
        "sasl.oauthbearer.clock.skew.seconds",
        "How far the clocks of the issuer of tokens and of this server may differ, in seconds.",
        "SECONDS",
        str(_RULES.skew_s),
        whole(0, 2**31 - 1),
    ),
    _sasl(
        "sasl.oauthbearer.expected.audience",
        "Audiences, one of which a token has to be for.",
        "AUDIENCE[,…]",
        "tokens may not name an audience",
        listed,
    ),
    _sasl("sasl.oauthbearer.expected.issuer", "The issuer that a token has to be of.", "ISSUER", "any"),
    _sasl("sasl.oauthbearer.scope.claim.name", "The claim with a token's scopes.", "CLAIM", _RULES.scope_claim),
    _sasl("sasl.oauthbearer.sub.claim.name", "The claim with the name of the user.", "CLAIM", _RULES.subject_claim),
)


LISTENERS_OF_KAFKA_CONFIG = "kafka.config.listeners"

_tls = partial(kafka_setting, of_listeners=True)

_OF_BROKERS = in_group(
    "settings of brokers",
    Setting(
        LISTENERS_OF_KAFKA_CONFIG,
        true_or_false,
        False,
        "Whether listeners and advertised.listeners are taken from --kafka-config as well. They are those of a broker.",
    ),
    Setting(
        OTHER_NAMES,
        words,
        (),
        "Names in --kafka-config that may stay although neither Kafka nor this server knows them, such as those of"
        " plug-ins of brokers: confluent.*. Any other name that means security (listener.name.*, ssl, sasl, authorizer,"
        " super users) and that nothing would use ends the start, because a typing mistake there lets anybody in.",
        metavar="NAME[,…]",
        default_words="none",
    ),
)
_OF_TLS = in_group(
    "TLS of listeners",
    kafka_setting(
        PROTOCOL_MAP,
        "The security protocol of each listener by its name: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        "NAME:PROTOCOL[,…]",
        "a listener's name is its protocol",
        listed,
    ),
    _tls(
        "ssl.keystore.location",
        "The file with the server's key and certificates: PEM, PKCS12 or JKS, recognised by its bytes. The server"
        " looks for changes every 10 seconds; new connections get the new certificate.",
        "FILE",
        "not set; SSL and SASL_SSL listeners need it",
    ),
    _tls("ssl.keystore.type", "The format of the keystore.", "PEM|PKCS12|JKS", "what its bytes say"),
    _tls("ssl.keystore.password", "The password of a PKCS12 or JKS keystore.", "PASSWORD", "not set", secret=True),
    _tls(
        "ssl.key.password",
        "The password of the key, where it has one of its own.",
        "PASSWORD",
        "that of the keystore",
        secret=True,
    ),
    _tls("ssl.keystore.key", "The server's key in PEM, in the place of a file.", "PEM", "not set", secret=True),
    _tls(
        "ssl.keystore.certificate.chain",
        "The certificates of ssl.keystore.key in PEM, the server's own first.",
        "PEM",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.truststore.location",
        "The file with the certificates that clients' certificates are checked against: PEM, PKCS12 or JKS.",
        "FILE",
        "what the system trusts",
    ),
    _tls("ssl.truststore.type", "The format of the truststore.", "PEM|PKCS12|JKS", "what its bytes say"),
    _tls("ssl.truststore.password", "The password of the truststore.", "PASSWORD", "not set", secret=True),
    _tls(
        "ssl.truststore.certificates",
        "The trusted certificates in PEM, in the place of a file.",
        "PEM",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.client.auth",
        "Whether clients have to show a certificate. On SASL_SSL listeners only the setting of the listener counts"
        " (listener.name.<name>.ssl.client.auth).",
        "required|requested|none",
        "none",
        client_auth,
    ),
    _tls(
        "ssl.principal.mapping.rules",
        "How the subject of a client's certificate becomes a principal: rules as in Kafka, the first that matches"
        " counts. A connection whose subject matches none is closed.",
        "RULE:PATTERN/REPLACEMENT/[LU][,…]",
        "DEFAULT: the whole subject",
        listed,
    ),
    _tls("ssl.enabled.protocols", "The versions of TLS.", "VERSION[,…]", ",".join(VERSIONS), listed),
    _tls("ssl.protocol", "Known, and of no effect: see ssl.enabled.protocols.", "VERSION", "TLSv1.3"),
    _tls(
        "ssl.cipher.suites",
        "The cipher suites by Java's names. Among those of TLS 1.3 the server cannot choose: one of them enables"
        " them all.",
        "SUITE[,…]",
        "OpenSSL's",
        listed,
    ),
    _tls(
        "ssl.endpoint.identification.algorithm",
        "Whether connections to others check that the certificate has the host name: https, or nothing for no check.",
        "https",
        "https",
        text_or_empty,
    ),
)
SECURITY_SETTINGS = (*_OF_BROKERS, *_OF_TLS, *SASL_SETTINGS, *OUTWARD_SETTINGS)


def security_properties(values: Mapping[str, Any]) -> dict[str, str]:
    """The settings of security that are set, with those of single listeners, as texts by Kafka's names."""
    known = {setting.name for setting in SECURITY_SETTINGS if setting.of_kafka or setting.of_listeners}
    return {
        name: value.value if isinstance(value, Password) else str(value)
        for name, value in values.items()
        if value is not None and (name in known or name.startswith(LISTENER_PREFIX))
    }
