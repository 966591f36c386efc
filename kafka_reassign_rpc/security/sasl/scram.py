"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), step by step as Kafka does it (ScramSaslServer,
ScramCredentialUtils, Kafka 3.9). Delegation tokens (`tokenauth=true`) are refused: only brokers take them.
"""

import binascii
import hashlib
import hmac
import secrets
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

from kafka_reassign_rpc.core.configs import scram_credentials
from kafka_reassign_rpc.core.configs.scram_credentials import LEAST_ITERATIONS, fields_of
from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError, SaslError
from kafka_reassign_rpc.security.sasl.scram_messages import (
    BadScramMessage,
    ClientFinal,
    ClientFirst,
    parse_client_final,
    parse_client_first,
    server_final,
    server_first,
)

_HASHES = {one.name: one.hash for one in scram_credentials.MECHANISMS.values()}
MECHANISMS = tuple(_HASHES)
NONCE_BYTES = 16


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential"


Credentials = Callable[[str], ScramCredential | None]
"""Returns a user's credential for one mechanism, from memory. Raises SaslRetry while it cannot be known."""


def parse_credential(text: str) -> ScramCredential | None:
    """None if it holds no credential (ScramCredentialUtils.credentialFromString)."""
    fields = fields_of(text)
    if fields is None:
        return None
    try:
        salt, stored, server = (b64decode(field + "=" * (-len(field) % 4), validate=True) for field in fields[:3])
    except (binascii.Error, ValueError):
        return None
    return ScramCredential(salt, stored, server, fields.iterations)


class _Begun(NamedTuple):
    client: ClientFirst
    nonce: str
    sent: str
    credential: ScramCredential


class ScramSaslServer:
    expires_at = None

    def __init__(self, mechanism: str, credentials: Credentials) -> None:
        self._hash = _HASHES[mechanism]
        self._credentials = credentials
        self._begun: _Begun | None = None
        self.complete = False
        self.authorization_id = ""

    def evaluate(self, token: bytes) -> bytes:
        try:
            answer = self._begin(token) if self._begun is None else self._finish(self._begun, token)
        except BadScramMessage as error:
            raise SaslError(str(error)) from None
        return answer.encode()

    def _begin(self, token: bytes) -> str:
        client = parse_client_first(token)
        if client.uses_delegation_token:
            raise SaslError("Token Authentication failed: this server takes no delegation tokens")
        credential = self._credentials(client.name)
        if credential is None:
            raise SaslError("Authentication failed: Invalid user credentials")
        if client.authorization_id not in ("", client.name):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < LEAST_ITERATIONS:
            raise SaslError(f"{credential.iterations} iterations, at least {LEAST_ITERATIONS} are needed")
        nonce = client.nonce + secrets.token_hex(NONCE_BYTES)
        sent = server_first(nonce, credential.salt, credential.iterations)
        self._begun = _Begun(client, nonce, sent, credential)
        return sent

    def _finish(self, begun: _Begun, token: bytes) -> str:
        client, credential = parse_client_final(token), begun.credential
        if not client.nonce.endswith(begun.nonce):
            raise SaslError("Invalid client nonce in the final client message.")
        signed = f"{begun.client.signed},{begun.sent},{client.signed}".encode("ascii")
        if not self._is_proven(client, credential.stored_key, signed):
            raise SaslError("Invalid client credentials")
        self.authorization_id, self.complete = begun.client.name, True
        return server_final(hmac.digest(credential.server_key, signed, self._hash))

    def _is_proven(self, client: ClientFinal, stored_key: bytes, signed: bytes) -> bool:
        signature = hmac.digest(stored_key, signed, self._hash)
        try:
            key = bytes(one ^ other for one, other in zip(client.proof, signature, strict=True))
        except ValueError:  # of another length
            return False
        return hmac.compare_digest(hashlib.new(self._hash, key).digest(), stored_key)
