"""Kafka's placement of new replicas: the examples of its documentation, and its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.kafka_errors import InvalidPartitions, InvalidReplicationFactor, UnknownServerError
from kafka_reassign_rpc.core.topics.replica_placement import alternated, placements
from tests.core.build import broker

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_sv_4_without_racks_the_example_of_kafkas_documentation() -> None:
    placed = dict(placements([broker(id_) for id_ in range(5)], 10, 3, start=0, shift=0))
    first = {index: replicas[0] for index, replicas in placed.items()}
    assert first == {index: index % 5 for index in range(10)}
    assert [placed[index][1] for index in range(5)] == [1, 2, 3, 4, 0]
    assert [placed[index][1] for index in range(5, 10)] == [2, 3, 4, 0, 1]
    assert [placed[index][2] for index in range(5)] == [2, 3, 4, 0, 1]
    assert [placed[index][2] for index in range(5, 10)] == [3, 4, 0, 1, 2]


def test_sv_4_with_racks_the_example_of_kafkas_documentation() -> None:
    assert alternated(RACKS) == [0, 3, 1, 5, 4, 2]
    placed = dict(placements([broker(id_, rack=rack) for id_, rack in RACKS.items()], 7, 3, start=0, shift=0))
    assert placed == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
    }


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=8),
    st.integers(1, 8),
    st.integers(1, 30),
    st.integers(0, 100),
    st.integers(0, 100),
    st.booleans(),
)
def test_sv_4_replicas_are_distinct_and_spread_over_racks(
    racks: list[str], factor: int, partitions: int, start: int, shift: int, racked: bool
) -> None:
    factor = min(factor, len(racks))
    brokers = [broker(id_, rack=rack if racked else None) for id_, rack in enumerate(racks)]
    placed = dict(placements(brokers, partitions, factor, start=start, shift=shift, first_partition=3))
    assert list(placed) == list(range(3, 3 + partitions))
    for replicas in placed.values():
        assert len(set(replicas)) == factor
        if racked:
            assert len({racks[replica] for replica in replicas}) == min(factor, len(set(racks)))


def test_sv_4_an_impossible_placement_is_refused_with_kafkas_text() -> None:
    with pytest.raises(InvalidReplicationFactor, match=r"^Replication factor: 3 larger than available brokers: 2\.$"):
        dict(placements([broker(1), broker(2)], 1, 3, start=0, shift=0))
    with pytest.raises(InvalidReplicationFactor, match=r"^Replication factor must be larger than 0\.$"):
        dict(placements([broker(1)], 1, 0, start=0, shift=0))
    with pytest.raises(InvalidPartitions, match=r"^Number of partitions must be larger than 0\.$"):
        dict(placements([broker(1)], 0, 1, start=0, shift=0))
    with pytest.raises(UnknownServerError, match="Not all brokers have rack information"):
        dict(placements([broker(1, rack="a"), broker(2)], 1, 1, start=0, shift=0))
