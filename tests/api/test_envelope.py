"""Envelope: what a broker forwards, and what is no envelope of a broker."""

import struct
from typing import Any
from unittest.mock import Mock

import pytest

from kafka_reassign_rpc.api.a58_envelope import FORWARDABLE, decode_principal
from kafka_reassign_rpc.api.api_definition import Peer, RequestContext
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer, compact_string, decode_response, encode_request
from kafka_reassign_rpc.protocol.frame_errors import BadLength
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeReassignmentsRequest,
    EnvelopeRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode
from tests.tables import for_each
from tests.vendor_requests import order

INVALID, UNREADABLE, NO_PRINCIPAL, NOT_CONTROLLER, TOKENS_OFF = 42, 35, 97, 41, 61
ALICE = b"\0\0" + compact_string("User") + compact_string("alice") + b"\0\0"
LIST = encode_request(
    ListPartitionReassignmentsRequest(topics=None, timeout_ms=1000), version=0, correlation_id=-9, client_id="tool"
)[4:]


def envelope(data: bytes = LIST, who: bytes | None = ALICE, host: bytes = bytes([10, 0, 0, 7])) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=data, request_principal=who, client_host_address=host)


def forwarded(body: Any, version: int) -> bytes:
    return encode_request(body, version=version, correlation_id=5, client_id=None)[4:]


async def test_mg_3_a_forwarded_request_is_answered_as_any_other_with_the_header_that_its_client_waits_for() -> None:
    answer = await ask(ModelNode(), envelope(), 0)
    assert answer.error_code == 0
    correlation_id, inner = decode_response(ListPartitionReassignmentsResponse, answer.response_data, version=0)
    assert (correlation_id, inner.error_code) == (-9, 0)


@for_each(
    ("wrong", "code"),
    [
        (envelope(who=None), NO_PRINCIPAL),
        (envelope(who=b""), NO_PRINCIPAL),
        (envelope(who=ALICE[:-2]), NO_PRINCIPAL),
        (envelope(who=b"\0\x01" + ALICE[2:]), NO_PRINCIPAL),
        (envelope(who=b"\0\0\x05\xff\xfe\xfd\xfc\x02a\0\0"), NO_PRINCIPAL),
        (envelope(who=b"\0\0\x05User\xff\xff\xff\xff\x0f"), NO_PRINCIPAL),
        (envelope(who=b"\0\0\x05User\0\0\0"), NO_PRINCIPAL),
        (envelope(who=b"\0\0\x05User" + compact_string("a" * 40_000) + b"\0\0"), NO_PRINCIPAL),
        (envelope(who=b"", host=b""), NO_PRINCIPAL),
        (envelope(host=b""), INVALID),
        (envelope(host=bytes(5)), INVALID),
        (envelope(host=bytes(17), data=b""), INVALID),
        (envelope(data=b""), UNREADABLE),
        (envelope(data=LIST[:6]), UNREADABLE),
        (envelope(data=LIST[:-3]), UNREADABLE),
        (envelope(data=struct.pack(">hhih", 46, 9, 1, -1) + b"\0"), UNREADABLE),
        (envelope(data=struct.pack(">hhih", 55, 0, 1, -1) + b"\0"), UNREADABLE),
        (envelope(data=struct.pack(">hhih", 999, 0, 1, -1)), UNREADABLE),
        (envelope(data=forwarded(order("hold", all=True), 0)), UNREADABLE),
        (envelope(data=forwarded(DescribeReassignmentsRequest(topic_reassignments=None), 0)), UNREADABLE),
        (envelope(data=struct.pack(">hhih", 3, 0, 1, -1)), INVALID),
        (envelope(data=struct.pack(">hhih", 56, 0, 1, -1)), INVALID),
        (envelope(data=forwarded(envelope(), 0)), INVALID),
    ],
)
async def test_mg_3_an_envelope_that_is_wrong_has_kafkas_error_and_no_content(wrong: Any, code: int) -> None:
    answer = await ask(ModelNode(), wrong, 0)
    assert (answer.error_code, answer.response_data) == (code, None)


async def test_mg_3_an_envelope_by_another_listener_than_that_of_brokers_closes_the_connection() -> None:
    answer = await ask(ModelNode(), envelope(who=b""), 0, peer=Peer("127.0.0.1", "CLIENTS"))
    assert answer == NoAnswer(closes=True)


async def test_mg_3_a_forwarded_request_may_end_as_not_controller_and_its_broker_looks_for_the_controller() -> None:
    node = ModelNode()
    node.controller.is_active = Mock(return_value=False)
    answer = await ask(node, envelope(), 0)
    assert (answer.error_code, answer.response_data) == (NOT_CONTROLLER, None)
    node.controller.is_active = Mock(side_effect=[True, False])
    answer = await ask(node, envelope(), 0)
    assert (answer.error_code, answer.response_data) == (NOT_CONTROLLER, None)


async def test_mg_3_delegation_tokens_are_off_for_those_who_ask_through_a_broker_too() -> None:
    asked = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1, owner_principal_type=None)
    answer = await ask(ModelNode(), envelope(forwarded(asked, 2)), 0)
    _, inner = decode_response(CreateDelegationTokenResponse, answer.response_data, version=2)
    assert (answer.error_code, inner.error_code) == (0, TOKENS_OFF)


@pytest.mark.long
async def test_mg_3_a_forwarded_request_of_10_mb_has_its_bounds_too() -> None:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    many = [topic(name="a" * 20, partitions=[]) for _ in range(300_001)]
    asked = AlterPartitionReassignmentsRequest(timeout_ms=1, topics=many)
    answer = await ask(ModelNode(), envelope(forwarded(asked, 0)), 0)
    assert answer.error_code == 0
    assert answer.response_data[5:11] == struct.pack(">ih", 0, INVALID)  # behind the header: no throttle, the error
    answer = await ask(ModelNode(), envelope(bytes(10_000_000)), 0)
    assert answer.error_code == INVALID, "Produce is not forwarded"


@pytest.mark.parametrize(
    ("data", "principal"),
    [
        (ALICE, "User:alice"),
        (b"\0\0\x01\x01\x01\0", ":"),
        (b"\0\0" + compact_string("Kind") + compact_string("Ünï:x") + b"\0\x01\x07\x02ab", "Kind:Ünï:x"),
    ],
)
def test_mg_3_principals_are_read_as_kafkas_own_builder_writes_them(data: bytes, principal: str) -> None:
    assert decode_principal(data) == principal


def test_mg_3_a_text_of_a_principal_is_as_long_as_kafka_reads_and_no_longer() -> None:
    """Compact: a varint of the length and one."""
    kind, longest = b"\x05User", 0x7FFF
    assert decode_principal(b"\0\0" + kind + b"\x80\x80\x02" + b"x" * longest + b"\0\0") == "User:" + "x" * longest
    with pytest.raises(BadLength, match="32768 bytes"):
        decode_principal(b"\0\0" + kind + b"\x81\x80\x02" + b"x" * (longest + 1) + b"\0\0")


def test_mg_3_only_what_kafka_forwards_is_forwarded() -> None:
    assert FORWARDABLE.isdisjoint({0, 1, 3, 18, 29, 32, 35, 36, 56, 58})
    assert RequestContext(58, 0, 1, None).forward is None
