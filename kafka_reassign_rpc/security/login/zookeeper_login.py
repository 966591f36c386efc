"""The logins that ZooKeeper speaks. Source: its ZooKeeperSaslClient and SecurityUtils. With DIGEST-MD5 every server is
"zk-sasl-md5".

DIGEST-MD5 (RFC 2831) is the client's side, without integrity and confidentiality layers. ZooKeeper has no better
password login, and the Python libraries have no maintainer, take their nonce from a predictable generator and do not
hash passwords outside ASCII as Java does. Source: the JDK's DigestMD5Client and DigestMD5Server.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable
from hashlib import md5
from typing import Any

from kafka_reassign_rpc.security.login import sasl_login
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.security.login.sasl_login import SaslLogin
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, failure, next_token
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.secrecy import told_class

MAX_CHALLENGE = 2048
"""The most bytes of a challenge (RFC 2831)."""
_DIRECTIVE = re.compile(r'\s*([\w-]+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s,"]*)\s*(?:,|$)')
_COUNT = "00000001"
_QOP = "auth"


def _hash(data: bytes) -> bytes:
    return md5(data, usedforsecurity=False).digest()


def _legacy(text: str) -> bytes:
    """RFC 2831 hashes names and passwords in ISO 8859-1 if possible, else in UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def directives(challenge: bytes) -> dict[str, str]:
    """Where a directive is repeated, the first counts. Raises LoginFailed."""
    if len(challenge) > MAX_CHALLENGE:
        raise LoginFailed(f"DIGEST-MD5: a challenge of {len(challenge)} bytes")
    text = challenge.decode(errors="replace")
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if match is None:
            raise LoginFailed("DIGEST-MD5: the challenge cannot be understood")
        value = match[2]
        found.setdefault(match[1].lower(), re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value)
        at = match.end()
    return found


class DigestMd5Client:
    """`respond` to the server's challenge, then `verify` its last token. `server`: service/host."""

    def __init__(self, username: str, password: str, server: str) -> None:
        self._username = username
        self._password = password
        self._server = server
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """Raises LoginFailed."""
        asked = directives(challenge)
        nonce, realm = asked.get("nonce", ""), asked.get("realm", "")
        if not nonce or asked.get("algorithm") != "md5-sess":
            raise LoginFailed("DIGEST-MD5: the challenge lacks a nonce or the algorithm md5-sess")
        if _QOP not in asked.get("qop", _QOP).replace(" ", "").split(","):
            raise LoginFailed("DIGEST-MD5: the server insists on a security layer, which ZooKeeper does not have")
        cnonce = secrets.token_urlsafe(24)
        user = b":".join(map(_legacy, (self._username, realm, self._password)))
        key = _hash(b":".join((_hash(user), nonce.encode(), cnonce.encode()))).hex()

        def proof(method: str) -> str:
            uri = _hash(f"{method}:{self._server}".encode()).hex()
            return _hash(f"{key}:{nonce}:{_COUNT}:{cnonce}:{_QOP}:{uri}".encode()).hex()

        self._expected = proof("")
        said = {
            "username": _quoted(self._username),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "cnonce": _quoted(cnonce),
            "nc": _COUNT,
            "qop": _QOP,
            "digest-uri": _quoted(self._server),
            "response": proof("AUTHENTICATE"),
        }
        if asked.get("charset") == "utf-8":
            return ",".join(("charset=utf-8", *(f"{name}={value}" for name, value in said.items()))).encode()
        return ",".join(f"{name}={value}" for name, value in said.items()).encode("latin-1", "replace")

    def verify(self, token: bytes) -> None:
        """Raises LoginFailed unless the server knows the password, too."""
        shown = directives(token).get("rspauth", "")
        if not self._expected or not hmac.compare_digest(shown.encode(), self._expected.encode()):
            raise LoginFailed("DIGEST-MD5: the server has not shown that it knows the password")


DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
MAX_ROUNDS = 10
_DIGEST_SERVER = "zookeeper/zk-sasl-md5"

_Exchange = Callable[[bytes], Awaitable[bytes]]
ZooKeeperLogin = Callable[[str, _Exchange], Awaitable[None]]
"""Logs in on a connection to the host of that name, by exchanging tokens. Raises LoginFailed."""


def zookeeper_login(entry: JaasEntry, place: str, service: str = "zookeeper") -> ZooKeeperLogin:
    """`place`: where the entry is, for messages; `service`: the first part of ZooKeeper's Kerberos principal.
    Raises BadSetting.
    """
    if entry.module.endswith(sasl_login.MODULE):
        sasl_login.prepare(entry, place)
        return _gssapi(service)
    if entry.module != DIGEST_MODULE:
        known = f"{DIGEST_MODULE} and {sasl_login.MODULE}"
        raise BadSetting(f"{place}: ZooKeeper does not know the login module {told_class(entry.module)}, but {known}")
    username, password = entry.option("username"), entry.option("password")
    if username is None or password is None:
        raise BadSetting(f"{place}: {DIGEST_MODULE} needs a username and a password")
    return _digest_md5(username, password)


def _digest_md5(username: str, password: str) -> ZooKeeperLogin:
    async def login(_: str, exchange: _Exchange) -> None:
        client = DigestMd5Client(username, password, _DIGEST_SERVER)
        client.verify(await exchange(client.respond(await exchange(b""))))

    return login


def _gssapi(service: str) -> ZooKeeperLogin:
    login_to = SaslLogin(sasl_login.GSSAPI, {"sasl_kerberos_service_name": service})

    async def login(host: str, exchange: _Exchange) -> None:
        ours = await _step(login_to.exchange, host)
        token = await _step(next_token, ours)
        for _ in range(MAX_ROUNDS):
            token = await _step(next_token, ours, await exchange(token))
            if token is None:
                return
        raise LoginFailed("GSSAPI: ZooKeeper asks for too many tokens")

    return login


async def _step(step: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return await asyncio.to_thread(step, *arguments)
    except Exception as error:
        raise LoginFailed(f"GSSAPI: {failure(error)}") from None
