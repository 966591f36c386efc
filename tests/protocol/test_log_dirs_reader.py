"""240-6: the slice-wise reader of DescribeLogDirs answers finds the same as the codec's own decoder."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.frame_errors import BadLength, RemoteProtocolError
from kafka_reassign_rpc.protocol.log_dirs_reader import BLOCK, MAX_VERSION, Dir, LogDirsReader
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsResponse

_Dir = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = _Dir.DescribeLogDirsTopic
_Partition = _Topic.DescribeLogDirsPartition

INT64 = st.integers(-1, 2**62)
REPLICAS = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), INT64, st.booleans()), max_size=5, unique_by=lambda one: one[0]
)
TOPICS = st.dictionaries(st.text(max_size=5), REPLICAS, max_size=3)
DIRS = st.lists(st.tuples(st.sampled_from([0, 56, -1]), st.text(max_size=5), TOPICS, INT64, INT64), max_size=3)
VERSIONS = st.integers(0, MAX_VERSION)

Described = Sequence[tuple[int, str, dict[str, list[tuple[int, int, bool]]], int, int]]


def answer(version: int, dirs: Described, error: int = 0) -> bytes:
    results = [
        _Dir(
            version=version,
            error_code=code,
            log_dir=path,
            topics=[
                _Topic(
                    version=version,
                    name=name,
                    partitions=[
                        _Partition(
                            version=version, partition_index=i, partition_size=size, offset_lag=3, is_future_key=future
                        )
                        for i, size, future in replicas
                    ],
                )
                for name, replicas in topics.items()
            ],
            total_bytes=total,
            usable_bytes=usable,
        )
        for code, path, topics, total, usable in dirs
    ]
    body = DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=error, results=results)
    return encode_body(body, version=version)


def known(size: int) -> int | None:
    return None if size < 0 else size


@given(version=VERSIONS, dirs=DIRS, error=st.sampled_from([0, 31]))
def test_240_6_every_version_is_read(version: int, dirs: Described, error: int) -> None:
    reader = LogDirsReader(answer(version, dirs, error), version)
    list(reader.read())
    assert reader.error == (error if version >= 3 else 0)
    assert reader.dirs == [
        Dir(
            code,
            path,
            {name: {i: known(size) for i, size, future in replicas if not future} for name, replicas in topics.items()},
            *((known(total), known(usable)) if version >= 4 else (None, None)),
        )
        for code, path, topics, total, usable in dirs
    ]


@pytest.mark.parametrize("version", range(MAX_VERSION + 1))
@pytest.mark.parametrize("tagged", [False, True])
def test_sv_4_logs_that_no_replica_has_are_distinguished_from_replicas(version: int, *, tagged: bool) -> None:
    """Only a replica has a lag. A future one is being copied."""
    lags = {0: 3, 1: -1, 2: 0, 3: -1}
    partitions = [
        _Partition(version=version, partition_index=i, partition_size=9, offset_lag=lag, is_future_key=i == 3)
        for i, lag in lags.items()
    ]
    topic = _Topic(version=version, name="t", partitions=partitions)
    result = _Dir(version=version, error_code=0, log_dir="/d", topics=[topic], total_bytes=-1, usable_bytes=-1)
    answered = DescribeLogDirsResponse(version=version, throttle_time_ms=0, error_code=0, results=[result])
    body = encode_body(answered, version=version)
    if tagged and version >= 2:
        last = (3).to_bytes(4, "big") + (9).to_bytes(8, "big") + (-1).to_bytes(8, "big", signed=True) + b"\x01"
        body = body.replace(last + b"\x00", last + b"\x01\x05\x02ab")
    reader = LogDirsReader(body, version)
    list(reader.read())
    assert reader.dirs[0].sizes == {"t": {0: 9, 1: 9, 2: 9}}
    assert reader.dirs[0].idle == {"t": {1}}


@given(version=VERSIONS, dirs=DIRS, data=st.data())
def test_sv_6_what_is_cut_off_or_garbled_is_refused_or_read_but_never_a_defect(
    version: int, dirs: Described, data: st.DataObject
) -> None:
    body = bytearray(answer(version, dirs))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    for garbled in (bytes(body), bytes(body[:at])):
        try:
            list(LogDirsReader(garbled, version).read())
        except RemoteProtocolError:
            continue


def test_240_6_unknown_tagged_fields_are_skipped() -> None:
    body = answer(4, [(0, "/d", {"t": [(7, 70, False), (8, 80, False)]}, 1, 2)])
    one = b"\x00\x00\x00\x07" + (70).to_bytes(8, "big") + (3).to_bytes(8, "big") + b"\x00"
    reader = LogDirsReader(body.replace(one + b"\x00", one + b"\x01\x05\x02ab"), 4)
    list(reader.read())
    assert reader.dirs == [Dir(0, "/d", {"t": {7: 70, 8: 80}}, 1, 2)]


@pytest.mark.parametrize("version", [1, 4])
def test_240_6_a_large_answer_is_read_in_slices(version: int) -> None:
    count = 10 * BLOCK
    reader = LogDirsReader(answer(version, [(0, "/d", {"t": [(i, i, False) for i in range(count)]}, -1, -1)]), version)
    assert len(list(reader.read())) == 10
    assert len(reader.dirs[0].sizes["t"]) == count


def test_sv_6_a_count_that_does_not_fit_is_not_believed() -> None:
    body = answer(1, [(0, "/d", {"t": [(0, 1, False)]}, -1, -1)])
    at = body.index(b"\x00\x01t") + 3
    with pytest.raises(BadLength):
        list(LogDirsReader(body[:at] + (2**31 - 1).to_bytes(4, "big") + body[at + 4 :], 1).read())
