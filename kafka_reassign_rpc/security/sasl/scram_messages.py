"""The messages of SCRAM as Kafka reads and signs them, with a bound on every field.

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
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME

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
