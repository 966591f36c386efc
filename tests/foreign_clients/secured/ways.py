"""The ways in: each listener kind with each mechanism, and each state of the credentials; as clients in any language
take them, as JSON.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.certificates import Authority

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
PASSWORDS = ("PLAIN", *SCRAM)
MECHANISMS = (*PASSWORDS, "OAUTHBEARER")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
RIGHT, WRONG, EXPIRED, REVOKED = "right", "wrong", "expired", "revoked"
UNTRUSTED = "untrusted"
"""The client does not trust the server."""
NONE = "none"
"""No certificate where one is wanted."""

SECRET = "user's secret"
PRESENT, GONE = "alice", "carol"
"""The user that exists, and the one that was taken away."""


@dataclass(frozen=True)
class Way:
    """A client's settings. Files are PEM; `own` has a key and its certificate, "" where there is none."""

    name: str
    state: str
    protocol: str
    bootstrap: str
    trusted: str
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    own: str = ""

    @property
    def server_says(self) -> str:
        """What the server says to a client that it refuses: Kafka's texts."""
        if self.mechanism == "PLAIN":
            return "Authentication failed: Invalid username or password"
        if self.mechanism == "OAUTHBEARER":
            return '{"status":"invalid_token"}'
        what = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
        return f"{what} {self.mechanism}"


class Credentials:
    """Certificates and tokens of every state."""

    def __init__(self, directory: Path, ca: Authority, key: RSAKey) -> None:
        self._key = key
        strange = Authority("CN=ca")
        self.trusted = ca.pem_truststore(directory / "ca.pem")["ssl.truststore.location"]
        self.untrusted = Authority("CN=strange").pem_truststore(directory / "strange.pem")["ssl.truststore.location"]
        issued = {
            RIGHT: ca.issue("CN=alice"),
            WRONG: strange.issue("CN=alice"),
            EXPIRED: ca.issue("CN=alice", begins=-timedelta(days=9), ends=-timedelta(days=1)),
        }
        self.certificates = {NONE: ""}
        for state, one in issued.items():
            self.certificates[state] = one.pem_keystore(directory / f"{state}.pem")["ssl.keystore.location"]

    def token(self, state: str) -> str:
        now = int(time.time())
        key = self._key if state != WRONG else RSAKey.generate_key(2048, {"kid": "rsa"})
        begins = now - 9_000 if state == EXPIRED else now
        return jwt.encode({"alg": "RS256", "kid": "rsa"}, {"sub": PRESENT, "iat": begins, "exp": begins + 600}, key)


def ways(addresses: Mapping[str, str], given: Credentials) -> Iterator[Way]:
    """`addresses`: of the listeners, by protocol."""

    def way(state: str, protocol: str, mechanism: str = "", **more: Any) -> Way:
        name = " ".join(filter(None, (protocol, mechanism, state)))
        trusted = given.untrusted if state == UNTRUSTED else given.trusted
        return Way(name, state, protocol, addresses[protocol], trusted, mechanism, **more)

    yield way(RIGHT, "PLAINTEXT")
    for state, own in given.certificates.items():
        yield way(state, "SSL", own=own)
    for protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        for mechanism in PASSWORDS:
            for state, user in ((RIGHT, PRESENT), (WRONG, PRESENT), (REVOKED, GONE)):
                password = "another secret" if state == WRONG else SECRET
                yield way(state, protocol, mechanism, user=user, password=password)
        for state in (RIGHT, WRONG, EXPIRED):
            yield way(state, protocol, "OAUTHBEARER", token=given.token(state))
    yield way(UNTRUSTED, "SASL_SSL", "PLAIN", user=PRESENT, password=SECRET)
