"""The JSON of `/admin/reassign_partitions`: as Kafka and its operators write it, and malformed."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.queue_entries import BatchEntry
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import (
    Reassignments,
    decode_reassignments,
    encode_reassignments,
)
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from tests.tables import for_each

PATH = "/admin/reassign_partitions"
GOOD = {"topic": "t", "partition": 0, "replicas": [1, 2]}


def decoded(*entries: object, **fields: object) -> Reassignments:
    return decode_reassignments(json.dumps({"version": 1, "partitions": entries, **fields}).encode(), PATH)


def test_i08_what_kafkas_tool_writes_is_read_in_its_order() -> None:
    data = (
        b'{"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[3,1]},'
        b'{"topic":"bar","partition":0,"replicas":[2]}]}'
    )
    found = decode_reassignments(data, PATH)
    assert list(found.entries.items()) == [(("foo", 1), BatchEntry((3, 1))), (("bar", 0), BatchEntry((2,)))]
    assert found.problems == []


def test_236_1_an_entry_has_its_original_replicas_as_the_proposal_spells_them() -> None:
    data = encode_reassignments({TopicPartition("foo1", 0): BatchEntry((1, 2, 4), (1, 2, 3))})
    assert json.loads(data) == {
        "version": 1,
        "partitions": [{"topic": "foo1", "partition": 0, "replicas": [1, 2, 4], "original_replicas": [1, 2, 3]}],
    }


def test_i08_no_version_is_version_1_and_unknown_fields_are_passed_over() -> None:
    found = decode_reassignments(
        b'{"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]}],"note":{}}', PATH
    )
    assert found == ({("t", 0): BatchEntry((1,))}, [])


@for_each(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b'"partitions"',
        b"\xff\xfe{}",
        b"{}",
        b'{"version":1}',
        b'{"version":1,"partitions":null}',
        b'{"version":1,"partitions":{}}',
        b'{"version":2,"partitions":[]}',
        b'{"version":2,"partitions":[{}]}',
        b'{"version":"1","partitions":[]}',
        b'{"version":1,"partitions":[]} trailing',
        b"[" * 100_000,
        b'{"version":1,"partitions":' + b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:30]),
)
def test_i08_content_that_is_no_batch_is_refused_with_its_path(data: bytes) -> None:
    with pytest.raises(BadZnode, match=r"^/admin/reassign_partitions: "):
        decode_reassignments(data, PATH)


@for_each(
    "bad",
    [
        None,
        7,
        "t-0",
        [],
        {},
        {"topic": "t", "partition": 0},
        {"topic": "t", "replicas": [1]},
        {"partition": 0, "replicas": [1]},
        {"topic": 5, "partition": 0, "replicas": [1]},
        {"topic": "t", "partition": "0", "replicas": [1]},
        {"topic": "t", "partition": -1, "replicas": [1]},
        {"topic": "t", "partition": 0.5, "replicas": [1]},
        {"topic": "t", "partition": 1e99, "replicas": [1]},
        {"topic": "t", "partition": 2**31, "replicas": [1]},
        {"topic": "t", "partition": 0, "replicas": "1,2"},
        {"topic": "t", "partition": 0, "replicas": None},
        {"topic": "t", "partition": 0, "replicas": [[1]]},
        {"topic": "t", "partition": 0, "replicas": ["1"]},
        {"topic": "t", "partition": 0, "replicas": [True]},
        {"topic": "t", "partition": 0, "replicas": [2**31]},
    ],
    ids=str,
)
def test_236_5_a_bad_entry_is_reported_and_the_others_count(bad: object) -> None:
    entries, problems = decoded(GOOD, bad, {"topic": "u", "partition": 3, "replicas": [2]})
    assert entries == {("t", 0): BatchEntry((1, 2)), ("u", 3): BatchEntry((2,))}
    (problem,) = problems
    assert problem.startswith("entry 1: ")


def test_236_5_bad_original_replicas_spoil_nothing_but_themselves() -> None:
    entries, problems = decoded({**GOOD, "original_replicas": "1,2"})
    assert entries == {("t", 0): BatchEntry((1, 2))}
    assert len(problems) == 1


def test_236_5_of_two_entries_for_a_partition_the_later_one_counts_as_in_kafka() -> None:
    entries, problems = decoded(GOOD, {"topic": "u", "partition": 0, "replicas": [1]}, {**GOOD, "replicas": [3]})
    assert list(entries.items()) == [(("u", 0), BatchEntry((1,))), (("t", 0), BatchEntry((3,)))]
    assert problems == ["t-0 is there twice: the later entry counts"]


brokers = st.lists(st.integers(0, 2**31 - 1), max_size=5).map(tuple)
batches = st.dictionaries(
    st.builds(TopicPartition, st.text('abc.-_é/"', max_size=8), st.integers(0, 2**31 - 1)),
    st.builds(BatchEntry, brokers, st.none() | brokers, st.none() | st.text('ab "\\é', max_size=8)),
    max_size=6,
)


@given(batches)
def test_236_1_what_is_written_is_read_back(entries: dict[TopicPartition, BatchEntry]) -> None:
    found = decode_reassignments(encode_reassignments(entries), PATH)
    assert list(found.entries.items()) == list(entries.items())
    assert found.problems == []


@given(st.binary(max_size=200))
def test_236_5_no_bytes_do_more_harm_than_to_be_refused(data: bytes) -> None:
    with contextlib.suppress(BadZnode):
        decode_reassignments(data, PATH)
