"""The tokens of OAUTHBEARER: from a file, or from a token endpoint by client credentials (KIP-768).

Source: Kafka's OAuthBearerLoginCallbackHandler, FileTokenRetriever, HttpAccessTokenRetriever and
LoginAccessTokenValidator. All of it blocks: call it off the event loop.
"""

import base64
import binascii
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed
from kafka_reassign_rpc.security.properties import BadSetting, Password
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.secrecy import told_path

MAX_BYTES = 1 << 20
SECONDS = 10.0
"""Limits the connection to a token endpoint, and each part of its answer."""
REFRESH_WINDOW = 0.8
"""Kafka's sasl.login.refresh.window.factor: the part of a token's life after which a new one is fetched."""


class Token(NamedTuple):
    """`refresh_at`: seconds of `time.time`."""

    text: Password
    refresh_at: float


Fetch = Callable[[], str]


class TokenSource:
    """Keeps a token until most of its life is over; one thread fetches it for all."""

    def __init__(self, fetch: Fetch, now: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
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


def expiry(token: str) -> float:
    """`exp` of a JWT, whose signature only the other side can check. Raises LoginFailed."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, binascii.Error):
        raise LoginFailed("OAUTHBEARER: the token is no JWT with the claim exp") from None


def source(url: str, options: Mapping[str, str], context: Callable[[], ssl.SSLContext], place: str) -> TokenSource:
    """`options`: of the JAAS entry; `place`: the setting of the URL. Raises BadSetting."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        return TokenSource(lambda: _from_file(path))
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
    return TokenSource(lambda: _from_endpoint(endpoint, credentials, scope, context))


def _from_file(path: Path) -> str:
    try:
        data = read_bounded(path, MAX_BYTES)
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
        connection = http.client.HTTPSConnection(endpoint.host, endpoint.port, timeout=SECONDS, context=context())
    else:
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=SECONDS)
    try:
        connection.request("POST", target, body, headers)
        with connection.getresponse() as answer:
            data = answer.read(MAX_BYTES + 1)
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
    if len(data) > MAX_BYTES or not text or not text.isascii() or not text.isprintable() or " " in text:
        raise LoginFailed(f"OAUTHBEARER: there is no token at {where}")
    return text
