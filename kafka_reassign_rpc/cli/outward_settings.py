"""The settings of this server's own logins: to brokers and to ZooKeeper. They are a part of the catalogue of security.

Names and meanings are Kafka's; those of ZooKeeper's SASL are system properties of Java there.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.cli.settings_reader import Setting, in_group, kafka_setting
from kafka_reassign_rpc.cli.value_parsers import text_or_empty, true_or_false
from kafka_reassign_rpc.security.login import jaas, sasl_login
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.tls.context_parts import VERSIONS
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.transport import broker_links as brokers
from kafka_reassign_rpc.transport.broker_links import BrokerLinks, broker_links
from kafka_reassign_rpc.zookeeper import access as zk
from kafka_reassign_rpc.zookeeper.access import Access, zookeeper_access

ZOOKEEPER = "security of ZooKeeper"


def _switch(name: str, help_: str) -> Setting:
    return kafka_setting(name, help_, "true|false", "false", true_or_false)


_OF_BROKERS = in_group(
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
OUTWARD_SETTINGS = (*_OF_BROKERS, *_OF_ZOOKEEPER)


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
