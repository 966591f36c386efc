"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802) by scramp, with the credentials that Kafka's tools write.

Delegation tokens (`tokenauth=true`) are refused: brokers take them. An authzid is refused too; no client of Kafka sends
one. Source: ScramSaslServer, ScramCredentialUtils (Kafka 3.9).
"""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple

from scramp import ScramException, ScramMechanism

from kafka_reassign_rpc.core.scram_credentials import LEAST_ITERATIONS, fields_of
from kafka_reassign_rpc.security.sasl.mechanism import SaslError, SaslRetry

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_SCRAMP = {name: ScramMechanism(name) for name in MECHANISMS}
MOST_ITERATIONS = 10_000_000
"""More scramp refuses, and no client counts so far."""


class ScramCredential(NamedTuple):
    """The keys of a user for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential"


Credentials = Callable[[str], ScramCredential | None]
"""A user's credential for one mechanism, from memory."""


def parse_credential(text: str) -> ScramCredential | None:
    """A credential as a user's config holds it; None where it is none (ScramCredentialUtils.credentialFromString)."""
    fields = fields_of(text)
    if fields is None:
        return None
    try:
        salt, stored, server = (b64decode(field, validate=True) for field in fields[:3])
    except (binascii.Error, ValueError):
        return None
    return ScramCredential(salt, stored, server, fields.iterations)


class ScramSaslServer:
    """One exchange of SCRAM."""

    expires_at = None

    def __init__(self, mechanism: str, credentials: Credentials) -> None:
        self._credentials = credentials
        self._server = _SCRAMP[mechanism].make_server(self._credential)
        self._begun = False
        self._retry: SaslRetry | None = None
        self.complete = False
        self.authorization_id = ""

    def _credential(self, user: str) -> tuple[bytes, bytes, bytes, int]:
        try:
            credential = self._credentials(user)
        except SaslRetry as error:
            self._retry = error  # scramp makes an error of its own of it
            raise
        if credential is None:
            raise SaslError("Invalid user credentials")
        if not LEAST_ITERATIONS <= credential.iterations <= MOST_ITERATIONS:
            raise SaslError(f"{credential.iterations} iterations, at least {LEAST_ITERATIONS} are needed")
        self.authorization_id = str(user)
        return credential.salt, credential.stored_key, credential.server_key, credential.iterations

    def evaluate(self, token: bytes) -> bytes:
        try:
            text = token.decode()
            if not self._begun:
                self._begun = True
                self._server.set_client_first(text)
                return str(self._server.get_server_first()).encode()
            self._server.set_client_final(text)
            answer = str(self._server.get_server_final()).encode()
        except (ScramException, ValueError, ArithmeticError, LookupError) as error:
            if self._retry is not None:
                raise self._retry from None
            raise SaslError(type(error).__name__) from None  # its text may hold a name or a nonce
        self.complete = True
        return answer
