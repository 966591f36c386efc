"""The state machine of SaslAuthenticator against Kafka's SaslServerAuthenticator: every order of messages."""

import struct
from typing import Any

import pytest

from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ListGroupsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.security.authenticator import Admission, End
from kafka_reassign_rpc.security.sasl.plain import PlainPasswords, PlainSaslServer
from tests.security.sasl_steps import (
    USERS,
    Exchange,
    api_versions,
    plain,
    request,
    scram_credential,
    scram_proof,
    scram_servers,
    unknown_api_versions,
)
from tests.tables import for_each

SERVED, LATER, NOW = End.OPEN, End.CLOSE_LATER, End.CLOSE_NOW

VERSIONS = request(api_versions(), 3)
IMPROPER = request(api_versions(name=""), 3)
HANDSHAKE_0 = request(SaslHandshakeRequest(mechanism="PLAIN", version=0), 0)
HANDSHAKE = request(SaslHandshakeRequest(mechanism="PLAIN", version=1), 1)
OTHER_MECHANISM = request(SaslHandshakeRequest(mechanism="CRAM-MD5", version=1), 1)
RIGHT = request(SaslAuthenticateRequest(auth_bytes=plain("alice", "alice-secret"), version=2), 2)
WRONG = request(SaslAuthenticateRequest(auth_bytes=plain("alice", "no"), version=2), 2)
METADATA = request(MetadataRequest(version=9), 9)
PRODUCE = struct.pack(">hhih", 0, 9, 7, -1) + bytes(20)
VENDOR = struct.pack(">hhih", 32240, 0, 7, -1) + bytes(20)
NO_API = struct.pack(">hhih", 9999, 0, 7, -1)
SHORT = b"\0\x12"
HANDSHAKE_9 = struct.pack(">hhih", 17, 9, 7, -1)
AUTHENTICATE_9 = struct.pack(">hhih", 36, 9, 7, -1)
CUT = HANDSHAKE[:-2]

ORDERS: list[tuple[str, list[bytes], list[tuple[End, bool]]]] = [
    # name, frames, for each frame: how it ends, and whether it has an answer
    ("versions_then_handshake", [VERSIONS, HANDSHAKE, RIGHT], [(SERVED, True)] * 3),
    ("handshake_at_once", [HANDSHAKE, RIGHT], [(SERVED, True)] * 2),
    ("unknown_versions_may_be_repeated", [unknown_api_versions()] * 3 + [VERSIONS, HANDSHAKE], [(SERVED, True)] * 5),
    ("improper_names_may_be_repeated", [IMPROPER, IMPROPER, VERSIONS], [(SERVED, True)] * 3),
    ("versions_twice", [VERSIONS, VERSIONS], [(SERVED, True), (NOW, False)]),
    ("unknown_versions_after_good_ones", [VERSIONS, unknown_api_versions()], [(SERVED, True), (NOW, False)]),
    ("unknown_mechanism", [OTHER_MECHANISM], [(LATER, True)]),
    ("unknown_mechanism_after_versions", [VERSIONS, OTHER_MECHANISM], [(SERVED, True), (LATER, True)]),
    ("metadata_first", [METADATA], [(LATER, False)]),
    ("produce_first", [PRODUCE], [(LATER, False)]),
    ("vendor_first", [VENDOR], [(LATER, False)]),
    ("authenticate_first", [RIGHT], [(LATER, False)]),
    ("metadata_after_versions", [VERSIONS, METADATA], [(SERVED, True), (LATER, False)]),
    ("no_api_first", [NO_API], [(LATER, False)]),
    ("no_request_first", [SHORT], [(LATER, False)]),
    ("nothing_first", [b""], [(LATER, False)]),
    ("no_api_after_versions", [VERSIONS, NO_API], [(SERVED, True), (NOW, False)]),
    ("no_request_after_versions", [VERSIONS, SHORT], [(SERVED, True), (NOW, False)]),
    ("unknown_handshake", [HANDSHAKE_9], [(NOW, False)]),
    ("cut_handshake", [CUT], [(NOW, False)]),
    ("versions_after_handshake", [HANDSHAKE, VERSIONS], [(SERVED, True), (LATER, True)]),
    ("unknown_versions_after_handshake", [HANDSHAKE, unknown_api_versions()], [(SERVED, True), (LATER, True)]),
    ("handshake_twice", [HANDSHAKE, HANDSHAKE], [(SERVED, True), (LATER, True)]),
    ("metadata_after_handshake", [HANDSHAKE, METADATA], [(SERVED, True), (LATER, True)]),
    ("cut_produce_after_handshake", [HANDSHAKE, PRODUCE], [(SERVED, True), (NOW, False)]),
    ("unknown_authenticate", [HANDSHAKE, AUTHENTICATE_9], [(SERVED, True), (NOW, False)]),
    ("no_api_after_handshake", [HANDSHAKE, NO_API], [(SERVED, True), (NOW, False)]),
    ("no_request_after_handshake", [HANDSHAKE, SHORT], [(SERVED, True), (NOW, False)]),
    ("cut_request_after_handshake", [HANDSHAKE, METADATA[:-1]], [(SERVED, True), (NOW, False)]),
    ("wrong_password", [HANDSHAKE, WRONG], [(SERVED, True), (LATER, True)]),
    ("after_a_failure", [HANDSHAKE, WRONG, RIGHT], [(SERVED, True), (LATER, True), (NOW, False)]),
    ("raw", [HANDSHAKE_0, plain("alice", "alice-secret")], [(SERVED, True)] * 2),
    ("raw_wrong_password", [HANDSHAKE_0, plain("alice", "no")], [(SERVED, True), (LATER, False)]),
    ("raw_gets_a_request", [HANDSHAKE_0, RIGHT], [(SERVED, True), (LATER, False)]),
    ("raw_empty", [HANDSHAKE_0, b""], [(SERVED, True), (LATER, False)]),
]


@for_each(("frames", "expected"), [one[1:] for one in ORDERS], ids=[one[0] for one in ORDERS])
def test_sv_5_each_order_of_messages_ends_as_in_kafka(frames: list[bytes], expected: list[tuple[End, bool]]) -> None:
    exchange = Exchange()
    seen = []
    for frame in frames:
        assert exchange.authenticator.admission(frame) is Admission.TAKE
        step = exchange.frame(frame)
        seen.append((step.end, bool(step.answer)))
    assert seen == expected
    done = frames[-1] in (RIGHT, plain("alice", "alice-secret")) and all(end is SERVED for end, _ in expected)
    assert exchange.authenticator.authenticated == done
    assert exchange.authenticator.principal == ("User:alice" if done else ANONYMOUS)


@for_each(
    ("mechanism", "user"),
    [
        (mechanism, user)
        for user in USERS
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
        if mechanism == "PLAIN" or user.isascii()  # other names Kafka's grammar of SCRAM does not have
    ],
)
def test_sv_5_users_authenticate_whatever_their_names_are(mechanism: str, user: str) -> None:
    exchange = Exchange()
    answer = exchange.log_in(mechanism, user, USERS[user])
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (0, "", 0)
    assert (exchange.authenticator.principal, exchange.authenticator.mechanism) == (f"User:{user}", mechanism)
    assert exchange.authenticator.admission(METADATA) is Admission.SERVE


GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"


@pytest.mark.parametrize(
    ("mechanism", "user", "password", "text"),
    [
        ("PLAIN", "alice", "bob-secret", "Authentication failed: Invalid username or password"),
        ("PLAIN", "nobody", "alice-secret", "Authentication failed: Invalid username or password"),
        ("PLAIN", "", "alice-secret", "Authentication failed: username not specified"),
        ("PLAIN", "alice", "", "Authentication failed: password not specified"),
        ("PLAIN", "alice\0x", "y", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("SCRAM-SHA-256", "alice", "bob-secret", GENERIC.format("SCRAM-SHA-256")),
        ("SCRAM-SHA-512", "nobody", "alice-secret", GENERIC.format("SCRAM-SHA-512")),
    ],
)
def test_sv_5_what_clients_learn_of_wrong_credentials(mechanism: str, user: str, password: str, text: str) -> None:
    exchange = Exchange()
    answer = exchange.log_in(mechanism, user, password)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (58, text, b"")
    assert not exchange.authenticator.authenticated


def test_sv_5_plain_takes_an_authorization_id_only_if_it_is_the_user() -> None:
    exchange = Exchange()
    exchange.handshake("PLAIN")
    assert exchange.token(plain("alice", "alice-secret", "alice"))[0].error_code == 0
    exchange = Exchange()
    exchange.handshake("PLAIN")
    answer, _ = exchange.token(plain("alice", "alice-secret", "bob"))
    text = "Authentication failed: Client requested an authorization id that is different from username"
    assert (answer.error_code, answer.error_message) == (58, text)


def test_sv_5_scram_refuses_delegation_tokens_with_the_generic_text() -> None:
    exchange = Exchange()
    exchange.handshake("SCRAM-SHA-256")
    answer, step = exchange.token(b"n,,n=alice,r=abcdefgh,tokenauth=true")
    assert (answer.error_code, answer.error_message) == (58, GENERIC.format("SCRAM-SHA-256"))
    assert step.end is LATER


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"n",
        b"n,,",
        b"\xff\xfe",
        b"n,,n=alice",
        b"p=tls-unique,,n=alice,r=x",
        b"n,,n==,r=x",
    ],
)
def test_sv_5_scram_with_garbage_fails_like_wrong_credentials(token: bytes) -> None:
    exchange = Exchange()
    exchange.handshake("SCRAM-SHA-256")
    answer, step = exchange.token(token)
    assert (answer.error_code, answer.error_message) == (58, GENERIC.format("SCRAM-SHA-256"))
    assert step.end is LATER


def test_sv_5_scram_takes_an_authorization_id_only_if_it_is_the_user() -> None:
    exchange = Exchange()
    exchange.handshake("SCRAM-SHA-256")
    answer, _ = exchange.token(b"n,a=bob,n=alice,r=x")
    text = "Authentication failed: Client requested an authorization id that is different from username"
    assert (answer.error_code, answer.error_message) == (58, text)


def test_sv_5_scram_with_garbage_as_its_second_token_fails_like_wrong_credentials() -> None:
    exchange = Exchange()
    exchange.handshake("SCRAM-SHA-256")
    first, _ = exchange.token(b"n,,n=alice,r=abcdefgh")
    assert first.error_code == 0
    nonce = first.auth_bytes.decode().split(",")[0]
    answer, _ = exchange.token(f"c=biws,{nonce},p=AAAA".encode())
    assert (answer.error_code, answer.error_message) == (58, GENERIC.format("SCRAM-SHA-256"))


def test_sv_5_a_bare_scram_exchange_that_fails_closes_at_once_and_plain_later() -> None:
    exchange = Exchange()
    exchange.handshake("SCRAM-SHA-256", 0)
    step = exchange.frame(b"n,,n=nobody,r=abcdefgh")
    assert (step.answer, step.end) == (b"", NOW)


def test_sv_5_an_unknown_mechanism_gets_33_and_the_enabled_ones() -> None:
    answer, step = Exchange().handshake("GSSAPI")
    assert answer.error_code == 33
    assert set(answer.mechanisms) == {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert step.end is LATER


@pytest.mark.parametrize(
    ("body", "version", "name"),
    [
        (MetadataRequest(version=9), 9, "METADATA"),
        (ListGroupsRequest(version=4), 4, "LIST_GROUPS"),
        (SaslHandshakeRequest(mechanism="PLAIN", version=1), 1, "SASL_HANDSHAKE"),
        (api_versions(), 3, "API_VERSIONS"),
        (AlterPartitionReassignmentsRequest(version=0, timeout_ms=1, topics=[]), 0, "ALTER_PARTITION_REASSIGNMENTS"),
    ],
)
def test_sv_5_another_request_after_handshake_1_gets_34_in_its_own_answer(body: Any, version: int, name: str) -> None:
    exchange = Exchange()
    exchange.handshake("PLAIN")
    answer, step = exchange.send(body, version)
    assert step.end is LATER
    assert name in step.reason
    field = type(answer)._struct.fields.get("error_code")
    if field is not None and field.for_version_q(version):
        assert answer.error_code == 34
    if getattr(answer, "error_message", None) is not None:
        assert answer.error_message == f"Unexpected Kafka request of type {name} during SASL authentication."


def test_sv_5_a_frame_over_the_receive_size_closes_later_in_each_state() -> None:
    for before in ([], [VERSIONS], [HANDSHAKE], [HANDSHAKE_0]):
        exchange = Exchange(max_receive_size=200)
        for frame in before:
            exchange.frame(frame)
        assert exchange.frame(HANDSHAKE + bytes(200)).end is LATER


# ------------------------------------------------------------------------------------------------ sessions (KIP-368)

REAUTH = {"PLAIN": 60_000, "SCRAM-SHA-256": 60_000}


def logged_in(**changes: Any) -> Exchange:
    exchange = Exchange(**({"max_reauth_ms": REAUTH} | changes))
    assert exchange.log_in("PLAIN", "alice", "alice-secret").session_lifetime_ms == 60_000
    return exchange


def admission(exchange: Exchange, frame: bytes) -> Admission:
    return exchange.authenticator.admission(frame)


def test_sv_5_the_session_length_is_in_the_last_answer_alone() -> None:
    exchange = Exchange(max_reauth_ms=REAUTH)
    exchange.handshake("SCRAM-SHA-256")
    first, _ = exchange.token(b"n,,n=alice,r=abcdefgh")
    assert first.session_lifetime_ms == 0
    assert Exchange(max_reauth_ms=REAUTH).log_in("SCRAM-SHA-256", "alice", "alice-secret").session_lifetime_ms == 60_000
    assert Exchange(max_reauth_ms=REAUTH).log_in("SCRAM-SHA-512", "alice", "alice-secret").session_lifetime_ms == 0


def test_sv_5_after_the_end_of_the_session_the_first_other_request_closes() -> None:
    exchange = logged_in()
    exchange.clocks.pass_by(60)
    assert admission(exchange, METADATA) is Admission.SERVE
    exchange.clocks.pass_by(0.001)
    assert admission(exchange, METADATA) is Admission.CLOSE
    assert admission(exchange, HANDSHAKE) is Admission.TAKE


def test_sv_5_a_session_without_an_end_serves_a_handshake_as_any_request() -> None:
    exchange = Exchange()
    exchange.log_in("PLAIN", "alice", "alice-secret")
    exchange.clocks.pass_by(10_000_000)
    assert admission(exchange, HANDSHAKE) is Admission.SERVE


def test_sv_5_re_authentication_keeps_the_principal_and_begins_a_new_session() -> None:
    exchange = logged_in()
    exchange.clocks.pass_by(50)
    assert admission(exchange, HANDSHAKE) is Admission.TAKE
    assert exchange.frame(HANDSHAKE).end is SERVED
    assert not exchange.authenticator.authenticated
    assert exchange.authenticator.principal == "User:alice"
    answer, _ = exchange.token(plain("alice", "alice-secret"))
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 60_000)
    exchange.clocks.pass_by(59)
    assert admission(exchange, METADATA) is Admission.SERVE


def test_sv_5_re_authentication_begins_at_most_once_a_second() -> None:
    exchange = logged_in()
    for passed, expected in ((0, Admission.TAKE), (0.999, Admission.SERVE), (0.001, Admission.TAKE)):
        exchange.clocks.pass_by(passed)
        assert admission(exchange, HANDSHAKE) is expected
        if expected is Admission.TAKE:
            exchange.frame(HANDSHAKE)
            assert exchange.token(plain("alice", "alice-secret"))[0].error_code == 0


def test_sv_5_a_handshake_within_the_second_and_after_the_end_closes() -> None:
    exchange = Exchange(max_reauth_ms={"PLAIN": 500})
    exchange.log_in("PLAIN", "alice", "alice-secret")
    assert admission(exchange, HANDSHAKE) is Admission.TAKE
    exchange.frame(HANDSHAKE)
    exchange.token(plain("alice", "alice-secret"))
    exchange.clocks.pass_by(0.6)
    assert admission(exchange, HANDSHAKE) is Admission.CLOSE


def begin_again(exchange: Exchange, frame: bytes) -> Any:
    assert admission(exchange, frame) is Admission.TAKE
    return exchange.frame(frame)


def test_sv_5_re_authentication_as_another_user_fails() -> None:
    exchange = logged_in()
    begin_again(exchange, HANDSHAKE)
    answer, step = exchange.token(plain("bob", "bob-secret"))
    text = "Cannot change principals during re-authentication from User.alice: User.bob"
    assert (answer.error_code, answer.error_message, step.end) == (58, text, LATER)
    assert (exchange.authenticator.authenticated, exchange.authenticator.principal) == (False, "User:alice")


def test_sv_5_re_authentication_with_another_mechanism_fails_at_the_next_token() -> None:
    exchange = logged_in()
    step = begin_again(exchange, request(SaslHandshakeRequest(mechanism="SCRAM-SHA-256", version=1), 1))
    assert step.end is SERVED
    step = exchange.frame(RIGHT)
    assert step.end is LATER
    assert step.reason == (
        "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for re-authentication of mechanism 'PLAIN'"
    )


def test_sv_5_re_authentication_with_wrong_credentials_says_so() -> None:
    exchange = Exchange(max_reauth_ms=REAUTH)
    exchange.log_in("SCRAM-SHA-256", "alice", "alice-secret")
    begin_again(exchange, request(SaslHandshakeRequest(mechanism="SCRAM-SHA-256", version=1), 1))
    answer, _ = exchange.token(b"n,,n=nobody,r=abcdefgh")
    assert answer.error_message == (
        "Authentication failed during re-authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )


def test_sv_5_while_a_client_re_authenticates_other_requests_get_34() -> None:
    exchange = logged_in()
    begin_again(exchange, HANDSHAKE)
    assert admission(exchange, METADATA) is Admission.TAKE
    answer, step = exchange.send(ListGroupsRequest(version=4), 4)
    assert (answer.error_code, step.end) == (34, LATER)


# ------------------------------------------------------------------------------------------------ names, and bounds

LONGEST = "n" * 1024
"""The longest name that AlterUserScramCredentials sets."""


@pytest.mark.parametrize("name", ["tab\tbed", LONGEST, "," * 1024])
def test_hm_5_each_name_that_a_credential_can_have_logs_in(name: str) -> None:
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        credential = scram_credential(mechanism, "secret", salt=b"s")
        exchange = Exchange(mechanisms=scram_servers({mechanism: {name: credential}}))
        exchange.handshake(mechanism)
        bare = f"n={name.replace(',', '=2C')},r=abcdefgh"
        first, _ = exchange.token(f"n,,{bare}".encode())
        answer, _ = exchange.token(scram_proof(mechanism, "secret", bare, first.auth_bytes))
        assert (answer.error_code, exchange.authenticator.principal) == (0, f"User:{name}")


@pytest.mark.parametrize("name", [LONGEST + "n", "ünal", "\uff41lice", "al\u00adice", "", "alice\x00"])
def test_hm_5_other_names_fail_as_wrong_credentials_and_are_never_those_of_a_user(name: str) -> None:
    credentials = {"alice": scram_credential("SCRAM-SHA-256", "secret"), name: scram_credential("SCRAM-SHA-256", "x")}
    exchange = Exchange(mechanisms=scram_servers({"SCRAM-SHA-256": credentials}))
    exchange.handshake("SCRAM-SHA-256")
    answer, _ = exchange.token(f"n,,n={name},r=abcdefgh".encode())
    assert (answer.error_code, answer.error_message) == (58, GENERIC.format("SCRAM-SHA-256"))


@pytest.mark.parametrize(
    "token",
    [
        plain(LONGEST + "n", "alice-secret"),
        plain("alice", "p" * 4097),
        plain("alice", "alice-secret", LONGEST + "n"),
        plain("alice", "alice-secret" + "p" * 400_000),
    ],
)
def test_hm_5_plain_takes_no_name_or_password_that_no_user_can_have(token: bytes) -> None:
    exchange = Exchange(
        mechanisms={"PLAIN": lambda address: PlainSaslServer(PlainPasswords({LONGEST + "n": "alice-secret"}), address)}
    )
    exchange.handshake("PLAIN")
    answer, _ = exchange.token(token)
    assert (answer.error_code, answer.error_message) == (58, "Authentication failed: Invalid username or password")
