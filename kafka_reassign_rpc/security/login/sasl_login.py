"""A login over SASL as a client, by Kafka's settings (JaasContext, SaslClientAuthenticator); and protocol, TLS and
login of a client together.

GSSAPI (Kerberos) by the entry of a Krb5LoginModule. It needs the package `gssapi`.

MIT Kerberos gets and renews the ticket itself: with `useKeyTab` for the entry's principal, else from the ticket cache
that kinit has filled. Both come from the environment of the process, so all its logins share them.

The tokens of OAUTHBEARER come from a file, or from a token endpoint by client credentials (KIP-768). Source: Kafka's
OAuthBearerLoginCallbackHandler, FileTokenRetriever, HttpAccessTokenRetriever and LoginAccessTokenValidator. All of it
blocks: call it off the event loop.
"""

import base64
import binascii
import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from kafka_reassign_rpc.security.login import sasl_mechanisms
from kafka_reassign_rpc.security.login.jaas import JaasEntry, parse_entry
from kafka_reassign_rpc.security.login.sasl_mechanisms import Exchange, LoginFailed, TokenProvider
from kafka_reassign_rpc.security.properties import BadSetting, Password, Properties, protocol_named, uses_sasl, uses_tls
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told, told_path

GSSAPI = "GSSAPI"
MODULE = "Krb5LoginModule"
KEYTAB, CACHE = "KRB5_CLIENT_KTNAME", "KRB5CCNAME"
_OWN_CACHE = "MEMORY:kafka-reassign-rpc "
"""How the name of this process's own cache begins; the principal follows."""


def prepare(entry: JaasEntry, place: str) -> None:
    """Makes the entry's keytab and principal those of this process, if it names a keytab; asks the KDC for a ticket. As
    in Java, the ticket cache of the process's user then counts only with `useTicketCache`. Raises BadSetting.
    """
    if not entry.module.endswith(MODULE):
        raise BadSetting(f"{place}: GSSAPI needs a {MODULE}")
    try:
        import gssapi
    except ImportError:
        raise BadSetting(f"{place}: GSSAPI needs the package gssapi: pip install gssapi") from None
    except OSError as error:
        raise BadSetting(f"{place}: the package gssapi finds no Kerberos library: {error}") from None
    path = entry.option("keyTab") or ""
    if not _says(entry, "useKeyTab") or not path:
        return
    path = path.removeprefix("FILE:").removeprefix("file://")
    used = os.environ.setdefault(KEYTAB, f"FILE:{path}")
    if used.removeprefix("FILE:") != path:
        raise BadSetting(f"{place}: keyTab: another keytab is in use already ({used}): merge them with ktutil")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise BadSetting(f"{place}: keyTab: cannot read {told_path(path)}: {error.strerror}") from None
    if _says(entry, "useTicketCache"):
        return
    principal = entry.option("principal") or ""
    _use_own_cache(principal, place)
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
    try:
        gssapi.Credentials(name=name, usage="initiate")
    except gssapi.exceptions.GSSError as error:
        whom = principal or "the first principal of the keytab"
        raise BadSetting(f"{place}: Kerberos has no ticket for {whom}: {error}") from None


def _use_own_cache(principal: str, place: str) -> None:
    cache = _OWN_CACHE + principal
    used = os.environ.get(CACHE, "")
    if used.startswith(_OWN_CACHE) and used != cache:
        raise BadSetting(
            f"{place}: principal: another one is in use already ({used.removeprefix(_OWN_CACHE)}): a process has one"
        )
    os.environ[CACHE] = cache


def _says(entry: JaasEntry, option: str) -> bool:
    return (entry.option(option) or "").lower() == "true"


PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (PLAIN, *SCRAM, OAUTHBEARER, GSSAPI)
JAAS = "sasl.jaas.config"
KERBEROS_SERVICE = "sasl.kerberos.service.name"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 (the name of a setting)


TOKEN_BYTES = 1 << 20
TOKEN_S = 10.0
"""Limits the connection to a token endpoint, and each part of its answer."""
REFRESH_WINDOW = 0.8
"""Kafka's sasl.login.refresh.window.factor: the part of a token's life after which a new one is fetched."""


class Token(NamedTuple):
    """`refresh_at`: seconds of `time.time`."""

    text: Password
    refresh_at: float


Fetch = Callable[[], str]


class TokenSource:
    """A `TokenProvider` that keeps a token until most of its life is over; one thread fetches it for all. `extensions`
    are those of the login configuration (KIP-342).
    """

    def __init__(self, fetch: Fetch, extensions: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._extensions = extensions
        self._now = now
        self._lock = Lock()
        self._token: Token | None = None

    def token(self) -> str:
        with self._lock:
            now = self._now()
            if self._token is None or now >= self._token.refresh_at:
                text = self._fetch()
                self._token = Token(Password(text), now + (expiry(text) - now) * REFRESH_WINDOW)
            return self._token.text.value

    def extensions(self) -> Mapping[str, str]:
        return self._extensions


def expiry(token: str) -> float:
    """`exp` of a JWT, whose signature only the other side can check. Raises LoginFailed."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, binascii.Error):
        raise LoginFailed("OAUTHBEARER: the token is no JWT with the claim exp") from None


def _fetch_from(url: str, options: Mapping[str, str], context: Callable[[], ssl.SSLContext], place: str) -> Fetch:
    """`options`: of the JAAS entry; `place`: the setting of the URL. Raises BadSetting."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        return lambda: _from_file(path)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise BadSetting(f"{place}: expected a URL that begins with file://, https:// or http://, without a user in it")
    try:
        port = parts.port
    except ValueError:
        raise BadSetting(f"{place}: the port of the URL is none") from None
    client, secret = options.get("clientId"), options.get("clientSecret")
    if not client or not secret:
        raise BadSetting(f"{place}: a token endpoint needs clientId and clientSecret in the login configuration")
    endpoint = _Endpoint(parts.scheme, parts.hostname, port, parts.path or "/", parts.query)
    credentials = Password(base64.b64encode(f"{client}:{secret}".encode()).decode())
    scope = options.get("scope")
    return lambda: _from_endpoint(endpoint, credentials, scope, context)


def _from_file(path: Path) -> str:
    try:
        data = read_bounded(path, TOKEN_BYTES)
    except OSError as error:
        raise LoginFailed(f"OAUTHBEARER: cannot read {told_path(path)}: {error.strerror}") from None
    return _checked(data, str(path))


class _Endpoint(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str
    query: str

    @property
    def shown(self) -> str:
        """Without the query, which may have a key."""
        return f"{self.scheme}://{self.host}{'' if self.port is None else f':{self.port}'}{self.path}"


def _from_endpoint(
    endpoint: _Endpoint, credentials: Password, scope: str | None, context: Callable[[], ssl.SSLContext]
) -> str:
    body = urlencode({"grant_type": "client_credentials"} | ({"scope": scope} if scope else {}))
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {credentials.value}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    target = endpoint.path + (f"?{endpoint.query}" if endpoint.query else "")
    connection: http.client.HTTPConnection
    if endpoint.scheme == "https":
        connection = http.client.HTTPSConnection(endpoint.host, endpoint.port, timeout=TOKEN_S, context=context())
    else:
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=TOKEN_S)
    try:
        connection.request("POST", target, body, headers)
        with connection.getresponse() as answer:
            data = answer.read(TOKEN_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise LoginFailed(f"OAUTHBEARER: no token from {endpoint.shown}: {reason}") from None
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise LoginFailed(f"OAUTHBEARER: no token from {endpoint.shown}: status {answer.status}")
    try:
        token = json.loads(data)["access_token"]
    except (ValueError, KeyError, TypeError, RecursionError):
        token = None
    if not isinstance(token, str):
        raise LoginFailed(f"OAUTHBEARER: the answer of {endpoint.shown} has no access_token")
    return _checked(token.encode(errors="replace"), endpoint.shown)


def _checked(data: bytes, where: str) -> str:
    """A token goes out between bytes that have a meaning, so it may have only the bytes of a JWT."""
    text = data.decode("ascii", errors="replace").strip()
    if len(data) > TOKEN_BYTES or not text or not text.isascii() or not text.isprintable() or " " in text:
        raise LoginFailed(f"OAUTHBEARER: there is no token at {where}")
    return text


class SaslLogin:
    """`configs` have kafka-python's names."""

    def __init__(self, mechanism: str, configs: Mapping[str, Any]) -> None:
        self.mechanism = mechanism
        self.configs = {"sasl_mechanism": mechanism, **configs}

    def __repr__(self) -> str:
        return f"SaslLogin({self.mechanism})"

    def exchange(self, host: str) -> Exchange:
        if self.mechanism == GSSAPI:
            host = self.configs.get("sasl_kerberos_domain_name") or host
            return sasl_mechanisms.gssapi(self.configs["sasl_kerberos_service_name"], host)
        if self.mechanism == OAUTHBEARER:
            return sasl_mechanisms.oauthbearer(self.configs["sasl_oauth_token_provider"])
        name, password = self.configs["sasl_plain_username"], self.configs["sasl_plain_password"]
        if self.mechanism == PLAIN:
            return sasl_mechanisms.plain(name, password)
        return sasl_mechanisms.scram(self.mechanism, name, password)


def jaas_entry(properties: Properties) -> JaasEntry | None:
    text = properties.text(JAAS)
    return None if text is None else parse_entry(text, properties.name(JAAS))


def sasl_login(mechanism: str, entry: JaasEntry | None, properties: Properties, place: str) -> SaslLogin:
    """`properties` have the other settings of SASL; `place`: where the entry is or should
    be. Raises BadSetting.
    """
    if mechanism not in MECHANISMS:
        raise BadSetting(f"the SASL mechanism {told(mechanism)} is not one of {', '.join(MECHANISMS)}")
    if entry is None:
        raise BadSetting(f"{place}: a login configuration for {mechanism} is missing")
    if mechanism == GSSAPI:
        return SaslLogin(mechanism, {"sasl_kerberos_service_name": _kerberos_service(entry, properties, place)})
    if mechanism == OAUTHBEARER:
        return SaslLogin(mechanism, {"sasl_oauth_token_provider": _token_provider(entry, properties)})
    username, password = entry.option("username"), entry.option("password")
    if username is None or password is None:
        raise BadSetting(f"{place}: {mechanism} needs a username and a password")
    if "\0" in username + password:
        raise BadSetting(f"{place}: there is a NUL in the username or the password")
    if mechanism in SCRAM and (entry.option("tokenauth") or "").lower() == "true":
        raise BadSetting(f"{place}: tokenauth: delegation tokens are not supported")
    return SaslLogin(mechanism, {"sasl_plain_username": username, "sasl_plain_password": password})


def _kerberos_service(entry: JaasEntry, properties: Properties, place: str) -> str:
    service, name = properties.text(KERBEROS_SERVICE), properties.name(KERBEROS_SERVICE)
    in_entry = entry.option("serviceName")
    if service is not None and in_entry is not None and service != in_entry:
        raise BadSetting(f"{place}: its serviceName and {name} differ")
    if not (service or in_entry):
        raise BadSetting(f"{name}: GSSAPI needs the first part of the brokers' principal, such as kafka")
    prepare(entry, place)
    return service or in_entry or ""


def _token_provider(entry: JaasEntry, properties: Properties) -> TokenProvider:
    url, name = properties.text(TOKEN_URL), properties.name(TOKEN_URL)
    if url is None:
        raise BadSetting(
            f"{name}: OAUTHBEARER needs the URL of a token endpoint or of a file (unsecured tokens are not supported)"
        )
    tls = TlsConfig.of({key: value for key, value in entry.options.items() if key.startswith("ssl.")})
    extensions = {
        key.removeprefix("extension_"): value for key, value in entry.options.items() if key.startswith("extension_")
    }
    return TokenSource(_fetch_from(url, entry.options, lambda: tls.load_client().context, name), extensions)


DEFAULT_MECHANISM = "GSSAPI"


class ClientSecurity(NamedTuple):
    protocol: str = "PLAINTEXT"
    tls: TlsConfig | None = None
    login: SaslLogin | None = None


def client_security(values: Mapping[str, str]) -> ClientSecurity:
    """By the properties of a Java client. Reads no keystore. Raises BadSetting."""
    properties = Properties(values, ("",))
    protocol = _protocol(properties.text("security.protocol"))
    tls = TlsConfig.of(values) if uses_tls(protocol) else None
    login = None
    if uses_sasl(protocol):
        mechanism = properties.text("sasl.mechanism")
        mechanism = DEFAULT_MECHANISM if mechanism is None else mechanism
        login = sasl_login(mechanism, jaas_entry(properties), properties, JAAS)
    return ClientSecurity(protocol, tls, login)


def _protocol(given: str | None) -> str:
    return "PLAINTEXT" if given is None else protocol_named(given, "security.protocol")
