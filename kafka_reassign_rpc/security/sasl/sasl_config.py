"""SASL of a listener by Kafka's properties. It reads no file but that of logins.

Each setting is read as `listener.name.<listener>.<setting>`, then as `<setting>`, and before both as
`listener.name.<listener>.<mechanism>.<setting>`, in lower case, if Kafka or this server has it for one mechanism. A
login configuration (`sasl.jaas.config`) counts only for one mechanism of one listener, as in Kafka.
`cli/security_names.py` refuses what nothing reads. Source: SaslConfigs, BrokerSecurityConfigs, JaasContext,
ListenerName, SaslChannelBuilder, ConfigurationUtils (Kafka 3.9).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.jaas import JaasEntry, parse_entry
from kafka_reassign_rpc.security.login.sasl_login import JAAS
from kafka_reassign_rpc.security.properties import BadSetting, Password, Properties, prefix_of
from kafka_reassign_rpc.security.sasl import scram
from kafka_reassign_rpc.security.sasl.kerberos import KerberosConfig, parse_rules
from kafka_reassign_rpc.security.sasl.oauthbearer import TokenRules
from kafka_reassign_rpc.security.sasl.plain import LONGEST_PASSWORD
from kafka_reassign_rpc.support.secrecy import told, told_class

PLAIN, OAUTHBEARER, GSSAPI = "PLAIN", "OAUTHBEARER", "GSSAPI"
KNOWN = (PLAIN, *scram.MECHANISMS, OAUTHBEARER, GSSAPI)
ENABLED = "sasl.enabled.mechanisms"
USERS_FILE = "sasl.plain.users.file"
JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"
CALLBACKS = "sasl.server.callback.handler.class"
VALIDATOR = "OAuthBearerValidatorCallbackHandler"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
KRB5_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
RULES = "sasl.kerberos.principal.to.local.rules"
USER = "user_"
MAX_RECEIVE_SIZE = 524288
"""Bytes; Kafka's default of sasl.server.max.receive.size."""
MAX_REAUTH_MS = 0
JWKS_REFRESH_MS, JWKS_BACKOFF_MS, JWKS_MOST_BACKOFF_MS = 3_600_000, 100, 10_000
"""Kafka's defaults of connections.max.reauth.ms and sasl.oauthbearer.jwks.endpoint.*."""
INT32, INT64 = 2**31 - 1, 2**63 - 1


class JwksConfig(msgspec.Struct, frozen=True):
    """sasl.oauthbearer.jwks.endpoint.*"""

    setting: str
    url: str
    refresh_s: float = JWKS_REFRESH_MS / 1000
    first_wait_s: float = JWKS_BACKOFF_MS / 1000
    longest_wait_s: float = JWKS_MOST_BACKOFF_MS / 1000


class SaslConfig(msgspec.Struct, frozen=True):
    """PLAIN has `passwords` by user, and a `users_file` with hashed ones, with the setting that names it."""

    mechanisms: tuple[str, ...]
    max_receive_size: int
    max_reauth_ms: Mapping[str, int]
    passwords: Mapping[str, Password]
    users_file: tuple[str, Path] | None
    jwks: JwksConfig | None
    token_rules: TokenRules
    kerberos: KerberosConfig | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str], listener: str) -> "SaslConfig":
        """Raises BadSetting."""
        prefix = prefix_of(listener)
        found = Properties(properties, (prefix, ""))
        mechanisms = _mechanisms(found)
        of = {name: Properties(properties, (f"{prefix}{name.lower()}.", prefix, "")) for name in mechanisms}
        for name, its in of.items():
            _check_callbacks(name, its)
        plain = of.get(PLAIN)
        passwords = {} if plain is None else _passwords(_entry(properties, listener, PLAIN))
        file = None if plain is None else plain.text(USERS_FILE)
        if plain is not None and not passwords and file is None:
            raise BadSetting(
                f"{prefix}plain.{JAAS}: PLAIN has no users: name them there (user_alice=…), in the section"
                f" {jaas.SERVER_SECTION} of {jaas.JAAS_FILE}, or in {USERS_FILE}"
            )
        tokens = of.get(OAUTHBEARER)
        return cls(
            mechanisms=mechanisms,
            max_receive_size=_number(found, "sasl.server.max.receive.size", MAX_RECEIVE_SIZE, 0, INT32),
            max_reauth_ms={
                name: _number(its, "connections.max.reauth.ms", MAX_REAUTH_MS, 0, INT64) for name, its in of.items()
            },
            passwords=passwords,
            users_file=None if plain is None or file is None else (plain.name(USERS_FILE), Path(file)),
            jwks=None if tokens is None else _jwks(tokens),
            token_rules=TokenRules() if tokens is None else _token_rules(tokens),
            kerberos=_kerberos(_entry(properties, listener, GSSAPI), found) if GSSAPI in of else None,
        )


def enabled_mechanisms(found: Properties) -> tuple[str, ...]:
    """Empty where the setting is blank: nobody can log in."""
    given = found.words(ENABLED)
    return (GSSAPI,) if given is None else tuple(dict.fromkeys(given))


def _mechanisms(found: Properties) -> tuple[str, ...]:
    names = enabled_mechanisms(found)
    for name in names:
        if name not in KNOWN:
            raise BadSetting(f"{found.name(ENABLED)}: {told(name)}: this server has {', '.join(KNOWN)}")
    return names


def _check_callbacks(mechanism: str, its: Properties) -> None:
    """A class that decides who comes in must not be left out silently."""
    given = its.text(CALLBACKS)
    if given is not None and not (mechanism == OAUTHBEARER and given.endswith(f".{VALIDATOR}")):
        raise BadSetting(f"{its.name(CALLBACKS)}: this server cannot run Java's {told_class(given)}")


class _Found(NamedTuple):
    """`setting`: where the login configuration is or should be."""

    setting: str
    entry: JaasEntry | None


def _entry(properties: Mapping[str, str], listener: str, mechanism: str) -> _Found:
    """The setting wins over the file (JaasContext.loadServerContext)."""
    module = {PLAIN: PLAIN_MODULE, GSSAPI: KRB5_MODULE}[mechanism]
    setting = f"{prefix_of(listener)}{mechanism.lower()}.{JAAS}"
    text, path = properties.get(setting), properties.get(jaas.JAAS_FILE, "").strip()
    if text is not None:
        entry = parse_entry(text, setting)
        if entry.module != module:
            raise BadSetting(f"{setting}: expected {module}, got {told_class(entry.module)}")
        return _Found(setting, entry)
    if path:
        for entry in jaas.server_entries(path, listener):
            if entry.module == module:
                return _Found(f"{jaas.JAAS_FILE}: the section {jaas.SERVER_SECTION} of {path}", entry)
    return _Found(setting, None)


def _passwords(found: _Found) -> dict[str, Password]:
    users = {
        name.removeprefix(USER): Password(password)
        for name, password in (found.entry.options.items() if found.entry else ())
        if name.startswith(USER) and name != USER
    }
    for name, password in users.items():
        if len(name) > LONGEST_NAME or len(password.value) > LONGEST_PASSWORD:
            raise BadSetting(
                f"{found.setting}: a user could not log in: a name has at most {LONGEST_NAME}"
                f" characters, a password {LONGEST_PASSWORD}"
            )
    return users


def _kerberos(found: _Found, its: Properties) -> KerberosConfig:
    setting, entry = found
    if entry is None:
        raise BadSetting(
            f"{setting}: GSSAPI needs {KRB5_MODULE} with keyTab and principal there, or in the section"
            f" {jaas.SERVER_SECTION} of {jaas.JAAS_FILE} (see {ENABLED})"
        )
    keytab, principal = entry.option("keyTab"), entry.option("principal")
    if keytab is None or principal is None:
        raise BadSetting(f"{setting}: keyTab and principal are needed")
    try:
        rules = parse_rules(its.words(RULES))
    except ValueError as error:
        raise BadSetting(f"{its.name(RULES)}: {error}") from None
    return KerberosConfig(setting, principal, keytab.removeprefix("file:"), rules)


def _jwks(its: Properties) -> JwksConfig:
    url = its.text(JWKS_URL)
    if url is None:
        raise BadSetting(
            f"{its.name(JWKS_URL)}: OAUTHBEARER needs the keys that tokens are signed with: an http(s) or file URL"
        )
    if not url.startswith(("http://", "https://", "file:///")):
        raise BadSetting(f"{its.name(JWKS_URL)}: expected an http(s) URL or file:///…, got another kind")
    prefix = "sasl.oauthbearer.jwks.endpoint."
    return JwksConfig(
        setting=its.name(JWKS_URL),
        url=url,
        refresh_s=_number(its, f"{prefix}refresh.ms", JWKS_REFRESH_MS, 1, INT64) / 1000,
        first_wait_s=_number(its, f"{prefix}retry.backoff.ms", JWKS_BACKOFF_MS, 1, INT64) / 1000,
        longest_wait_s=_number(its, f"{prefix}retry.backoff.max.ms", JWKS_MOST_BACKOFF_MS, 1, INT64) / 1000,
    )


def _token_rules(its: Properties) -> TokenRules:
    prefix, rules = "sasl.oauthbearer.", TokenRules()
    return TokenRules(
        audiences=tuple(its.words(f"{prefix}expected.audience") or ()),
        issuer=its.text(f"{prefix}expected.issuer") or None,
        subject_claim=_claim(its, f"{prefix}sub.claim.name", rules.subject_claim),
        scope_claim=_claim(its, f"{prefix}scope.claim.name", rules.scope_claim),
        skew_s=_number(its, f"{prefix}clock.skew.seconds", rules.skew_s, 0, INT32),
    )


def _claim(its: Properties, setting: str, default: str) -> str:
    found = its.text(setting)
    if found == "":
        raise BadSetting(f"{its.name(setting)}: it is blank, and no claim has a blank name")
    return default if found is None else found


def _number(its: Properties, setting: str, default: int, low: int, high: int) -> int:
    text = its.text(setting)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and low <= int(text) <= high):
        raise BadSetting(f"{its.name(setting)}: expected a whole number from {low} to {high}, got {told(text)}")
    return int(text)
