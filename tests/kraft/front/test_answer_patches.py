"""kr-9: what clients of the front see of brokers' answers."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_reassign_rpc.kraft.front import Beside, EachHere, answer_patches
from kafka_reassign_rpc.kraft.front.answer_patches import RELAYED, ToldMetadata, announced, is_served
from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_response
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    MetadataResponse,
    SaslHandshakeResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.host_port import Address
from tests.effort import examples
from tests.protocol import values
from tests.tables import for_each

OURS = {45: (0, 1), 46: (0, 0), 32240: (0, 0), 3: (0, 99)}
BESIDE = Beside(1_000, Address("front", 9_000))


def frame_of(message: Any, version: int) -> bytes:
    return encode_response(message, version=version, correlation_id=77)[4:]


def read(cls: Any, pieces: list[bytes], version: int) -> Any:
    data = b"".join(pieces)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    correlation_id, found = decode_response(cls, data[4:], version=version)
    assert correlation_id == 77
    return found


@for_each("cls, version", values.all_versions([MetadataResponse]), ids=values.names)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_kr_9_metadata_keeps_all_but_where_its_nodes_are(cls: Any, version: int, data: st.DataObject) -> None:
    told = data.draw(values.messages(cls, version))
    frame = frame_of(told, version)
    places = {one.node_id: Address(f"front-{at}", 40_000 + at) for at, one in enumerate(told.brokers) if at % 2 == 0}
    beside = read(cls, ToldMetadata(frame, version).seen(BESIDE), version)
    mapped = read(cls, ToldMetadata(frame, version).seen(EachHere(places)), version)
    assert ToldMetadata(frame, version).brokers == {one.node_id: (one.host, one.port) for one in told.brokers}
    *theirs, ours = beside.brokers
    assert theirs == told.brokers
    assert (ours.node_id, ours.host, ours.port) == (1_000, "front", 9_000)
    assert version == 0 or beside.controller_id == 1_000
    for was, now in zip(told.brokers, mapped.brokers, strict=True):
        assert (now.host, now.port) == places.get(was.node_id, (was.host, was.port))
        now.host, now.port = was.host, was.port
    assert mapped == told
    beside.brokers = theirs
    if version:
        beside.controller_id = told.controller_id
    assert beside == told


@for_each("cls, version", values.all_versions([DescribeClusterResponse]), ids=values.names)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_kr_9_tools_take_the_nodes_of_describe_cluster_for_brokers(cls: Any, version: int, data: st.DataObject) -> None:
    told = data.draw(values.messages(cls, version))
    frame = frame_of(told, version)
    assert read(cls, answer_patches.describe_cluster(frame, version, BESIDE), version) == told
    mapped = EachHere({one.broker_id: Address("front", 9_000) for one in told.brokers})
    found = read(cls, answer_patches.describe_cluster(frame, version, mapped), version)
    assert [one.broker_id for one in found.brokers] == [one.broker_id for one in told.brokers]
    assert all((one.host, one.port) == ("front", 9_000) for one in found.brokers)


@for_each("version", range(5))
def test_kr_9_only_apis_of_administrators_are_announced_with_ours(version: int) -> None:
    of_broker = {key: (0, 20) for key in range(100) if key != ApiKey.ALTER_PARTITION_REASSIGNMENTS}
    told = [
        ApiVersionsResponse.ApiVersion(version=version, api_key=key, min_version=low, max_version=high)
        for key, (low, high) in of_broker.items()
    ]
    frame = frame_of(ApiVersionsResponse(version=version, error_code=0, api_keys=told), version)
    found = read(ApiVersionsResponse, answer_patches.api_versions(frame, version, OURS), version)
    shown = {one.api_key: (one.min_version, one.max_version) for one in found.api_keys}
    assert shown == announced(of_broker, OURS)
    assert set(shown) == RELAYED | {45, 46, 32240}
    assert not {0, 1, 10, 11, 22, 24, 26, 68} & set(shown)
    assert shown[ApiKey.API_VERSIONS] == (0, 4)
    assert shown[ApiKey.SASL_HANDSHAKE] == (1, 1)
    assert shown[ApiKey.METADATA] == (0, 13)
    assert shown[ApiKey.CREATE_TOPICS] == (0, 20)
    assert shown[46] == (0, 0)
    for key, (low, high) in shown.items():
        assert is_served(key, low, OURS)
        assert is_served(key, high, OURS)
    assert not any(is_served(key, 0, OURS) for key in range(100) if key not in shown)


def test_kr_9_a_refusal_of_versions_stays_as_it_is() -> None:
    frame = frame_of(ApiVersionsResponse(version=0, error_code=35, api_keys=[]), 0)
    assert answer_patches.api_versions(frame, 4, OURS) == [len(frame).to_bytes(4, "big"), frame]


@for_each("asked, told, error", [("PLAIN", 0, 0), ("GSSAPI", 0, 33), ("NONE", 33, 33)])
def test_kr_9_kerberos_is_not_offered_since_a_ticket_for_this_host_is_none_for_the_broker(
    asked: str, told: int, error: int
) -> None:
    broker = SaslHandshakeResponse(version=1, error_code=told, mechanisms=["GSSAPI", "PLAIN", "SCRAM-SHA-256"])
    found = read(SaslHandshakeResponse, answer_patches.sasl_handshake(frame_of(broker, 1), 1, asked), 1)
    assert (found.error_code, found.mechanisms) == (error, ["PLAIN", "SCRAM-SHA-256"])
