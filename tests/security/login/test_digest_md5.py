"""DIGEST-MD5 by the example of RFC 2831, section 4. tests/zookeeper/test_digest_login.py has the real server."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed
from kafka_reassign_rpc.security.login.zookeeper_login import MAX_CHALLENGE, DigestMd5Client, directives

CHALLENGE = (
    b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth,auth-int,auth-conf",algorithm=md5-sess,charset=utf-8'
)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> DigestMd5Client:
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _: "OA6MHXh6VqTrRk")
    return DigestMd5Client("chris", "secret", "imap/elwood.innosoft.com")


def test_sv_5_a_login_is_that_of_the_standard(client: DigestMd5Client) -> None:
    assert directives(client.respond(CHALLENGE)) == {
        "charset": "utf-8",
        "username": "chris",
        "realm": "elwood.innosoft.com",
        "nonce": "OA6MG9tEQGm2hh",
        "nc": "00000001",
        "cnonce": "OA6MHXh6VqTrRk",
        "digest-uri": "imap/elwood.innosoft.com",
        "response": "d388dad90d4bbd760a152321f2143af7",
        "qop": "auth",
    }
    client.verify(b"rspauth=ea40f60335c427b5527b84dbabcdfffd")


@pytest.mark.parametrize("token", [b"", b"rspauth=", b"rspauth=ea40f60335c427b5527b84dbabcdfffe", b"=", b"\xff"])
def test_sv_5_a_server_that_does_not_know_the_password_is_refused(client: DigestMd5Client, token: bytes) -> None:
    client.respond(CHALLENGE)
    with pytest.raises(LoginFailed):
        client.verify(token)


@pytest.mark.parametrize(
    "challenge",
    [
        b"", b"nonce=", CHALLENGE.replace(b"md5-sess", b"md5"), CHALLENGE.replace(b"auth,auth-int", b"auth-int"),
        b'nonce="x', b"\0" * 9, CHALLENGE + b',x="' + b"y" * MAX_CHALLENGE + b'"',
    ],
)  # fmt: skip
def test_sv_5_a_challenge_that_cannot_be_answered_is_refused(client: DigestMd5Client, challenge: bytes) -> None:
    with pytest.raises(LoginFailed) as refused:
        client.respond(challenge)
    assert "secret" not in str(refused.value)
    with pytest.raises(LoginFailed):  # nothing is expected yet, and nothing is not enough
        client.verify(b"rspauth=")


@given(st.binary(max_size=60))
def test_sv_5_any_bytes_are_understood_or_refused(challenge: bytes) -> None:
    try:
        DigestMd5Client("a", "b", "c/d").respond(challenge)
    except LoginFailed:
        return
