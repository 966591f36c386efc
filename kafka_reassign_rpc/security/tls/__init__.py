"""TLS by Kafka's settings.

    tls_config.py            from `ssl.*` properties to stores, contexts and principals
    certificate_stores.py    PEM, PKCS12 and JKS, recognised by their bytes; the largest file (LARGEST_STORE); the JKS
                             format; DER
    context_parts.py         protocol versions (VERSIONS), cipher suites, keys from memory, the warning before a
                             certificate ends; a context that is made again when its files change (CHECK_S)
    principal_mapping.py     a certificate's subject as Java prints it; ssl.principal.mapping.rules
    java_patterns.py         Java's regular expressions in Python
    server_object.py         alerts for peers whose handshake fails, and the name that a client asks for
    own_handshake.py         whether a peer with the same settings would take the own certificate, and for which
                             names any client takes one

Source: org.apache.kafka.common.security.ssl (Kafka 3.9).
"""

from kafka_reassign_rpc.security.tls.tls_config import TlsConfig

__all__ = ["TlsConfig"]
