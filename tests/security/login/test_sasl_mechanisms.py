"""The client's side of the SASL mechanisms, against the servers' sides of this project and of others."""

import secrets
from typing import Any

import pytest
from scramp import ScramMechanism

from kafka_reassign_rpc.security.login.sasl_mechanisms import (
    LONGEST_MESSAGE,
    LoginFailed,
    next_token,
    oauthbearer,
    plain,
    scram,
)
from kafka_reassign_rpc.security.sasl.scram import ScramSaslServer
from tests.security.sasl_steps import scram_credential

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
RFC_NONCE = "rOprNGfwEbeRWgbNEkqO"
RFC_SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def test_sv_5_scram_is_that_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of RFC 7677."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: RFC_NONCE)
    exchange = scram("SCRAM-SHA-256", "user", "pencil")
    assert next_token(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert next_token(exchange, RFC_SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert next_token(exchange, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "a,b=c", "=2C"])
def test_sv_5_scram_is_understood_by_our_server_and_by_another_one(mechanism: str, user: str) -> None:
    ours = ScramSaslServer(mechanism, lambda name: scram_credential(mechanism, "secret") if name == user else None)
    exchange = scram(mechanism, user, "secret")
    last = ours.evaluate(ours_next(exchange, ours.evaluate(next_token(exchange) or b"")))
    assert next_token(exchange, last) is None
    assert ours.authorization_id == user

    another = ScramMechanism(mechanism).make_server(
        lambda _: ScramMechanism(mechanism).make_auth_info("secret", iteration_count=4096)
    )
    exchange = scram(mechanism, user, "secret")
    another.set_client_first((next_token(exchange) or b"").decode())
    another.set_client_final(ours_next(exchange, another.get_server_first().encode()).decode())
    assert next_token(exchange, another.get_server_final().encode()) is None


def ours_next(exchange: Any, challenge: bytes) -> bytes:
    found = next_token(exchange, challenge)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "first message is none for this client"),
        (b"r=other,s=c2FsdA==,i=4096", "first message is none for this client"),
        (b"r={nonce}x,s=c2FsdA==", "first message is none for this client"),
        (b"r={nonce}x,s=c2FsdA==,i=4095", "wants 4095 iterations, 4096 to 1000000 are taken"),
        (b"r={nonce}x,s=c2FsdA==,i=999999999", "wants 999999999 iterations"),
        (b"r={nonce}x,s=c2FsdA==,i=99999999999999999999", "first message is none for this client"),
        (b"r={nonce}" + b"x" * LONGEST_MESSAGE + b",s=c2FsdA==,i=4096", "bytes is too long"),
    ],
)
def test_sv_5_what_a_server_may_make_a_client_of_scram_do_is_bounded(answer: bytes, why: str) -> None:
    exchange = scram("SCRAM-SHA-512", "alice", "hush")
    nonce = (next_token(exchange) or b"").partition(b"r=")[2]
    with pytest.raises(LoginFailed, match=why) as refused:
        next_token(exchange, answer.replace(b"{nonce}", nonce))
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("last", [b"v=c2FsdA==", b"", b"e=other-error"])
def test_sv_5_a_server_of_scram_that_does_not_know_the_password_is_not_trusted(last: bytes) -> None:
    exchange = scram("SCRAM-SHA-256", "alice", "hush")
    nonce = (next_token(exchange) or b"").partition(b"r=")[2]
    next_token(exchange, b"r=" + nonce + b"x,s=c2FsdA==,i=4096")
    with pytest.raises(LoginFailed, match="does not prove that it knows the password"):
        next_token(exchange, last)


def test_sv_5_plain_ends_with_an_empty_answer_alone() -> None:
    exchange = plain("é", "hush")
    assert next_token(exchange) == "é\0é\0hush".encode()
    assert next_token(exchange, b"") is None
    exchange = plain("é", "hush")
    next_token(exchange)
    with pytest.raises(LoginFailed, match="did not end the exchange"):
        next_token(exchange, b"more")


class Provider:
    def token(self) -> str:
        return "e30.e30.c"

    def extensions(self) -> dict[str, str]:
        return {"x": "y", "z": "1"}


def test_sv_5_a_refused_token_is_confirmed_so_that_the_server_says_why() -> None:
    exchange = oauthbearer(Provider())
    assert next_token(exchange) == b"n,,\x01auth=Bearer e30.e30.c\x01x=y\x01z=1\x01\x01"
    assert next_token(exchange, b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(LoginFailed, match="did not end the exchange"):
        next_token(exchange, b"")
    exchange = oauthbearer(Provider())
    next_token(exchange)
    assert next_token(exchange, b"") is None
