"""SCRAM credentials: RFC 7677's example, and what a request may not ask for. The texts are those of Kafka 3.9."""

import hashlib
import hmac
from base64 import b64decode, b64encode

import pytest

from kafka_reassign_rpc.core.configs.scram_credentials import (
    Alteration,
    Deletion,
    Upsertion,
    altered,
    iterations_of,
    refusals,
    refusals_of_names,
)
from kafka_reassign_rpc.core.kafka_errors import ResourceNotFound
from tests.tables import for_each

SHA_256, SHA_512 = 1, 2
KEYS = "salt=a,stored_key=b,server_key=c"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def pencil(mechanism: int = SHA_256, iterations: int = 4096, user: str = "user") -> Upsertion:
    """The password of the RFC's example."""
    algorithm = {SHA_256: "sha256", SHA_512: "sha512"}.get(mechanism, "sha256")
    salted = hashlib.pbkdf2_hmac(algorithm, b"pencil", SALT, 4096)
    return Upsertion(user, mechanism, iterations, SALT, salted)


def test_sv_5_a_credential_lets_in_the_client_of_rfc_7677_and_signs_as_its_server() -> None:
    fields = dict(field.partition("=")[::2] for field in altered([pencil()], {})["SCRAM-SHA-256"].split(","))
    auth_message = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = hmac.digest(b64decode(fields["server_key"]), auth_message, "sha256")
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    stored_key = b64decode(fields["stored_key"])
    client_signature = hmac.digest(stored_key, auth_message, "sha256")
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(a ^ b for a, b in zip(client_signature, proof, strict=True))
    assert hashlib.sha256(client_key).digest() == stored_key
    assert (fields["salt"], fields["iterations"]) == ("W22ZaJ0SNY7soEsUEjb6gQ==", "4096")


def test_sv_5_credentials_are_set_and_deleted_and_quotas_stay() -> None:
    quotas = {"producer_byte_rate": "1"}
    both = altered([pencil(SHA_256, 5000), pencil(SHA_512, 6000)], quotas)
    assert iterations_of(both) == {SHA_256: 5000, SHA_512: 6000}
    left = altered([Deletion("user", SHA_256)], both)
    assert iterations_of(left) == {SHA_512: 6000}
    assert altered([Deletion("user", SHA_512)], left) == quotas
    with pytest.raises(ResourceNotFound, match=r"^Attempt to delete a user credential that does not exist$"):
        altered([pencil(SHA_512), Deletion("user", SHA_256)], quotas)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt=a",
        "salt=a,stored_key=b,server_key=c,iterations=x",
        "salt=a,stored_key=b,server_key=c,iterations=1,x=y",
    ],
)
def test_sv_6_a_credential_that_cannot_be_read_has_no_iterations(text: str) -> None:
    assert iterations_of({"SCRAM-SHA-256": text}) == {SHA_256: None}


@for_each(
    ("alterations", "refused"),
    [
        ([pencil(), pencil(SHA_512), Deletion("b", SHA_256)], {}),
        ([pencil(user="")], {"": (93, "Username must not be empty")}),
        ([Deletion("a", 0)], {"a": (33, "Unknown SCRAM mechanism")}),
        ([pencil(3, user="a")], {"a": (33, "Unknown SCRAM mechanism")}),
        ([pencil(iterations=4095)], {"user": (93, "Too few iterations")}),
        ([pencil(iterations=16385)], {"user": (93, "Too many iterations")}),
        (
            [pencil(), Deletion("user", SHA_256)],
            {"user": (92, "A user credential cannot be altered twice in the same request")},
        ),
        ([pencil(), pencil(SHA_512, 1)], {"user": (93, "Too few iterations")}),
        (
            [pencil(user="..")],
            {"..": (93, "A username has at most 1024 characters, and is neither '.' nor '..'")},
        ),
        (
            [Upsertion("a", SHA_256, 4096, bytes(1025), b"")],
            {"a": (93, "A salt and a salted password have at most 1024 bytes")},
        ),
    ],
)
def test_sv_5_what_a_request_may_not_change_is_refused_for_the_whole_user(
    alterations: list[Alteration], refused: dict[str, tuple[int, str]]
) -> None:
    assert {user: (error.code, str(error)) for user, error in refusals(alterations).items()} == refused


def test_sv_5_users_without_a_name_and_users_named_twice_are_not_described() -> None:
    assert {user: (error.code, str(error)) for user, error in refusals_of_names(["", "a", "b", "a"]).items()} == {
        "": (91, "Username must not be empty"),
        "a": (92, "Cannot describe SCRAM credentials for the same user twice in a single request: a"),
    }
