"""Any bytes decode to a message or a typed error; memory and time are bounded by the number of bytes."""

import contextlib
import struct
import tracemalloc
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.protocol.bounded_decoder import decoder
from kafka_reassign_rpc.protocol.decoder_source import FEW_NUMBERS, MOST_TAGS, NUMBERS_AT_ONCE, UNLIMITED, decoded
from kafka_reassign_rpc.protocol.frame_codec import (
    DecodedRequest,
    decode_body_in_parts,
    decode_head,
    decode_request,
    decode_request_in_slices,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
    peek_client_id,
    request_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import (
    BadLength,
    BadTag,
    BadText,
    BadVarint,
    NullNotAllowed,
    ProtocolError,
    RemoteProtocolError,
    TooManyElements,
    Truncated,
    UnknownApi,
    UnsupportedApiVersions,
    UnsupportedVersion,
)
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ApiVersionsResponse,
    ControlledShutdownRequest,
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.protocol.versions import SUPPORTED, ApiKey
from kafka_reassign_rpc.support.slices import finished
from tests.protocol import kafka_bodies
from tests.tables import for_each

T = TypeVar("T")

ABSURD = (
    b"\x7f\xff\xff\xff",  # the largest int32
    b"\xff\xff\xff\xff",  # -1, and a variable-length integer that does not end
    b"\x80\x00\x00\x00",  # the smallest int32
    b"\xff\xff\xff\x7f",  # a variable-length integer of 2^28 - 1
    b"\xff\xff\xff\xff\x0f",  # one of 2^32 - 1
    b"\xff\xff\xff\xff\xff\x01",  # one that is too long
    b"\x00\x00\x00\x00",
)


def frame_of(body: kafka_bodies.Body) -> bytes:
    return (
        struct.pack(">hhih", body.key, body.version, 1, -1)
        + (b"\0" if body.cls.flexible_version_q(body.version) else b"")
        + bytes(body.data)
    )


def alter(body: bytes, version: int = 0) -> DecodedRequest:
    """Decodes a body of AlterPartitionReassignments behind a valid header."""
    return decode_request(struct.pack(">hhih", 45, version, 1, -1) + b"\0" + body)


REQUESTS = [body for body in kafka_bodies.load() if body.direction == "request" and body.key != 7]


@for_each("body", kafka_bodies.load())
def test_sv_6_a_body_that_ends_early_is_a_typed_error(body: kafka_bodies.Body) -> None:
    read, data = decoder(body.cls, body.version), body.data
    for end in range(len(data)):
        with pytest.raises(RemoteProtocolError):
            decoded(read(data[:end], 0, UNLIMITED))


@pytest.mark.parametrize("tried", [1, pytest.param(len(ABSURD), marks=pytest.mark.gate)])
@for_each("body", kafka_bodies.load())
def test_sv_6_absurd_lengths_and_counts_anywhere_end_in_a_message_or_a_typed_error(
    body: kafka_bodies.Body, tried: int
) -> None:
    """Some patterns at each place: `tried` of them."""
    read, data = decoder(body.cls, body.version), body.data
    for position in range(len(data)):
        for pattern in (ABSURD * 2)[position % len(ABSURD) :][:tried]:
            try:
                decoded(read(data[:position] + pattern + data[position + len(pattern) :], 0, UNLIMITED))
            except RemoteProtocolError:
                continue


@given(
    body=st.sampled_from(REQUESTS),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 20),
)
def test_sv_6_a_damaged_request_is_a_request_or_a_typed_error(
    body: kafka_bodies.Body, changes: list[tuple[int, int]], cut: int
) -> None:
    frame = bytearray(frame_of(body))
    for position, value in changes:
        frame[position % len(frame)] = value
    with contextlib.suppress(RemoteProtocolError):
        decode_request(bytes(frame[: len(frame) - cut]))


@for_each("kind", [bytes, bytearray, memoryview])
def test_sv_2_a_frame_in_any_kind_of_buffer_is_read_and_what_was_read_stays_when_the_buffer_is_used_again(
    kind: type[bytes] | type[bytearray] | type[memoryview],
) -> None:
    asked = SaslAuthenticateRequest(version=2, auth_bytes=b"\0user\0password")
    told = SaslAuthenticateResponse(
        version=2, error_code=0, error_message=None, auth_bytes=b"proof", session_lifetime_ms=1
    )
    request = kind(encode_request(asked, version=2, correlation_id=1, client_id="one")[4:])
    answer = kind(encode_response(told, version=2, correlation_id=1)[4:])
    read = [
        decode_request(request).body.auth_bytes,
        decode_response(SaslAuthenticateResponse, answer, version=2)[1].auth_bytes,
    ]
    assert read == [asked.auth_bytes, told.auth_bytes]
    assert {type(one) for one in read} == {bytes}


@given(st.binary(max_size=200))
def test_sv_6_garbage_is_a_typed_error_or_by_chance_a_request(garbage: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        decode_request(garbage)


@given(st.binary(max_size=100), st.sampled_from([ApiVersionsResponse, AlterPartitionReassignmentsResponse]))
def test_sv_6_garbage_as_an_answer_is_a_typed_error_or_by_chance_an_answer(garbage: bytes, cls: Any) -> None:
    with contextlib.suppress(RemoteProtocolError):
        decode_response(cls, garbage, version=cls.max_version)


@for_each(
    ("body", "error"),
    [
        pytest.param(b"\0\0\0\1" + b"\xff\xff\xff\xff\x0f", BadLength, id="an array of 2^32 topics"),
        pytest.param(b"\0\0\0\1" + b"\xff\xff\xff\xff\xff\x0f", BadVarint, id="a count of six bytes"),
        pytest.param(b"\0\0\0\1" + b"\0" + b"\0", NullNotAllowed, id="null topics"),
        pytest.param(b"\0\0\0\1" + b"\2" + b"\0" + b"\1\0\0", NullNotAllowed, id="a null name"),
        pytest.param(b"\0\0\0\1" + b"\2" + b"\x7fabc" + b"\1\0\0", BadLength, id="a name longer than the frame"),
        pytest.param(b"\0\0\0\1" + b"\2" + b"\3\xff\xfe" + b"\1\0\0", BadText, id="a name that is not UTF-8"),
        pytest.param(b"\0\0\0\1" + b"\1" + b"\x7f\0", BadLength, id="127 tagged fields"),
        pytest.param(b"\0\0\0\1" + b"\1" + b"\1\5\x7f", BadLength, id="a tagged field longer than the frame"),
        pytest.param(b"\0\0\0\1" + b"\1" + b"\1\xec\1\2\1\1", BadTag, id="a known tag that is shorter than its size"),
        pytest.param(b"\0\0\0\1" + b"\1" + b"\1\xec\1\0", BadTag, id="a known tag that is longer than its size"),
        pytest.param(b"\0\0\0\1" + b"\1", Truncated, id="no tagged fields at all"),
        pytest.param(b"\0\0", Truncated, id="half an integer"),
    ],
)
def test_sv_6_each_fault_has_its_own_error(body: bytes, error: type[ProtocolError]) -> None:
    with pytest.raises(error, match="AlterPartitionReassignmentsRequest v0: "):
        alter(body)


@pytest.mark.parametrize("count", [-2, -(2**31), 2**31 - 1])
def test_sv_6_a_negative_or_absurd_array_length_of_an_old_version_is_refused(count: int) -> None:
    with pytest.raises(BadLength):
        decode_request(struct.pack(">hhihi", 19, 0, 1, -1, count))


def test_sv_6_null_is_refused_where_an_old_version_does_not_allow_it() -> None:
    with pytest.raises(NullNotAllowed):
        decode_request(struct.pack(">hhihi", ApiKey.CREATE_TOPICS, 0, 1, -1, -1))
    with pytest.raises(NullNotAllowed):
        decode_request(struct.pack(">hhihi", ApiKey.METADATA, 0, 1, -1, -1))
    assert decode_request(struct.pack(">hhihi", ApiKey.METADATA, 1, 1, -1, -1)).body.topics is None


def test_sv_6_a_string_of_an_old_version_may_not_be_longer_than_what_is_left() -> None:
    with pytest.raises(BadLength):
        decode_request(struct.pack(">hhihih", ApiKey.METADATA, 1, 1, -1, 1, 32767))


@for_each(
    ("header", "error"),
    [
        pytest.param(b"", Truncated, id="nothing"),
        pytest.param(b"\0\x2d\0\0\0\0\0\1", Truncated, id="no client id"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, 100), BadLength, id="a client id longer than the frame"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, -2), BadLength, id="a client id of negative length"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, 1) + b"\xff", BadText, id="a client id that is not UTF-8"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, -1), Truncated, id="no tagged fields"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, -1) + b"\xff" * 8, BadVarint, id="tagged fields without end"),
        pytest.param(struct.pack(">hhih", 45, 0, 1, -1) + b"\1\1\x7f", BadLength, id="a tagged field too long"),
        pytest.param(struct.pack(">hhih", 9999, 0, 1, -1), UnknownApi, id="an unknown key"),
        pytest.param(struct.pack(">hhih", -1, 0, 1, -1), UnknownApi, id="a negative key"),
        pytest.param(struct.pack(">hhih", 45, 2, 1, -1), UnsupportedVersion, id="a version that is too high"),
        pytest.param(struct.pack(">hhih", 45, -1, 1, -1), UnsupportedVersion, id="a negative version"),
        pytest.param(struct.pack(">hhih", 18, 99, 1, -1), UnsupportedApiVersions, id="ApiVersions of the future"),
    ],
)
def test_sv_6_a_bad_header_has_its_own_error(header: bytes, error: type[ProtocolError]) -> None:
    with pytest.raises(error) as caught:
        decode_request(header)
    assert type(caught.value) is error


def test_sv_6_only_served_versions_are_accepted() -> None:
    frame = encode_request(MetadataRequest(version=12), version=12, correlation_id=1, client_id=None)[4:]
    assert decode_request(frame, {3: (0, 12)}).header.api_version == 12
    with pytest.raises(UnsupportedVersion):
        decode_request(frame, {3: (0, 11)})
    with pytest.raises(UnknownApi):
        decode_request(frame, {45: (0, 1)})


def test_sv_6_an_absurd_count_allocates_nothing() -> None:
    body = b"\0\0\0\1" + b"\xff\xff\xff\x7f" + bytes(1000)
    alter(b"\0\0\0\1\1\0")  # the decoder is made
    tracemalloc.start()
    try:
        with pytest.raises(BadLength):
            alter(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024


def test_sv_6_a_request_may_not_have_more_elements_than_a_server_will_build() -> None:
    """Eight numbers of an array count as one element."""
    body = ListPartitionReassignmentsRequest(version=0, topics=[("t", list(range(400))), ("u", list(range(384)))])
    frame = encode_request(body, version=0, correlation_id=1, client_id=None)[4:]
    assert decode_request(frame, max_elements={46: 100}).body.topics[1].partition_indexes == list(range(384))
    with pytest.raises(TooManyElements):
        decode_request(frame, max_elements={46: 99, 45: 200})
    with pytest.raises(TooManyElements):
        finished(decode_request_in_slices(frame, SUPPORTED, {46: 99}))


@for_each("count", [1, FEW_NUMBERS, FEW_NUMBERS + 1, NUMBERS_AT_ONCE, NUMBERS_AT_ONCE + 1])
@for_each("version", [0, 4])
def test_sv_6_numbers_of_an_array_are_read_whatever_way_its_length_takes(count: int, version: int) -> None:
    numbers = list(range(-1, count - 1))
    body = DescribeLogDirsRequest(
        version=version,
        topics=[DescribeLogDirsRequest.DescribableLogDirTopic(version=version, topic="t", partitions=numbers)],
    )
    data = bytes(body.encode(version=version))
    read = decoder(type(body), version)
    found, end = decoded(read(data, 0, UNLIMITED))
    assert (found.topics[0].partitions, end) == (numbers, len(data))
    with pytest.raises(RemoteProtocolError):
        decoded(read(data[:-4], 0, UNLIMITED))


def test_sv_6_a_large_request_is_decoded_in_slices_and_taken_apart_in_slices() -> None:
    """Of many structures, and of one structure with many numbers."""
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    wide = [topic(version=0, name=f"t{i}", partitions=[(0, [1, 2])]) for i in range(20_000)]
    deep = [topic(version=0, name="t", partitions=[(0, list(range(300_000)))])]
    for topics, replicas in ((wide, [1, 2]), (deep, list(range(300_000)))):
        sent = AlterPartitionReassignmentsRequest(version=0, topics=topics)
        frame = encode_request(sent, version=0, correlation_id=1, client_id=None)[4:]
        steps = decode_request_in_slices(frame, SUPPORTED, {})
        assert sum(1 for _ in steps) >= 25
        body = finished(decode_request_in_slices(frame, SUPPORTED, {})).body
        assert [one.partitions[0].replicas for one in body.topics] == [replicas] * len(topics)
        assert sum(1 for _ in take_apart(body)) >= 25
        assert body.topics == []


def test_sv_6_more_tagged_fields_than_any_message_has_are_refused() -> None:
    """Each costs two bytes and half a microsecond; behind a header or a structure alike."""
    for count, accepted in ((MOST_TAGS, True), (MOST_TAGS + 1, False)):
        tags = bytes((count,)) + b"".join(bytes((1 + i, 0)) for i in range(count))
        body, head = b"\0\0\0\7\1", struct.pack(">hhih", 45, 0, 1, -1)
        for frame in (head + b"\0" + body + tags, head + tags + body + b"\0"):
            if accepted:
                assert decode_request(frame).body.timeout_ms == 7
            else:
                with pytest.raises(TooManyElements):
                    decode_request(frame)


def test_sv_6_tagged_fields_count_as_elements_by_their_size() -> None:
    tags = b"\1\x05\xa0\x01" + bytes(160)  # tag 5 with 160 bytes
    topics = b"\x0b" + (b"\2t\1" + tags) * 10
    frame = struct.pack(">hhih", 45, 0, 1, -1) + b"\0" + b"\0\0\0\7" + topics + b"\0"
    assert len(decode_request(frame, max_elements={45: 10 + 10 * 10}).body.topics) == 10
    with pytest.raises(TooManyElements):
        decode_request(frame, max_elements={45: 10 + 9 * 10})


@pytest.mark.parametrize("size", [0x7FFF, 0x8000])
def test_sv_6_a_text_is_as_long_as_kafka_reads_it_in_flexible_versions_too(size: int) -> None:
    body = MetadataRequest(version=9, topics=[MetadataRequest.MetadataRequestTopic(version=9, name="x" * size)])
    frame = encode_request(body, version=9, correlation_id=1, client_id=None)[4:]
    if size == 0x7FFF:
        assert len(decode_request(frame).body.topics[0].name) == size
    else:
        with pytest.raises(BadLength):
            decode_request(frame)


def test_sv_6_trailing_bytes_are_accepted_as_kafka_accepts_them() -> None:
    assert alter(b"\0\0\0\7\1\0" + b"anything").body.timeout_ms == 7


def test_860_5_unknown_tags_are_skipped_and_known_ones_kept_wherever_they_are() -> None:
    tags = b"\3" + b"\5\3abc" + b"\xec\1\1\1" + b"\xff\xff\xff\xff\x0f\0"  # 5, 236 (queue) and 2^32 - 1
    partition = b"\0\0\0\1" + b"\0" + b"\1\xdc\6\5\2\0\0\0\3"  # null replicas; 860 (expected) = [3]
    request = alter(b"\0\0\0\7" + b"\2" + b"\2t" + b"\2" + partition + b"\1\x09\1x" + tags)
    assert request.body.queue is True
    assert request.body.topics[0].partitions[0].replicas is None
    assert request.body.topics[0].partitions[0].expected_replicas == [3]


ONE_TAG = b"\1\x09\1x"
"""A tagged field that is not known."""


@for_each("tags", [(b"\0", b"\0"), (ONE_TAG, b"\0"), (b"\0", ONE_TAG), (ONE_TAG, ONE_TAG)])
def test_860_5_elements_come_one_by_one_whether_they_have_tagged_fields_or_not(tags: tuple[bytes, bytes]) -> None:
    topics = [
        b"\2" + name + b"\2" + b"\0\0\0\1\0\0" + of_topic for name, of_topic in zip((b"t", b"u"), tags, strict=True)
    ]
    body = b"\0\0\0\7" + b"\3" + b"".join(topics) + b"\0"
    head, elements = decode_body_in_parts(AlterPartitionReassignmentsRequest, body, "topics", version=0)
    assert head.timeout_ms == 7
    assert [(one.name, [each.partition_index for each in one.partitions]) for one in elements] == [
        ("t", [1]),
        ("u", [1]),
    ]


@for_each("topics", [b"\0", b"\1"])
def test_860_5_a_null_array_has_no_elements_and_neither_has_an_empty_one(topics: bytes) -> None:
    body = b"\0\0\0\7" + topics + b"\0"
    assert [*decode_body_in_parts(ListPartitionReassignmentsRequest, body, "topics", version=0)[1]] == []


@for_each("client_id", [None, "", "cli"])
@for_each("version", [1, 9])
def test_sv_2_what_comes_before_the_body_of_a_request_is_the_same_without_the_body(
    version: int, client_id: str | None
) -> None:
    request = MetadataRequest(version=version, topics=[])
    body = encode_body(request, version=version)
    head = request_prefix(MetadataRequest, version=version, correlation_id=3, client_id=client_id, body_size=len(body))
    assert head + body == encode_request(request, version=version, correlation_id=3, client_id=client_id)


@for_each("version", [0, 1, 9])
@for_each("count", [0, 1, 200])
def test_860_5_the_head_of_a_message_ends_where_the_count_of_the_array_begins(version: int, count: int) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(version=version, name=f"t{one}") for one in range(count)]
    body = encode_body(MetadataRequest(version=version, topics=topics), version=version)
    for start in (0, 3):
        _, at = decode_head(MetadataRequest, bytes(start) + body, "topics", version=version, start=start)
        assert at == start


@pytest.mark.long
def test_860_5_a_hundred_thousand_tagged_partitions_take_linear_time() -> None:
    """kafka-python copies the rest of the frame at each tag: this would be some 100 GB of copies."""
    body = AlterPartitionReassignmentsRequest(version=1)
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = topic.ReassignablePartition
    body.topics = [
        topic(
            version=1,
            name="t",
            partitions=[
                partition(version=1, partition_index=index, replicas=[1, 2], expected_replicas=[2, 3])
                for index in range(100_000)
            ],
        )
    ]
    data = encode_body(body, version=1)
    found, _ = decoded(decoder(AlterPartitionReassignmentsRequest, 1)(data, 0, UNLIMITED))
    assert [one.expected_replicas for one in found.topics[0].partitions] == [[2, 3]] * 100_000


def test_sv_2_controlled_shutdown_0_has_a_header_without_client_id() -> None:
    body = ControlledShutdownRequest(version=0, broker_id=5)
    frame = encode_request(body, version=0, correlation_id=9, client_id="ignored")
    assert frame == struct.pack(">ihhii", 12, 7, 0, 9, 5)
    request = decode_request(frame[4:])
    assert (request.header.client_id, request.header.correlation_id, request.body.broker_id) == (None, 9, 5)


@for_each("client_id", [None, "", "x", "größe", "x" * 32767])
@for_each("version", [8, 9])
def test_sv_2_any_client_id_is_read(client_id: str | None, version: int) -> None:
    frame = encode_request(MetadataRequest(version=version), version=version, correlation_id=1, client_id=client_id)
    assert decode_request(memoryview(frame)[4:]).header.client_id == client_id
    assert peek_client_id(frame[4:]) == client_id


def test_sv_5_a_client_id_that_is_not_whole_or_not_there_is_none() -> None:
    frame = encode_request(MetadataRequest(version=8), version=8, correlation_id=1, client_id="name")[4:]
    begins = frame.index(b"name")
    assert [peek_client_id(frame[:end]) for end in (begins - 1, begins, begins + 3)] == [None] * 3
    bare = encode_request(ControlledShutdownRequest(version=0, broker_id=5), version=0, correlation_id=9, client_id="x")
    assert peek_client_id(bare[4:]) is None


def test_sv_2_a_structure_that_is_null_is_read_as_none() -> None:
    for cursor in (None, DescribeTopicPartitionsRequest.Cursor(version=0, topic_name="t", partition_index=3)):
        body = DescribeTopicPartitionsRequest(version=0, topics=[], cursor=cursor)
        frame = encode_request(body, version=0, correlation_id=1, client_id=None)
        assert decode_request(frame[4:]).body.cursor == cursor
    assert DescribeTopicPartitionsResponse(version=0).next_cursor is None


def test_sv_6_bytes_are_bounded_like_strings() -> None:
    body = SaslAuthenticateRequest(version=2, auth_bytes=b"\0user\0password")
    frame = encode_request(body, version=2, correlation_id=1, client_id=None)[4:]
    assert decode_request(frame).body.auth_bytes == b"\0user\0password"
    with pytest.raises(BadLength):
        decode_request(frame[:-6])


def test_sv_6_a_protocol_error_of_no_side_cannot_be_raised() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ProtocolError("whose?")


def test_sv_6_every_api_that_is_served_has_a_least_message() -> None:
    """An empty body is refused for all messages but those without fields."""
    empty = {ApiKey.API_VERSIONS, ApiKey.LIST_GROUPS}
    for key, (low, _) in SUPPORTED.items():
        header = struct.pack(">hhih", key, low, 1, -1)
        if key in empty:
            assert decode_request(header).body is not None
        else:
            with pytest.raises(RemoteProtocolError):
                decode_request(header)


def test_sv_2_create_topics_is_read_in_the_versions_that_kafka_4_dropped() -> None:
    for version in (0, 1):
        body = CreateTopicsRequest(version=version, timeout_ms=5, topics=[("t", 3, 2, [], [])])
        found = decode_request(encode_request(body, version=version, correlation_id=1, client_id=None)[4:]).body
        assert (found.topics[0].name, found.topics[0].num_partitions, found.validate_only) == ("t", 3, False)
