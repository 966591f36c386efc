"""The JSON of `/admin/reassignment_requests/request_NNN`: KIP-236's, and malformed."""

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import decode_request, encode_request
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from tests.tables import for_each

PATH = "/admin/reassignment_requests/request_0000000007"


def moves(targets: Mapping[TopicPartition, tuple[int, ...]], *, legacy: bool = False) -> dict[Any, MoveTerms]:
    return {name: MoveTerms(target, BATCH if legacy else REQUEST) for name, target in targets.items()}


def test_236_8_the_proposals_example_is_read() -> None:
    data = b'{"version":1,"assignments":{"my-topic":{"0":[1,2,3]},"your-topic":{"3":[4,5,6]}},"legacy":false}'
    assert decode_request(data, PATH) == (
        moves({TopicPartition("my-topic", 0): (1, 2, 3), TopicPartition("your-topic", 3): (4, 5, 6)}),
        [],
    )
    assert (
        encode_request({TopicPartition("my-topic", 0): (1, 2, 3), TopicPartition("your-topic", 3): (4, 5, 6)}) == data
    )
    legacy = decode_request(data.replace(b"false", b"true"), PATH).moves.values()
    assert {terms.route for terms in legacy} == {BATCH}


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=5), st.integers(0, 2**31 - 1)),
        st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple),
        max_size=6,
    ),
    st.booleans(),
)
def test_236_8_a_request_reads_back_as_it_was_written(targets: dict[Any, Any], legacy: bool) -> None:
    assert decode_request(encode_request(targets, legacy=legacy), PATH) == (moves(targets, legacy=legacy), [])


@for_each(
    ("assignments", "targets", "problem"),
    [
        ('{"t":{"0":[1],"1":"x"}}', {TopicPartition("t", 0): (1,)}, "'t'-1: Expected `array`"),
        ('{"t":{"0":[1],"1":null}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[1,"2"]}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[true]}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[1.5]}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[2147483648]}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[1' + "0" * 300 + "]}}", {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":{"a":[]}}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"1":[NaN]}}', {TopicPartition("t", 0): (1,)}, "'t'-1"),
        ('{"t":{"0":[1],"01":[1]}}', {TopicPartition("t", 0): (1,)}, "'01' is no partition's number"),
        ('{"t":{"0":[1],"-1":[1]}}', {TopicPartition("t", 0): (1,)}, "'-1' is no partition's number"),
        ('{"t":{"0":[1],"x":[1]}}', {TopicPartition("t", 0): (1,)}, "'x' is no partition's number"),
        ('{"t":{"0":[1],"2147483648":[1]}}', {TopicPartition("t", 0): (1,)}, "is no partition's number"),
        ('{"t":{"0":[1]},"u":[1]}', {TopicPartition("t", 0): (1,)}, "'u': no object of partitions: [1]"),
        ('{"t":{"0":[1]},"u":null}', {TopicPartition("t", 0): (1,)}, "'u': no object of partitions"),
        ('{"t":{"0":[1],"0":[2]}}', {TopicPartition("t", 0): (2,)}, "t-0 is there twice: the later target counts"),
    ],
)
def test_236_8_an_error_in_one_target_is_reported_for_that_target_alone(
    assignments: str, targets: dict[Any, Any], problem: str
) -> None:
    read = decode_request(f'{{"version":1,"assignments":{assignments}}}'.encode(), PATH)
    assert read.moves == moves(targets)
    assert len(read.problems) == 1
    assert problem in read.problems[0]
    assert len(read.problems[0]) < 500


def test_236_8_nothing_is_lost_of_a_topic_that_is_there_twice() -> None:
    data = b'{"version":1,"assignments":{"t":{"0":[1],"1":[5]},"t":{"1":[2]}},"legacy":true}'
    read = decode_request(data, PATH)
    assert read.moves == moves({TopicPartition("t", 0): (1,), TopicPartition("t", 1): (2,)}, legacy=True)
    assert read.problems == ["t-1 is there twice: the later target counts"]


def test_236_8_unknown_fields_are_no_problem() -> None:
    data = b'{"assignments":{"[t]":{"0":[1]}},"comment":[[1]],"version":1}'
    assert decode_request(data, PATH) == (moves({TopicPartition("[t]", 0): (1,)}), [])


@for_each(
    "data",
    [
        *(b"", b"{", b"null", b"7", b"[]", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 100_000),
        *(b"{}", b'{"version":1}', b'{"version":1,"assignments":[]}', b'{"version":1,"assignments":null}'),
        *(b'{"version":2,"assignments":{}}', b'{"version":"1","assignments":{}}', b'{"version":true,"assignments":{}}'),
        *(b'{"version":1,"assignments":{},"legacy":"yes"}', b'{"version":1,"assignments":{},"legacy":1}'),
        b'{"version":1,"assignments":{"t":{"0":[' + b"9" * 5_000 + b"]}}}",
    ],
)
def test_236_8_content_that_is_no_request_is_a_bad_znode(data: bytes) -> None:
    with pytest.raises(BadZnode) as caught:
        decode_request(data, PATH)
    assert str(caught.value).startswith(f"{PATH}: ")
    assert len(str(caught.value)) < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("0127t", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values, json_values)
def test_236_8_any_json_is_a_request_or_a_bad_znode(assignments: Any, legacy: Any, extra: Any) -> None:
    fields = {"version": 1, "assignments": assignments, "legacy": legacy, "extra": extra}
    for data in (json.dumps(fields), json.dumps({"assignments": {"t": assignments, "u": extra}})):
        try:
            read = decode_request(data.encode(), PATH)
        except BadZnode:
            continue
        assert all(replica >= -(2**31) for terms in read.moves.values() for replica in terms.target)


@given(st.binary(max_size=60))
def test_236_8_any_bytes_are_a_request_or_a_bad_znode(data: bytes) -> None:
    with contextlib.suppress(BadZnode):
        decode_request(data, PATH)
