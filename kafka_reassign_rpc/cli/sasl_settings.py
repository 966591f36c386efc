"""The settings of SASL on listeners, a part of the server's catalogue. Names and meanings are Kafka's, except
sasl.plain.users.file."""

from functools import partial

from kafka_reassign_rpc.cli.settings_reader import Setting, listener_setting
from kafka_reassign_rpc.cli.value_parsers import listed, password, text, whole
from kafka_reassign_rpc.security.sasl.oauthbearer import TokenRules
from kafka_reassign_rpc.security.sasl.sasl_config import (
    JWKS_BACKOFF_MS,
    JWKS_MOST_BACKOFF_MS,
    JWKS_REFRESH_MS,
    MAX_REAUTH_MS,
    MAX_RECEIVE_SIZE,
)

SASL = "SASL of listeners"
_sasl = partial(listener_setting, SASL)
_JWKS = "sasl.oauthbearer.jwks.endpoint."
_RULES = TokenRules()

SASL_SETTINGS: tuple[Setting, ...] = (
    _sasl(
        "sasl.enabled.mechanisms",
        listed,
        "The mechanisms of SASL_PLAINTEXT and SASL_SSL listeners: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER,"
        " GSSAPI.",
        "MECHANISM[,…]",
        "GSSAPI",
    ),
    _sasl(
        "sasl.jaas.config",
        password,
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
        text,
        "A TOML file with users of PLAIN and hashes of their passwords, looked at every second.",
        "FILE",
        "not set",
        kafka=False,
    ),
    _sasl(
        "sasl.server.callback.handler.class",
        text,
        "Known, so that it is not left out: this server runs no Java. Only Kafka's own"
        " OAuthBearerValidatorCallbackHandler is accepted; it is what OAUTHBEARER does here.",
        "CLASS",
        "not set",
    ),
    _sasl(
        "sasl.server.max.receive.size",
        whole(0, 2**31 - 1),
        "The largest request, in bytes, before a client has authenticated.",
        "BYTES",
        str(MAX_RECEIVE_SIZE),
    ),
    _sasl(
        "connections.max.reauth.ms",
        whole(0),
        "How long a session lasts, in milliseconds: then the client has to authenticate again, or its next request"
        " closes the connection. 0: sessions last as long as the client's token, if it has one, else without end.",
        "MS",
        str(MAX_REAUTH_MS),
    ),
    _sasl(
        "sasl.kerberos.principal.to.local.rules",
        listed,
        "How a Kerberos principal becomes the name of a user: rules as in Kafka, the first that matches counts.",
        "RULE[,…]",
        "DEFAULT: the first part of a name of the default realm",
    ),
    _sasl(
        f"{_JWKS}url",
        text,
        "Where the keys come from that tokens of OAUTHBEARER are signed with: an http(s) URL, or file:///….",
        "URL",
        "not set; OAUTHBEARER needs it",
    ),
    _sasl(
        f"{_JWKS}refresh.ms",
        whole(1),
        "How often the keys are fetched, in milliseconds.",
        "MS",
        str(JWKS_REFRESH_MS),
    ),
    _sasl(
        f"{_JWKS}retry.backoff.ms",
        whole(1),
        "How long to wait, in milliseconds, after keys could not be fetched. It doubles each time.",
        "MS",
        str(JWKS_BACKOFF_MS),
    ),
    _sasl(
        f"{_JWKS}retry.backoff.max.ms",
        whole(1),
        "The longest such wait, in milliseconds.",
        "MS",
        str(JWKS_MOST_BACKOFF_MS),
    ),
    _sasl(
        "sasl.oauthbearer.clock.skew.seconds",
        whole(0, 2**31 - 1),
        "How far the clocks of the issuer of tokens and of this server may differ, in seconds.",
        "SECONDS",
        str(_RULES.skew_s),
    ),
    _sasl(
        "sasl.oauthbearer.expected.audience",
        listed,
        "Audiences, one of which a token has to be for.",
        "AUDIENCE[,…]",
        "tokens may not name an audience",
    ),
    _sasl("sasl.oauthbearer.expected.issuer", text, "The issuer that a token has to be of.", "ISSUER", "any"),
    _sasl("sasl.oauthbearer.scope.claim.name", text, "The claim with a token's scopes.", "CLAIM", _RULES.scope_claim),
    _sasl(
        "sasl.oauthbearer.sub.claim.name", text, "The claim with the name of the user.", "CLAIM", _RULES.subject_claim
    ),
)
