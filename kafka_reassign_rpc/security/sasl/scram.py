"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), step by step as Kafka does it (ScramSaslServer,
ScramCredentialUtils, Kafka 3.9). Delegation tokens (`tokenauth=true`) are refused: only brokers take them.

The messages are as Kafka reads and signs them, with a bound on every field.

    client first   n,[a=authzid],[m=…,]n=name,r=nonce[,extension=value]…
    server first   r=nonce of both,s=salt,i=iterations
    client final   c=channel,r=nonce of both[,extension=value]…,p=proof
    server final   v=signature

All of it is ASCII, so a name with other characters cannot log in. What is signed has the client's name, nonce and
extensions, but no `m=…` and no extensions of the client's last message. The channel that a client claims is signed, and
checked no further.

Kafka bounds none of these fields. Here a message that is longer than any that can succeed is refused before anything
looks at its fields. Kafka signs several extensions in the order of a Java hash map; here it is the client's own, which
clients sign. Source: ScramMessages, ScramFormatter (Kafka 3.9); RFC 5802.

SCRAM credentials of all users in memory, as brokers keep them: no authentication waits for ZooKeeper.

The code that reads ZooKeeper keeps them up to date.
"""

import binascii
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.configs import scram_credentials
from kafka_reassign_rpc.core.configs.scram_credentials import LEAST_ITERATIONS, fields_of
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError, SaslError, SaslRetry

LONGEST_MESSAGE = 8192
"""In bytes. A name takes 3,072 with each character escaped, twice with an authorization id."""
LONGEST_NONCE = 1024
"""In characters. Clients send 20 to 60."""
SASL_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]++"
_NONCE = r"[\x21-\x2b\x2d-\x7e]++"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]++={_VALUE})*"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authzid>{SASL_NAME}))?,(?:m={_VALUE},)?n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS})"
)
_CLIENT_FINAL = re.compile(rf"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS},p=(?P<proof>{_BASE64})")


class BadScramMessage(ValueError):
    """The text has nothing of the client's message."""


class ClientFirst(NamedTuple):
    """`authorization_id` ("" if none) and `sent_name` have the client's escapes."""

    authorization_id: str
    sent_name: str
    nonce: str
    extensions: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.sent_name.replace("=2C", ",").replace("=3D", "=")

    @property
    def uses_delegation_token(self) -> bool:
        return self.extensions.get("tokenauth", "").lower() == "true"

    @property
    def signed(self) -> str:
        parts = [
            f"n={self.sent_name}",
            f"r={self.nonce}",
            *(f"{name}={value}" for name, value in self.extensions.items()),
        ]
        return ",".join(parts)


class ClientFinal(NamedTuple):
    channel: str
    nonce: str
    proof: bytes

    @property
    def signed(self) -> str:
        return f"c={self.channel},r={self.nonce}"


def parse_client_first(token: bytes) -> ClientFirst:
    """Raises BadScramMessage."""
    match = _CLIENT_FIRST.fullmatch(_text(token))
    if match is None or len(match["nonce"]) > LONGEST_NONCE:
        raise BadScramMessage("it is no first message")
    pairs = match["extensions"].split(",")[1:]
    found = ClientFirst(
        match["authzid"] or "", match["name"], match["nonce"], dict(pair.split("=", 1) for pair in pairs)
    )
    if len(found.name) > LONGEST_NAME:
        raise BadScramMessage("its name is longer than any")
    return found


def parse_client_final(token: bytes) -> ClientFinal:
    """Raises BadScramMessage."""
    match = _CLIENT_FINAL.fullmatch(_text(token))
    if match is None:
        raise BadScramMessage("it is no last message")
    channel = b64encode(b64decode(match["channel"])).decode()  # bits behind the last byte count for nothing
    return ClientFinal(channel, match["nonce"], b64decode(match["proof"]))


def _text(token: bytes) -> str:
    if len(token) > LONGEST_MESSAGE or not token.isascii():
        raise BadScramMessage("it is too long, or not ASCII")
    return token.decode("ascii")


def server_first(nonce: str, salt: bytes, iterations: int) -> str:
    return f"r={nonce},s={b64encode(salt).decode()},i={iterations}"


def server_final(signature: bytes) -> str:
    return f"v={b64encode(signature).decode()}"


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


class CredentialCache:
    def __init__(self) -> None:
        self._texts: Mapping[str, dict[str, str]] = {name: {} for name in MECHANISMS}
        self.loaded = False
        """Whether all users have been read once."""

    def put(self, user: str, configs: Mapping[str, str]) -> None:
        for name, users in self._texts.items():
            text = configs.get(name)
            if text is None:
                users.pop(user, None)
            else:
                users[user] = text

    def keep_only(self, users: Iterable[str]) -> None:
        known = frozenset(users)
        for by_user in self._texts.values():
            for user in by_user.keys() - known:
                del by_user[user]
        self.loaded = True

    def of(self, mechanism: str) -> Credentials:
        """The look-up raises SaslRetry until all users have been read once."""
        texts = self._texts[mechanism]

        def find(user: str) -> ScramCredential | None:
            if not self.loaded:
                raise SaslRetry("the credentials have not been read from ZooKeeper yet")
            text = texts.get(user)
            return None if text is None else parse_credential(text)

        return find
