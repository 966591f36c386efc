"""The settings of security, a part of the server's catalogue. Names and meanings are Kafka's.

Passwords and keys are in files alone: everybody on the machine can read a command line.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from kafka_reassign_rpc.cli.outward_settings import OUTWARD_SETTINGS
from kafka_reassign_rpc.cli.sasl_settings import SASL_SETTINGS
from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.settings_reader import Setting, listener_setting
from kafka_reassign_rpc.cli.value_parsers import (
    client_auth,
    listed,
    password,
    text,
    text_or_empty,
    true_or_false,
    words,
)
from kafka_reassign_rpc.security.bad_setting import Password
from kafka_reassign_rpc.security.properties import LISTENER_PREFIX
from kafka_reassign_rpc.security.security_protocols import PROTOCOL_MAP
from kafka_reassign_rpc.security.tls.context_parts import VERSIONS

TLS = "TLS of listeners"
KAFKA_CONFIG = "settings of brokers"
LISTENERS_OF_KAFKA_CONFIG = "kafka.config.listeners"

_tls = partial(listener_setting, TLS)

SECURITY_SETTINGS: tuple[Setting, ...] = (
    Setting(
        LISTENERS_OF_KAFKA_CONFIG,
        true_or_false,
        False,
        "Whether listeners and advertised.listeners are taken from --kafka-config as well. They are those of a broker.",
        group=KAFKA_CONFIG,
    ),
    Setting(
        OTHER_NAMES,
        words,
        (),
        "Names in --kafka-config that may stay although neither Kafka nor this server knows them, such as those of"
        " plug-ins of brokers: confluent.*. Any other name that means security (listener.name.*, ssl, sasl, authorizer,"
        " super users) and that nothing would use ends the start, because a typing mistake there lets anybody in.",
        group=KAFKA_CONFIG,
        metavar="NAME[,…]",
        default_words="none",
    ),
    Setting(
        PROTOCOL_MAP,
        listed,
        None,
        "The security protocol of each listener by its name: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        group=TLS,
        metavar="NAME:PROTOCOL[,…]",
        default_words="a listener's name is its protocol",
        of_kafka=True,
    ),
    _tls(
        "ssl.keystore.location",
        text,
        "The file with the server's key and certificates: PEM, PKCS12 or JKS, recognised by its bytes. The server"
        " looks for changes every 10 seconds; new connections get the new certificate.",
        "FILE",
        "not set; SSL and SASL_SSL listeners need it",
    ),
    _tls("ssl.keystore.type", text, "The format of the keystore.", "PEM|PKCS12|JKS", "what its bytes say"),
    _tls(
        "ssl.keystore.password",
        password,
        "The password of a PKCS12 or JKS keystore.",
        "PASSWORD",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.key.password",
        password,
        "The password of the key, where it has one of its own.",
        "PASSWORD",
        "that of the keystore",
        secret=True,
    ),
    _tls(
        "ssl.keystore.key",
        password,
        "The server's key in PEM, in the place of a file.",
        "PEM",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.keystore.certificate.chain",
        password,
        "The certificates of ssl.keystore.key in PEM, the server's own first.",
        "PEM",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.truststore.location",
        text,
        "The file with the certificates that clients' certificates are checked against: PEM, PKCS12 or JKS.",
        "FILE",
        "what the system trusts",
    ),
    _tls("ssl.truststore.type", text, "The format of the truststore.", "PEM|PKCS12|JKS", "what its bytes say"),
    _tls("ssl.truststore.password", password, "The password of the truststore.", "PASSWORD", "not set", secret=True),
    _tls(
        "ssl.truststore.certificates",
        password,
        "The trusted certificates in PEM, in the place of a file.",
        "PEM",
        "not set",
        secret=True,
    ),
    _tls(
        "ssl.client.auth",
        client_auth,
        "Whether clients have to show a certificate. On SASL_SSL listeners only the setting of the listener counts"
        " (listener.name.<name>.ssl.client.auth).",
        "required|requested|none",
        "none",
    ),
    _tls(
        "ssl.principal.mapping.rules",
        listed,
        "How the subject of a client's certificate becomes a principal: rules as in Kafka, the first that matches"
        " counts. A connection whose subject matches none is closed.",
        "RULE:PATTERN/REPLACEMENT/[LU][,…]",
        "DEFAULT: the whole subject",
    ),
    _tls("ssl.enabled.protocols", listed, "The versions of TLS.", "VERSION[,…]", ",".join(VERSIONS)),
    _tls("ssl.protocol", text, "Known, and of no effect: see ssl.enabled.protocols.", "VERSION", "TLSv1.3"),
    _tls(
        "ssl.cipher.suites",
        listed,
        "The cipher suites by Java's names. Among those of TLS 1.3 the server cannot choose: one of them enables"
        " them all.",
        "SUITE[,…]",
        "OpenSSL's",
    ),
    _tls(
        "ssl.endpoint.identification.algorithm",
        text_or_empty,
        "Whether connections to others check that the certificate has the host name: https, or nothing for no check.",
        "https",
        "https",
    ),
    *SASL_SETTINGS,
    *OUTWARD_SETTINGS,
)


def security_properties(values: Mapping[str, Any]) -> dict[str, str]:
    """The settings of security that are set, with those of single listeners, as texts by Kafka's names."""
    known = {setting.name for setting in SECURITY_SETTINGS if setting.of_kafka or setting.of_listeners}
    return {
        name: value.value if isinstance(value, Password) else str(value)
        for name, value in values.items()
        if value is not None and (name in known or name.startswith(LISTENER_PREFIX))
    }
