"""Users of PLAIN by hashes of their passwords, from a TOML file: no password is on a disk.

alice = "salt=…,stored_key=…,server_key=…,iterations=…"

The form is that of SCRAM credentials in Kafka's configs; keys of 64 bytes mean SHA-512, of 32 SHA-256. A line is
what `kafka-configs.sh --describe --entity-type users` shows of a user in ZooKeeper, or what `hashed_line` makes.
"""

import hashlib
import hmac
import os
import secrets
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.scram_credentials import (
    LEAST_ITERATIONS,
    MOST_OF_A_LINE,
    credential_text,
    stored_key_of,
)
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl.mechanism import ChecksInTurns, SaslAuthenticationError, TooBusy
from kafka_reassign_rpc.security.sasl.scram import ScramCredential, parse_credential

HASHES: Mapping[int, str] = {32: "sha256", 64: "sha512"}
"""By the length of a key."""
ITERATIONS = 210_000
"""For new lines, with SHA-512."""
MOST_BYTES = 1 << 24
UNAVAILABLE = "Authentication failed: credentials for user could not be verified"
"""Kafka's text if its callback handler fails."""


def parse_users(data: bytes, source: str) -> dict[str, ScramCredential]:
    """Raises BadSetting, which names `source` and shows no hash."""
    try:
        table = tomllib.loads(data.decode())
    except (ValueError, RecursionError):  # besides TOML's own errors: an integer of thousands of digits
        raise BadSetting(f"{source}: it is not TOML") from None
    users = {}
    for place, (user, text) in enumerate(table.items(), 1):
        which = f"{source}: user {place} of the file"
        if len(user) > LONGEST_NAME:
            raise BadSetting(f"{which}: a name has at most {LONGEST_NAME} characters")
        credential = parse_credential(text) if isinstance(text, str) else None
        if credential is None or len(credential.stored_key) not in HASHES:
            raise BadSetting(f"{which}: expected salt=…,stored_key=…,server_key=…,iterations=…")
        if not LEAST_ITERATIONS <= credential.iterations <= MOST_OF_A_LINE:
            raise BadSetting(f"{which}: expected {LEAST_ITERATIONS} to {MOST_OF_A_LINE} iterations")
        users[user] = credential
    return users


def hashed_line(password: str, iterations: int = ITERATIONS) -> str:
    salt = os.urandom(24)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, iterations)
    return credential_text("sha512", iterations, salt, salted)


class _Proven(NamedTuple):
    """A right password's credential, and its digest under a key of this process."""

    credential: ScramCredential
    digest: bytes


class HashedUsers:
    """A hash takes long on purpose: it is computed off the event loop, and the clients' addresses take turns. A digest
    that only this process can make recognizes a password that was right once, so clients that come back do not wait
    behind others.
    """

    def __init__(self, users: Mapping[str, ScramCredential]) -> None:
        self._checks = ChecksInTurns("passwords")
        self._key = secrets.token_bytes(32)
        self._proven: dict[str, _Proven] = {}
        self.replace(users)

    def __repr__(self) -> str:
        return f"HashedUsers of {len(self._users)} users"

    def replace(self, users: Mapping[str, ScramCredential]) -> None:
        """A user who is not in the new file is unknown from now on."""
        self._users = dict(users)
        costs = [(len(one.stored_key), one.iterations) for one in users.values()] or [(64, ITERATIONS)]
        self._nobodies = [ScramCredential(os.urandom(24), os.urandom(size), b"", count) for size, count in costs]

    def _nobody(self, user: str) -> ScramCredential:
        """No password fits it. It is always the same for a name, and costs as much as a user's."""
        place = int.from_bytes(hmac.digest(self._key, user.encode("utf-8", "surrogatepass"), "sha256"))
        return self._nobodies[place % len(self._nobodies)]

    def close(self) -> None:
        self._checks.close()

    async def verify(self, user: str, password: str, address: str) -> bool:
        """Raises SaslAuthenticationError if too many passwords wait for their check."""
        known = self._users.get(user)
        digest = hmac.digest(self._key, password.encode("utf-8", "surrogatepass"), "sha256")
        proven = self._proven.get(user)
        if proven is not None and proven.credential == known and hmac.compare_digest(proven.digest, digest):
            return True
        against = known or self._nobody(user)
        try:
            right = await self._checks.run(address, lambda: _is_password(against, password))
        except TooBusy:
            raise SaslAuthenticationError(UNAVAILABLE) from None
        if not right or known is None or self._users.get(user) != known:
            return False
        self._proven[user] = _Proven(known, digest)  # at most one for each user of the file
        return True


def _is_password(known: ScramCredential, password: str) -> bool:
    name = HASHES[len(known.stored_key)]
    salted = hashlib.pbkdf2_hmac(name, password.encode("utf-8", "surrogatepass"), known.salt, known.iterations)
    return hmac.compare_digest(stored_key_of(name, salted), known.stored_key)
