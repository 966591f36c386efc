"""Input of all kinds: whole, halved, garbled, hostile. Its connection answers or closes; all others are served."""

import logging
import struct

import pytest

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    CreateTopicsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    ProduceRequest,
    ProduceResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.server import open_connections
from kafka_reassign_rpc.support.bounded_log import LineLimit
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(key: int, version: int, *, flexible: bool = False) -> bytes:
    return struct.pack(">hhih", key, version, 7, 1) + b"c" + (b"\0" if flexible else b"")


def list_request() -> bytes:
    body = ListPartitionReassignmentsRequest(version=0, timeout_ms=1000, topics=None)
    return encode_request(body, version=0, correlation_id=1, client_id="c")


HOSTILE = {
    "a negative size": struct.pack(">i", -1),
    "a size of zero": struct.pack(">i", 0),
    "a size too small for a header": frame(b"\0\0\0"),
    "an announcement of 100 MiB": struct.pack(">i", 100 * 1024 * 1024),
    "the largest size": struct.pack(">i", 2**31 - 1),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303"),
    "an unknown API key": frame(header(999, 0)),
    "a negative API key": frame(header(-5, 0)),
    "an API that is known but not served": frame(header(0, 9)),
    "an unsupported version": frame(header(46, 9, flexible=True) + struct.pack(">i", 1) + b"\0\0"),
    "a negative version": frame(header(3, -1)),
    "a truncated body": frame(header(45, 0, flexible=True) + b"\0\0"),
    "no body": frame(header(19, 4)),
    "an absurd array length": frame(header(3, 1) + struct.pack(">i", 2**31 - 1)),
    "a negative array length": frame(header(19, 1) + struct.pack(">i", -7) + struct.pack(">ib", 1, 0)),
    "an absurd compact array length": frame(header(45, 0, flexible=True) + b"\0\0\0\1" + b"\xff\xff\xff\xff\x0f"),
    "an endless varint": frame(header(45, 0, flexible=True) + b"\0\0\0\1" + b"\xff" * 20),
    "a string longer than its frame": frame(header(3, 1) + struct.pack(">ih", 1, 30000) + b"abc"),
    "a client id longer than its frame": frame(struct.pack(">hhih", 18, 0, 7, 30000) + b"abc"),
    "a client id that is not UTF-8": frame(struct.pack(">hhih", 18, 0, 7, 2) + b"\xff\xfe"),
    "a tag that is longer than its frame": frame(
        header(46, 0, flexible=True) + b"\0\0\0\1\0" + b"\x01\x05\xff\xff\xff\x7f"
    ),
    "an absurd number of tags": frame(header(46, 0, flexible=True) + b"\0\0\0\1\0" + b"\xff\xff\xff\xff\x0f"),
    "a null name": frame(header(45, 0, flexible=True) + b"\0\0\0\1\x02\x00\x01\x00\x00"),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
async def test_sv_6_malformed_input_closes_that_connection_and_nothing_else(
    start_server: StartServer, data: bytes
) -> None:
    server = await start_server()
    async with connected(address(server)) as other, connected(address(server)) as client:
        await other.call(ApiVersionsRequest(version=0), 0)
        await client.send(data)
        assert await client.is_closed()
        assert (await other.call(ApiVersionsRequest(version=0), 0)).error_code == 0
    assert server.stats.connections_malformed == 1


NOT_OURS = (
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
)


@pytest.mark.parametrize("key", NOT_OURS)
async def test_sv_2_what_the_server_does_not_do_is_neither_announced_nor_answered(
    start_server: StartServer, key: ApiKey
) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        announced = {one.api_key for one in (await client.call(ApiVersionsRequest(version=0), 0)).api_keys}
        assert key not in announced
        assert announced.issuperset({ApiKey.API_VERSIONS, ApiKey.ALTER_PARTITION_REASSIGNMENTS})
        await client.send(frame(header(key, 0)))
        assert await client.is_closed()


async def test_sv_6_a_flood_of_malformed_connections_is_a_few_lines_and_a_count(
    start_server: StartServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_connections, "LineLimit", lambda: LineLimit(lines=3, seconds=0.5))
    caplog.set_level(logging.INFO)
    server = await start_server()
    for _ in range(8):
        async with connected(address(server)) as client:
            await client.send(struct.pack(">i", -1))
            assert await client.is_closed()
    assert server.stats.connections_malformed == 8

    def lines(text: str) -> int:
        return sum(text in record.getMessage() for record in caplog.records)

    def told() -> int:
        counts = [record.getMessage() for record in caplog.records if "more connection" in record.getMessage()]
        return lines("connection from") + sum(int(text.split()[0]) for text in counts)

    await eventually(lambda: told() == 8)
    assert lines("connection from") <= 6


async def test_sv_6_a_connection_with_several_faults_is_counted_once(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        await client.send(frame(header(999, 0)) + frame(header(998, 0)) + struct.pack(">i", -1))
        assert await client.is_closed()
    assert server.stats.connections_malformed == 1


async def test_sv_6_what_came_before_the_garbage_is_still_answered(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        await client.send(list_request() + list_request() + struct.pack(">i", -1))
        await client.frame()
        await client.frame()
        assert await client.is_closed()


async def test_sv_6_half_a_frame_and_silence_keeps_the_connection_open(start_server: StartServer) -> None:
    server = await start_server()
    request = list_request()
    async with connected(address(server)) as client, connected(address(server)) as other:
        await client.send(request[:9])
        await other.call(ApiVersionsRequest(version=0), 0)
        assert server.stats.connections_now == 2
        await client.send(request[9:])
        assert (await client.frame())[:4] == struct.pack(">i", 1)


async def test_sv_6_bytes_may_come_one_by_one(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        for byte in list_request():
            await client.send(bytes([byte]))
        assert (await client.frame())[:4] == struct.pack(">i", 1)


async def test_sv_6_bytes_after_a_valid_body_are_ignored(start_server: StartServer) -> None:
    server = await start_server()
    request = list_request()
    async with connected(address(server)) as client:
        await client.send(struct.pack(">i", len(request) - 4 + 3) + request[4:] + b"xyz")
        assert (await client.frame())[:4] == struct.pack(">i", 1)


async def test_sv_6_unknown_tagged_fields_are_skipped(start_server: StartServer) -> None:
    server = await start_server()
    body = header(46, 0, flexible=True) + b"\0\0\0\1\0" + b"\x01\x63\x02ab"
    async with connected(address(server)) as client:
        await client.send(frame(body))
        assert (await client.frame())[:4] == struct.pack(">i", 7)


async def test_sv_2_api_versions_in_an_unknown_version_is_answered_in_version_0(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        await client.send(frame(header(18, 99) + b"whatever a newer client sends"))
        _, answer = decode_response(ApiVersionsResponse, await client.frame(), version=0)
        assert answer.error_code == 35
        assert [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys] == [(18, 0, 4)]
        assert (await client.call(ApiVersionsRequest(version=0), 0)).error_code == 0


@pytest.mark.parametrize("name", ["", "a b", "-x", "x-"])
async def test_sv_2_api_versions_with_a_bad_software_name_is_an_invalid_request(
    start_server: StartServer, name: str
) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        request = ApiVersionsRequest(version=3, client_software_name=name, client_software_version="1.0")
        assert (await client.call(request, 3)).error_code == 42


async def test_sv_2_sasl_on_a_plaintext_listener_gets_an_error_and_keeps_the_connection(
    start_server: StartServer,
) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        for version in (0, 1):
            assert (
                await client.call(SaslHandshakeRequest(version=version, mechanism="PLAIN"), version)
            ).error_code == 34
        assert (await client.call(SaslAuthenticateRequest(version=2, auth_bytes=b"x"), 2)).error_code == 34
        assert (await client.call(ApiVersionsRequest(version=0), 0)).error_code == 0


async def test_sv_6_requests_that_come_together_are_answered_in_order(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        requests = []
        for i in range(3000):
            if i % 3:
                requests.append(client.request(ApiVersionsRequest(version=0), 0))
            else:
                requests.append(client.request(MetadataRequest(version=1, topics=[]), 1))
        await client.send(b"".join(requests))
        for i in range(3000):
            assert (await client.frame())[:4] == struct.pack(">i", i + 1)
    assert server.stats.requests[18] == 2000
    assert server.stats.requests[3] == 1000


async def test_sv_6_a_large_frame_is_answered_in_its_turn(start_server: StartServer) -> None:
    """A thread decodes it; later frames wait."""
    server = await start_server()
    large = CreateTopicsRequest(version=2, timeout_ms=1, validate_only=True)
    large.topics = [
        CreateTopicsRequest.CreatableTopic(
            version=2, name="t" * 200 + str(i), num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        for i in range(1000)
    ]
    async with connected(address(server)) as client:
        await client.send(client.request(large, 2) + client.request(ApiVersionsRequest(version=0), 0))
        assert (await client.frame())[:4] == struct.pack(">i", 1)
        assert (await client.frame())[:4] == struct.pack(">i", 2)


async def test_sv_6_a_large_malformed_frame_closes_the_connection(start_server: StartServer) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        await client.send(frame(header(19, 2) + struct.pack(">i", 100_000_000) + bytes(200_000)))
        assert await client.is_closed()
    await eventually(lambda: server.stats.connections_now == 0)
    assert server.stats.requests_in_work_now == 0


def produce(acks: int, records: bytes, *, partitions: int = 1, correlation_id: int = 5) -> bytes:
    of_topic = ProduceRequest.TopicProduceData
    data = [of_topic.PartitionProduceData(version=9, index=0, records=records)] * partitions
    topics = [of_topic(version=9, name="t", partition_data=data)] if partitions else []
    body = ProduceRequest(version=9, acks=acks, topic_data=topics)
    return encode_request(body, version=9, correlation_id=correlation_id, client_id="c")


@pytest.mark.parametrize("size", [10, 5_000_000], ids=["small", "large"])
async def test_hm_4_a_producer_that_wants_no_answer_gets_none_and_its_connection_closes_on_an_error(
    start_server: StartServer, size: int
) -> None:
    server = await start_server()
    async with connected(address(server)) as client:
        await client.send(produce(0, bytes(size), partitions=0))
        assert (await client.call(ApiVersionsRequest(version=0), 0)).error_code == 0, "nothing was refused"
        await client.send(produce(0, bytes(size)) + list_request())
        assert await client.is_closed(), "and the request behind it is not answered"
    assert server.stats.connections_malformed == 0
    async with connected(address(server)) as other:
        await other.send(produce(1, bytes(size)))
        frame = await other.frame()
        _, answer = decode_response(ProduceResponse, frame, version=9)
        (topic,) = answer.responses
        assert [one.error_code for one in topic.partition_responses] == [3]
