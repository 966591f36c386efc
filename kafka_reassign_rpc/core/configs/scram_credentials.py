"""SCRAM credentials, as the configs of a user hold them (KIP-554).

SCRAM-SHA-256 → salt=$base64,stored_key=$base64,server_key=$base64,iterations=$number

ScramCredentialUtils, ScramFormatter, ZkAdminManager.describeUserScramCredentials, alterUserScramCredentials (3.9).
"""

import hashlib
import hmac
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.kafka_errors import (
    DuplicateResource,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME, can_be_a_name

LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 16_384
"""Of a credential in ZooKeeper, as Kafka has it."""
MOST_OF_A_LINE = 2_000_000
"""Of a user's line in a file of ours: a password then takes about a second."""
MOST_OF_A_LOGIN = 1_000_000
"""Of a broker's first message to this server: about half a second. With more, it could keep its client busy for
hours.
"""
IMPOSSIBLE_NAME = f"A username has at most {LONGEST_NAME} characters, and is neither '.' nor '..'"
LONGEST_SECRET = 1024
"""Bytes of a salt or of a salted password."""


class Mechanism(NamedTuple):
    name: str
    hash: str


MECHANISMS: Mapping[int, Mechanism] = {1: Mechanism("SCRAM-SHA-256", "sha256"), 2: Mechanism("SCRAM-SHA-512", "sha512")}
"""By Kafka's ScramMechanism types."""


class Deletion(NamedTuple):
    user: str
    mechanism: int


class Upsertion(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


Alteration = Deletion | Upsertion


def iterations_of(configs: Mapping[str, str]) -> dict[int, int | None]:
    """By mechanism type; None: the credential is unreadable."""
    return {
        kind: None if (fields := fields_of(configs[mechanism.name])) is None else fields.iterations
        for kind, mechanism in MECHANISMS.items()
        if mechanism.name in configs
    }


class Fields(NamedTuple):
    """Kafka writes the first three as base64; an edited config may hold anything."""

    salt: str
    stored_key: str
    server_key: str
    iterations: int


def fields_of(credential: str) -> Fields | None:
    """None: no credential."""
    found = dict(field.partition("=")[::2] for field in credential.split(","))
    iterations = number(found["iterations"], 1, INT32) if found.keys() == set(Fields._fields) else None
    return None if iterations is None else Fields(found["salt"], found["stored_key"], found["server_key"], iterations)


def refusals_of_names(users: Sequence[str]) -> dict[str, KafkaError]:
    """Why a request may not ask about these users."""
    refused: dict[str, KafkaError] = {}
    for user, count in Counter(users).items():
        if not user:
            refused[user] = ResourceNotFound("Username must not be empty")
        elif not can_be_a_name(user):
            refused[user] = ResourceNotFound(IMPOSSIBLE_NAME)
        elif count > 1:
            refused[user] = DuplicateResource(
                f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            )
    return refused


def refusals(alterations: Sequence[Alteration]) -> dict[str, KafkaError]:
    """By user."""
    refused: dict[str, KafkaError] = {}
    for one in alterations:
        reason = _refusal(one)
        if reason is not None:
            refused[one.user] = reason
    for (user, _), count in Counter((one.user, one.mechanism) for one in alterations).items():
        if count > 1 and user not in refused:
            refused[user] = DuplicateResource("A user credential cannot be altered twice in the same request")
    return refused


def _refusal(one: Alteration) -> KafkaError | None:
    if not one.user:
        return UnacceptableCredential("Username must not be empty")
    if one.mechanism not in MECHANISMS:
        return UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if not can_be_a_name(one.user):
        return UnacceptableCredential(IMPOSSIBLE_NAME)
    if isinstance(one, Upsertion):
        if one.iterations < LEAST_ITERATIONS:
            return UnacceptableCredential("Too few iterations")
        if one.iterations > MOST_ITERATIONS:
            return UnacceptableCredential("Too many iterations")
        if len(one.salt) > LONGEST_SECRET or len(one.salted_password) > LONGEST_SECRET:
            return UnacceptableCredential(f"A salt and a salted password have at most {LONGEST_SECRET} bytes")
    return None


def altered(alterations: Sequence[Alteration], configs: Mapping[str, str]) -> dict[str, str]:
    """Takes checked alterations. Raises ResourceNotFound."""
    wanted = dict(configs)
    for one in alterations:
        name = MECHANISMS[one.mechanism].name
        if isinstance(one, Upsertion):
            wanted[name] = credential_text(
                MECHANISMS[one.mechanism].hash, one.iterations, one.salt, one.salted_password
            )
        elif wanted.pop(name, None) is None:
            raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    return wanted


def credential_text(algorithm: str, iterations: int, salt: bytes, salted_password: bytes) -> str:
    """`algorithm`: the mechanism's hash, such as sha512."""
    stored_key = stored_key_of(algorithm, salted_password)
    server_key = server_key_of(algorithm, salted_password)
    texts = (b64encode(value).decode() for value in (salt, stored_key, server_key))
    return "salt={},stored_key={},server_key={},iterations={}".format(*texts, iterations)


def stored_key_of(algorithm: str, salted_password: bytes) -> bytes:
    """RFC 5802: a client's proof is checked against it."""
    return hashlib.new(algorithm, client_key_of(algorithm, salted_password)).digest()


def client_key_of(algorithm: str, salted_password: bytes) -> bytes:
    """RFC 5802: only a client with the password has it."""
    return hmac.digest(salted_password, b"Client Key", algorithm)


def server_key_of(algorithm: str, salted_password: bytes) -> bytes:
    """RFC 5802: with it a server proves that it knows the credential."""
    return hmac.digest(salted_password, b"Server Key", algorithm)
