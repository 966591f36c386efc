"""SASL PLAIN (RFC 4616): `[authzid] NUL user NUL password`. Only TLS keeps the password from listeners.

Kafka bounds neither names nor passwords. Here those longer than any user's are wrong at once. Source: PlainSaslServer,
PlainServerCallbackHandler (Kafka 3.9).
"""

import hashlib
import hmac
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Protocol

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError

TOKENS = 3
LONGEST_PASSWORD = 4096
"""The most characters of a password."""
LONGEST_TOKEN = 4 * (2 * LONGEST_NAME + LONGEST_PASSWORD) + 2
"""In bytes, if each character takes four."""
WRONG = "Authentication failed: Invalid username or password"


class Passwords(Protocol):
    def verify(self, user: str, password: str, address: str) -> bool | Awaitable[bool]:
        """The time it takes does not show how much of the password is right. `address` is the client's. Raises
        SaslAuthenticationError if that cannot be found out.
        """


class PlainSaslServer:
    expires_at = None

    def __init__(self, passwords: Passwords, address: str) -> None:
        self._passwords = passwords
        self._address = address
        self.complete = False
        self.authorization_id = ""

    def evaluate(self, token: bytes) -> bytes | Awaitable[bytes]:
        if len(token) > LONGEST_TOKEN:
            raise SaslAuthenticationError(WRONG)
        tokens = token.decode("utf-8", "replace").split("\0", TOKENS)
        if len(tokens) != TOKENS:
            raise SaslAuthenticationError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
        authzid, user, password = tokens
        if not user:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        if max(len(user), len(authzid)) > LONGEST_NAME or len(password) > LONGEST_PASSWORD:
            raise SaslAuthenticationError(WRONG)
        right = self._passwords.verify(user, password, self._address)
        return self._decide_later(authzid, user, right) if isawaitable(right) else self._decide(authzid, user, right)

    async def _decide_later(self, authzid: str, user: str, waits: Awaitable[bool]) -> bytes:
        return self._decide(authzid, user, await waits)

    def _decide(self, authzid: str, user: str, right: bool) -> bytes:
        if not right:
            raise SaslAuthenticationError(WRONG)
        if authzid not in ("", user):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.authorization_id, self.complete = user, True
        return b""


class PlainPasswords:
    """The users of a JAAS config (`user_alice="…"` of PlainLoginModule)."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._digests = {user: _digest(password) for user, password in passwords.items()}
        self._nobody = _digest("")

    def __repr__(self) -> str:
        return f"PlainPasswords of {len(self._digests)} users"

    def verify(self, user: str, password: str, _address: str = "") -> bool:
        known = self._digests.get(user)
        same = hmac.compare_digest(_digest(password), self._nobody if known is None else known)
        return same and known is not None


class UsersOf:
    """The users of a JAAS config, then of a file: a name in both has two passwords."""

    def __init__(self, known: PlainPasswords, file: Passwords) -> None:
        self._known = known
        self._file = file

    def verify(self, user: str, password: str, address: str) -> bool | Awaitable[bool]:
        return self._known.verify(user, password) or self._file.verify(user, password, address)


def _digest(password: str) -> bytes:
    return hashlib.sha256(password.encode("utf-8", "surrogatepass")).digest()
