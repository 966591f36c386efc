"""OAUTHBEARER: which tokens are accepted, and what a client learns of the others."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError, SaslError, SaslRetry
from kafka_reassign_rpc.security.sasl.oauthbearer import OAuthBearerSaslServer, TokenKeys, TokenRules
from tests.security.sasl_steps import Exchange
from tests.tables import for_each

RSA = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec"})
STRANGE = RSAKey.generate_key(2048, {"kid": "rsa"})
SECRET = OctKey.generate_key(256, {"kid": "secret"})
JWKS = KeySet.import_key_set(KeySet([RSA, EC]).as_dict(private=False))
NOW = 1_700_000_000.0
CLAIMS = {"sub": "alice", "iat": int(NOW) - 10, "exp": int(NOW) + 600}
INVALID = b'{"status":"invalid_token"}'


def signed(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "rsa", **claims: Any) -> str:
    header = {"alg": algorithm} | ({} if kid is None else {"kid": kid})
    wanted = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(header, wanted, key, algorithms=[algorithm])


def first(token: str, authzid: str = "", extensions: str = "") -> bytes:
    return f"n,{authzid and 'a=' + authzid},\x01auth=Bearer {token}\x01{extensions}\x01".encode()


def server(rules: TokenRules | None = None, keys: KeySet | None = JWKS, **more: Any) -> OAuthBearerSaslServer:
    held = TokenKeys(**more)
    held.keys = keys
    return OAuthBearerSaslServer(held, rules or TokenRules(), lambda: NOW)


@for_each(
    ("rules", "token"),
    [
        (TokenRules(), signed()),
        (TokenRules(), signed(EC, "ES256", "ec")),
        (TokenRules(), signed(RSA, "PS384")),
        (TokenRules(), signed(exp=int(NOW) - 29)),  # within the skew
        (TokenRules(), signed(nbf=int(NOW) + 29)),
        (TokenRules(audiences=("kafka", "other")), signed(aud=["x", "kafka"])),
        (TokenRules(audiences=("kafka",)), signed(aud="kafka")),
        (TokenRules(issuer="https://issuer"), signed(iss="https://issuer")),
        (TokenRules(subject_claim="client_id"), signed(sub=None, client_id="alice")),
    ],
)
def test_sv_5_a_signed_token_that_keeps_the_rules_is_accepted(rules: TokenRules, token: str) -> None:
    one = server(rules)
    assert one.evaluate(first(token, extensions="trace=1\x01")) == b""
    assert (one.complete, one.authorization_id) == (True, "alice")
    assert one.expires_at is not None


NONE = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImlhdCI6MTY5OTk5OTk5MCwiZXhwIjoxNzAwMDAwNjAwfQ"


@for_each(
    ("rules", "token"),
    [
        (TokenRules(), f"{NONE}."),
        (TokenRules(), NONE),
        (TokenRules(), signed(SECRET, "HS256", "secret")),
        (TokenRules(), signed(STRANGE)),
        (TokenRules(), signed(kid="unknown")),
        (TokenRules(), signed()[:-8] + "AAAAAAAA"),
        (TokenRules(), signed(exp=None)),
        (TokenRules(), signed(iat=None)),
        (TokenRules(), signed(exp=int(NOW) - 30)),
        (TokenRules(), signed(nbf=int(NOW) + 31)),
        (TokenRules(), signed(exp="later")),
        (TokenRules(), signed(exp=True)),
        (TokenRules(), signed(exp=1e300)),
        (TokenRules(), signed(sub=None)),
        (TokenRules(), signed(sub=" ")),
        (TokenRules(), signed(sub=7)),
        (TokenRules(), signed(sub="a" * 1025)),
        (TokenRules(), signed(aud="kafka")),
        (TokenRules(audiences=("kafka",)), signed()),
        (TokenRules(audiences=("kafka",)), signed(aud=["other"])),
        (TokenRules(audiences=("kafka",)), signed(aud=[{"a": 1}])),
        (TokenRules(issuer="https://issuer"), signed()),
        (TokenRules(issuer="https://issuer"), signed(iss="https://other")),
        (TokenRules(), signed(scope=["a", 1])),
        (TokenRules(), "a.b.c"),
        (TokenRules(), "a"),
        (TokenRules(), "e30.e30.e30"),
        (TokenRules(), "W10.W10.W10"),
    ],
)
def test_sv_5_any_other_token_is_answered_with_its_status_and_then_fails(rules: TokenRules, token: str) -> None:
    one = server(rules)
    assert one.evaluate(first(token)) == INVALID
    assert not one.complete
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        one.evaluate(b"\x01")


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(("bits", "kid"), [(1024, "weak"), (2047, "weak"), (1024, None)])
def test_sv_5_a_token_that_is_signed_with_a_short_rsa_key_is_refused(bits: int, kid: str | None) -> None:
    made = rsa.generate_private_key(65537, bits)
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    weak = RSAKey.import_key(pem, {"kid": "weak"})
    token = signed(weak, kid=kid)
    one = server(keys=KeySet([weak]))
    assert one.evaluate(first(token)) == INVALID
    assert server(keys=KeySet([RSA])).evaluate(first(signed(kid=kid and "rsa"))) == b""


@for_each(
    "token",
    [
        b"",
        b"\x01",
        b"\xff",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"y,,\x01auth=Bearer x\x01\x01",
        b"n,,\x01auth=Bearer x\x01",
    ],
)
def test_sv_5_what_is_no_message_of_oauthbearer_fails_with_the_generic_text(token: bytes) -> None:
    with pytest.raises(SaslError) as caught:
        server().evaluate(token)
    assert not isinstance(caught.value, SaslAuthenticationError)


def test_sv_5_a_client_may_send_another_token_after_a_bad_one() -> None:
    one = server()
    assert one.evaluate(first("a.b.c")) == INVALID
    assert one.evaluate(first(signed())) == b""
    assert one.complete


def test_sv_5_an_authorization_id_has_to_be_the_subject() -> None:
    assert server().evaluate(first(signed(), "alice")) == b""
    with pytest.raises(SaslAuthenticationError, match=r"\(bob\) that is different from the token's principal name"):
        server().evaluate(first(signed(), "bob"))


def test_sv_5_an_unknown_key_asks_for_the_jwks_once_a_minute_and_a_very_long_one_never() -> None:
    asked: list[int] = []
    now = 0.0
    one = server(wanted=lambda: asked.append(1), clock=lambda: now)
    for kid in ("k", "k", "k" * 1001):
        assert one.evaluate(first(signed(kid=kid))) == INVALID
    assert len(asked) == 1
    now = 60.0
    one.evaluate(first(signed(kid="k")))
    assert len(asked) == 2


def test_sv_5_without_keys_a_client_is_asked_to_come_again() -> None:
    with pytest.raises(SaslRetry):
        server(keys=None).evaluate(first(signed()))


def test_sv_5_the_session_ends_with_the_token_whatever_connections_max_reauth_ms_says() -> None:
    held = TokenKeys()
    held.keys = JWKS
    made = Exchange()
    seconds = int(made.clocks.wall)
    token = signed(iat=seconds, exp=seconds + 600)

    def log_in(reauth: dict[str, int]) -> Any:
        exchange = Exchange(
            mechanisms={"OAUTHBEARER": lambda _: OAuthBearerSaslServer(held, TokenRules(), lambda: float(seconds))},
            max_reauth_ms=reauth,
        )
        exchange.handshake("OAUTHBEARER")
        return exchange.token(first(token))[0]

    assert log_in({}).session_lifetime_ms == 600_000
    assert log_in({"OAUTHBEARER": 60_000}).session_lifetime_ms == 60_000
    assert log_in({"OAUTHBEARER": 3_600_000}).session_lifetime_ms == 600_000
