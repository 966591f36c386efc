"""A message encoded in slices has the bytes that the codec writes in one go."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.frame_errors import LocalProtocolError
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionResponse,
    DeleteTopicsResponse,
    ElectLeadersResponse,
    MetadataResponse,
)
from kafka_reassign_rpc.protocol.sliced_messages import PART_BYTES, InParts, encode_in_slices
from kafka_reassign_rpc.support.slices import finished
from tests.tables import for_each


def elections(version: int, topics: int, partitions: int) -> tuple[ElectLeadersResponse, InParts]:
    """An answer as a message, and in parts."""
    topic = ElectLeadersResponse.ReplicaElectionResult

    def results() -> Iterator[Any]:
        for index in range(partitions):
            yield topic.PartitionResult(version=version, partition_id=index, error_code=index % 7, error_message="no")

    def head(**more: Any) -> ElectLeadersResponse:
        return ElectLeadersResponse(version=version, throttle_time_ms=3, error_code=1, **more)

    whole = [topic(version=version, topic=f"t{i}", partition_result=list(results())) for i in range(topics)]
    by_topic = (
        InParts(topic(version=version, topic=f"t{i}"), "partition_result", partitions, results()) for i in range(topics)
    )
    return head(replica_election_results=whole), InParts(head(), "replica_election_results", topics, by_topic)


@for_each("version", [0, 1, 2])
@for_each(("topics", "partitions"), [(0, 0), (1, 0), (3, 2), (1, 30_000), (3000, 2)])
def test_sv_6_elements_of_elements_come_one_by_one(version: int, topics: int, partitions: int) -> None:
    whole, parts = elections(version, topics, partitions)
    pieces = finished(encode_in_slices(parts, version=version))
    assert b"".join(pieces) == encode_body(whole, version=version)
    assert max(map(len, pieces)) < 2 * PART_BYTES


def test_sv_6_others_may_run_after_each_element_and_elements_are_made_as_they_are_encoded() -> None:
    made = []

    def topics() -> Iterator[Any]:
        for index in range(10_000):
            made.append(index)
            yield DeleteTopicsResponse.DeletableTopicResult(version=6, name=f"t{index}", error_code=3)

    steps = encode_in_slices(InParts(DeleteTopicsResponse(version=6), "responses", 10_000, topics()), version=6)
    next(steps)
    assert len(made) == 1
    assert sum(1 for _ in steps) == 9_999


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_sv_6_tuples_and_encoded_structures_are_elements_too(version: int) -> None:
    fields = [(i, 0, 1, 2, [1, 2], 0, 7) if version >= 1 else (i, 0, 1, 2, [1, 2], 7) for i in range(3)]
    topic = AlterPartitionResponse.TopicData
    whole = AlterPartitionResponse(
        version=version,
        throttle_time_ms=0,
        error_code=0,
        topics=[topic(version=version, topic_name="t", partitions=fields)],
    )
    parts = InParts(topic(version=version, topic_name="t"), "partitions", 3, iter(fields))
    head = AlterPartitionResponse(version=version, throttle_time_ms=0, error_code=0)
    pieces = finished(encode_in_slices(InParts(head, "topics", 1, [parts]), version=version))
    expected = encode_body(whole, version=version)
    assert b"".join(pieces) == expected
    empty = finished(encode_in_slices(InParts(head, "topics", 0, ()), version=version))
    encoded = expected[len(empty[0]) - 1 : -1]  # between the number of topics and the tags
    again = finished(encode_in_slices(InParts(head, "topics", 1, [encoded]), version=version))
    assert b"".join(again) == expected


def test_sv_6_an_element_that_does_not_fit_its_schema_or_is_missing_is_our_own_mistake() -> None:
    topic = MetadataResponse.MetadataResponseTopic
    bad = topic(version=1, error_code=0, name="x" * 40_000, is_internal=False, partitions=[])
    head = MetadataResponse(version=1, brokers=[], controller_id=1)
    for elements, size in (([bad], 1), ([], 1)):
        with pytest.raises(LocalProtocolError, match="MetadataResponse v1"):
            finished(encode_in_slices(InParts(head, "topics", size, elements), version=1))
