"""Misspelt names of settings: those of security settings are refused. Pure."""

import difflib
from collections.abc import Iterable

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
