"""What the fuzz sends: repeatable by its seed, and what it says that it is."""

from contextlib import suppress
from random import Random

import pytest

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_request
from kafka_reassign_rpc.protocol.frame_errors import BadLength, RemoteProtocolError, TooManyElements
from kafka_reassign_rpc.protocol.messages import ProduceRequest
from tests.fuzz import tokens
from tests.fuzz.frames import KINDS, Frame, frame, frame_of
from tests.security.sasl_steps import Exchange, plain
from tests.security.worst_tokens import authenticate
from tests.tables import for_each

SERVED = {key: (api.min_version, api.max_version) for key, api in SERVER_APIS.items()}
LARGEST = 100_000
EACH_VERSION = [(key, version) for key, (low, high) in SERVED.items() for version in range(low, high + 1)]


def test_a_seed_gives_the_same_frames_each_time() -> None:
    def made(seed: int) -> list[bytes]:
        rng = Random(seed)
        return [frame(rng, LARGEST).data for _ in range(50)]

    assert made(1) == made(1) != made(2)


@for_each(("key", "version"), EACH_VERSION)
def test_each_version_has_frames_of_each_kind(key: int, version: int) -> None:
    rng = Random(key * 100 + version)
    for kind in KINDS:
        for _ in range(3):
            made = frame_of(rng, key, version, kind, LARGEST)
            assert made.kind in (kind, "valid")
            if made.whole:
                assert int.from_bytes(made.data[:4], "big") == len(made.data) - 4
            if made.kind in ("valid", "many", "long", "tags"):
                try:
                    read = decode_request(made.data[4:], SERVED)
                except TooManyElements:
                    assert made.kind in ("many", "tags")
                except BadLength:  # a string of Kafka has at most 32,767 bytes
                    assert made.kind == "long"
                else:
                    assert (read.header.api_key, read.header.api_version) == (key, version)
            elif made.whole:
                with suppress(RemoteProtocolError):
                    decode_request(made.data[4:], SERVED)


@for_each(("acks", "cut", "wants"), [(0, 0, False), (1, 0, True), (-1, 0, True), (0, 1, True)])
def test_an_answer_is_awaited_but_for_a_whole_produce_without_acks(acks: int, cut: int, wants: bool) -> None:
    """It gets none where it names no partition, and its connection goes on: seed 323270, frame 2189."""
    request = ProduceRequest(version=5, transactional_id=None, acks=acks, timeout_ms=0, topic_data=[])
    data = encode_request(request, version=5, correlation_id=1, client_id="fuzz")
    assert Frame(0, 5, "header", data[: len(data) - cut]).wants_answer is wants


def test_large_frames_come_near_the_limit() -> None:
    made = [frame_of(Random(seed), 3, 12, "many", 10 * 2**20) for seed in range(30)]
    assert any(len(one.data) > 5 * 2**20 for one in made)
    assert all(len(one.data) < 11 * 2**20 for one in made)


def test_a_login_is_the_same_for_the_same_seed_and_each_kind_of_frame_comes() -> None:
    def drawn(seed: int) -> list[tuple[str, bytes]]:
        first = b"r=abcdefghx,s=c2FsdA==,i=4096"
        made = tokens.exchange(Random(seed))
        return [(one.kind, one.made if isinstance(one.made, bytes) else one.made(first)) for one in made]

    assert drawn(7) == drawn(7)
    kinds = {kind for seed in range(60) for kind, _ in drawn(seed)}
    assert kinds >= {"handshake", "request", "right", "well-formed", "damaged", "grammar", "bytes", "large", "later"}


@pytest.mark.parametrize(("password", "let_in"), [(tokens.PASSWORD, True), ("wrong", False)])
def test_a_login_that_succeeds_is_distinguished_from_one_that_fails(password: str, let_in: bool) -> None:
    exchange = Exchange(max_reauth_ms=dict.fromkeys(tokens.MECHANISMS, 1000))
    exchange.handshake("PLAIN")
    sent = authenticate(plain(tokens.USER, password))
    assert tokens.read(sent, exchange.frame(sent).answer[4:]) == (b"", let_in)
