"""SASL OAUTHBEARER (RFC 7628) with signed tokens (JWT), as the validator of KIP-768 checks them.

A token with `aud` is refused if no audience is expected. Unsigned tokens, and tokens signed with a shared secret, are
always refused: Kafka's default handler takes unsigned ones, and its validator takes shared secrets of the JWKS. An RSA
key has at least 2,048 bits, as in jose4j.

A bad token is answered with a text and no error; the client sends one byte 1, and gets that text again with
SASL_AUTHENTICATION_FAILED. Source: OAuthBearerSaslServer, OAuthBearerClientInitialResponse,
ValidatorAccessTokenValidator, OAuthBearerValidatorCallbackHandler (Kafka 3.9), AudValidator (jose4j).
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet, RSAKey, guess_key

from kafka_reassign_rpc.core.quotas.client_quotas import LONGEST_NAME
from kafka_reassign_rpc.security.sasl.mechanism import SaslAuthenticationError, SaslError, SaslRetry
from kafka_reassign_rpc.security.sasl.scram import SASL_NAME

ALGORITHMS = [f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)]
INVALID_TOKEN = '{"status":"invalid_token"}'  # noqa: S105
CONTROL_A = b"\x01"
LONGEST_MESSAGE = 65_536
"""In bytes. Kafka takes any; issuers keep tokens below what HTTP headers may have, 8 to 32 KiB."""
LEAST_RSA_BITS = 2048
LONGEST_KID = 1000
KIDS_REMEMBERED = 16
KID_S = 60.0
"""For these seconds an unknown key id is not asked for again (RefreshingHttpsJwks)."""

_FIRST = re.compile(rf"n,(?:a=(?P<authzid>{SASL_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]++=[\x21-\x7e \t\r\n]++\x01)*)\x01")
_AUTH = re.compile(r"(?P<scheme>\w++) ++(?P<token>[-_~+/.a-zA-Z0-9]++=*+)", re.ASCII)


class TokenRules(msgspec.Struct, frozen=True):
    """sasl.oauthbearer.expected.audience, expected.issuer, sub.claim.name, scope.claim.name, clock.skew.seconds."""

    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    skew_s: int = 30


class BadToken(Exception):
    """The text is for the log; of the token it has only names of claims."""


class TokenKeys:
    """The keys of a JWKS. The code that fetches it sets `keys`; `wanted` asks for that early."""

    def __init__(self, wanted: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.monotonic) -> None:
        self.keys: KeySet | None = None
        self.wanted = wanted
        self._clock = clock
        self._asked: OrderedDict[str, float] = OrderedDict()

    @property
    def ids(self) -> frozenset[str | None]:
        return frozenset() if self.keys is None else frozenset(key.kid for key in self.keys.keys)

    def for_token(self, kid: object) -> KeySet:
        """Raises BadToken if no key has the id, and SaslRetry before the keys are there."""
        if self.keys is None:
            raise SaslRetry("the keys of sasl.oauthbearer.jwks.endpoint.url are not there yet")
        if kid is not None and not any(key.kid == kid for key in self.keys.keys):
            if isinstance(kid, str) and len(kid) <= LONGEST_KID:
                self._ask_for(kid)
            raise BadToken("its key is not in the JWKS")
        return self.keys

    def _ask_for(self, kid: str) -> None:
        now = self._clock()
        if now - self._asked.get(kid, now - KID_S) < KID_S:
            return
        self._asked[kid] = now
        self._asked.move_to_end(kid)
        if len(self._asked) > KIDS_REMEMBERED:
            self._asked.popitem(last=False)
        self.wanted()


class OAuthBearerSaslServer:
    def __init__(self, keys: TokenKeys, rules: TokenRules, wall_clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._rules = rules
        self._wall_clock = wall_clock
        self._refused = False
        self.complete = False
        self.authorization_id = ""
        self.expires_at: float | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._refused and token == CONTROL_A:
            raise SaslAuthenticationError(INVALID_TOKEN)
        self._refused = False
        authzid, text = _parts(token)
        try:
            subject, expires = self._validate(text)
        except BadToken:
            self._refused = True
            return INVALID_TOKEN.encode()
        if authzid not in ("", subject):
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({authzid}) that is different from the"
                f" token's principal name ({subject})"
            )
        self.authorization_id, self.expires_at, self.complete = subject, expires, True
        return b""

    def _validate(self, text: str) -> tuple[str, float]:
        try:
            header = jws.extract_compact(text.encode()).headers()
            keys = self._keys.for_token(header.get("kid"))
            claims = jwt.decode(text, lambda token: _strong_key(keys, token), algorithms=ALGORITHMS).claims
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise BadToken(type(error).__name__) from None
        return validate_claims(claims, self._rules, self._wall_clock())


def is_weak(key: Key) -> bool:
    """No token may be signed with it (jose4j, RsaKeyUtil)."""
    return isinstance(key, RSAKey) and key.raw_value.key_size < LEAST_RSA_BITS


def _strong_key(keys: KeySet, token: Any) -> Key:
    key = guess_key(keys, token, use="sig")
    if is_weak(key):
        raise BadToken("its RSA key is too short")
    return key


def _parts(token: bytes) -> tuple[str, str]:
    """The authorization id ("" if there is none) and the JWT."""
    match = None if len(token) > LONGEST_MESSAGE else _FIRST.fullmatch(token.decode("utf-8", "replace"))
    if match is None:
        raise SaslError("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.partition("=")[::2] for pair in match["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth["scheme"].lower() != "bearer":
        raise SaslError("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    return match["authzid"] or "", auth["token"]


def validate_claims(claims: Mapping[str, Any], rules: TokenRules, now: float) -> tuple[str, float]:
    """The subject, and when the token expires (seconds since 1970). Raises BadToken."""
    expires, _ = _seconds(claims, "exp"), _seconds(claims, "iat")
    if now - rules.skew_s >= expires:
        raise BadToken("it has expired")
    if "nbf" in claims and now + rules.skew_s < _seconds(claims, "nbf"):
        raise BadToken("it is not valid yet")
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else audience
    expected = audiences is not None or rules.audiences
    if expected and not (isinstance(audiences, list) and any(one in rules.audiences for one in audiences)):
        raise BadToken("it is for another audience")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise BadToken("it has another issuer")
    scopes = claims.get(rules.scope_claim)
    if isinstance(scopes, list) and not all(isinstance(one, str) and one.strip() for one in scopes):
        raise BadToken("its scopes are no texts")
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise BadToken("it has no subject")
    if len(subject) > LONGEST_NAME:
        raise BadToken("its subject is longer than any user's name")
    return subject.strip(), expires


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise BadToken(f"it has no {name}")
    return float(value)
