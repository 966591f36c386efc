"""The answer to a complete LeaderAndIsr names each replica of the broker: it is read in slices."""

from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.controller_channel.replica_answers import (
    HostedReplica,
    cannot_be_in_sync,
    in_sync_elsewhere,
    may_be_replaced,
    refusals,
)
from kafka_reassign_rpc.core.kafka_errors import InconsistentTopicId, KafkaStorageError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import LAST_ZXID, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_body_in_slices, encode_body
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrResponse
from tests.tables import for_each

NAMES = {UUID(int=1): "one", UUID(int=2): "two"}
FAILED, OTHER_TOPIC = KafkaStorageError.code, InconsistentTopicId.code
STALE_CONTROLLER_EPOCH = 11

Errors = dict[UUID, dict[int, int]]

ERRORS = st.dictionaries(
    st.sampled_from([*NAMES, UUID(int=99)]),
    st.dictionaries(
        st.integers(0, 2**31 - 1), st.sampled_from([0, FAILED, OTHER_TOPIC, STALE_CONTROLLER_EPOCH]), max_size=200
    ),
)


def answer(errors: Errors, version: int) -> bytes:
    topic = LeaderAndIsrResponse.LeaderAndIsrTopicError
    entry = topic.LeaderAndIsrPartitionError
    topics = [
        topic(
            version=version,
            topic_id=topic_id,
            partition_errors=[
                entry(version=version, partition_index=index, error_code=code) for index, code in codes.items()
            ],
        )
        for topic_id, codes in errors.items()
    ]
    return encode_body(LeaderAndIsrResponse(version=version, error_code=0, topics=topics), version=version)


def _read(body: bytes, version: int) -> Generator[None, None, Any]:
    decoded = yield from decode_body_in_slices(LeaderAndIsrResponse, body, version=version)
    return (yield from refusals(decoded, Cluster(topic_names=dict(NAMES))))


def read(body: bytes, version: int = 7) -> tuple[list[tuple[HostedReplica, int]], int]:
    """What is read, and after how many pauses."""
    steps = _read(body, version)
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1


@given(ERRORS, st.integers(5, 7))
def test_sv_10_refused_replicas_of_known_topics_are_found_and_no_others(errors: Errors, version: int) -> None:
    found, _ = read(answer(errors, version), version)
    assert found == [
        (HostedReplica(TopicPartition(NAMES[topic_id], index), topic_id), code)
        for topic_id, codes in errors.items()
        for index, code in codes.items()
        if code in {FAILED, OTHER_TOPIC} and topic_id in NAMES
    ]


def test_sv_10_tagged_fields_of_later_brokers_are_skipped() -> None:
    entry = (5).to_bytes(4, "big") + FAILED.to_bytes(2, "big")
    tags = bytes([2, 0, 3, 1, 2, 3, 200, 1, 0])  # two fields: tag 0 with three bytes, tag 200 with none
    topic = UUID(int=1).bytes + bytes([3]) + entry + tags + entry + b"\0" + tags
    found, _ = read(bytes([0, 0, 3]) + topic + topic + b"\0")
    assert found == [(HostedReplica(TopicPartition("one", 5), UUID(int=1)), FAILED)] * 4


@given(ERRORS, st.data())
def test_sv_6_an_answer_that_ends_early_is_a_typed_error(errors: Errors, data: st.DataObject) -> None:
    body = answer(errors, 7)
    with pytest.raises(RemoteProtocolError):
        read(body[: data.draw(st.integers(0, len(body) - 1))])


def test_sv_5_an_answer_about_many_replicas_is_read_in_slices() -> None:
    _, pauses = read(answer({UUID(int=1): dict.fromkeys(range(100), 0)}, 7))
    assert pauses > 100 + 100 // 20, "it is decoded in slices, and each replica is looked at in one"


def hosted(isr: tuple[int, ...], *, created: int, topic: int = 5, id_since: int = 5, leader: int = 1) -> Cluster:
    """Topic `one` with partition 0 on brokers 1 and 3. `created`, `topic`: the zxids of their creation."""
    value = Partition(replicas=(1, 3), leader=leader, isr=isr, leader_epoch=0, partition_epoch=0, created=created)
    one = Topic("one", UUID(int=1), {0: value}, created=topic, id_since=id_since)
    return Cluster(topics={"one": one}, topic_names=dict(NAMES))


@for_each(
    ("cluster", "may"),
    [
        (hosted((1,), created=5, id_since=9), True),
        (hosted((1, 3), created=11, topic=11, id_since=11), True),
        (hosted((1, 3), created=11, topic=11, id_since=11, leader=3), True),
        (hosted((1, 3), created=11, topic=11, id_since=12), False),
        (hosted((1, 3), created=11), True),
        (hosted((1, 3), created=11, id_since=10), True),
        (hosted((1, 3), created=11, id_since=11), False),
        (hosted((1, 3), created=11, id_since=LAST_ZXID), False),
        (hosted((1, 3), created=10), False),
        (hosted((1, 3), created=9, topic=9, id_since=9), False),
        (hosted((1, 3), created=-1), False),
        (hosted((1,), created=11, id_since=11, leader=3), False),
    ],
    ids=[
        "not in sync", "created with its topic in this term", "the same, to lead", "created in this term, id later",
        "added in this term", "added after the id was read", "added, as the topic was written", "id unknown since when",
        "created by the election's transaction", "created before", "not known when", "leader outside of the ISR",
    ],
)  # fmt: skip
def test_sv_10_a_log_of_another_topic_is_replaced_where_it_cannot_be_of_the_present_one(
    cluster: Cluster, may: bool
) -> None:
    replica = HostedReplica(TopicPartition("one", 0), UUID(int=1))
    assert may_be_replaced(replica, 3, cluster, elected=10, has_proof=lambda: True) is may
    without = may_be_replaced(replica, 3, cluster, elected=10, has_proof=lambda: False)
    assert without is (may and 3 in cluster.topics["one"].partitions[0].isr), "a restored znode proves no id"


def test_sv_10_a_log_is_not_replaced_for_another_topic_of_the_name_or_where_the_broker_has_no_replica() -> None:
    cluster = hosted((1,), created=5)
    name = TopicPartition("one", 0)
    for other in (3, UUID(int=2)), (2, UUID(int=1)):
        replica = HostedReplica(name, other[1])
        assert not may_be_replaced(replica, other[0], cluster, elected=10, has_proof=lambda: True)


@pytest.mark.parametrize("proof", [False, True])
@pytest.mark.parametrize("vanished", [UUID(int=1), UUID(int=2), None], ids=["the same", "another", "without an id"])
def test_hm_2_where_another_topic_of_the_name_has_vanished_without_a_mark_a_log_goes_only_if_the_present_one_lives(
    vanished: UUID | None, proof: bool
) -> None:
    """No one has said that the logs of that one may go, and this may be one of them."""
    cluster = hosted((1,), created=5)
    gone = Topic("one", vanished, {0: cluster.topics["one"].partitions[0]}, created=3)
    cluster.soft.former.keep(gone, gone.partitions)
    replica = HostedReplica(TopicPartition("one", 0), UUID(int=1))
    may = may_be_replaced(replica, 3, cluster, elected=4, has_proof=lambda: proof)
    assert may is (proof or vanished == UUID(int=1))


def refused(created: int = 20, isr: tuple[int, ...] = (1, 3), **changed: Any) -> Cluster:
    """Topic `one` on brokers 1 and 3, whose epochs are 12 and 13: 3 refuses it."""
    cluster = hosted(isr, created=created)
    cluster.brokers |= {broker: Broker(broker, 10 + broker, ()) for broker in (1, 3)}
    partitions = cluster.topics["one"].partitions
    partitions[0] = replace(partitions[0], **changed)
    return cluster


@for_each(
    ("cluster", "others"),
    [
        (refused(), [1]),
        (refused(leader=3), [1]),
        (refused(created=14), [1]),
        (refused(created=12), []),
        (refused(created=-1), []),
        (refused(isr=(3,), leader=3), []),
        (refused(isr=(1,)), []),
        (refused(offline=(1,)), []),
        (refused(offline=(3,)), []),
    ],
    ids=[
        "follows", "leads", "was registered just before", "has registered since the partition's creation",
        "created nobody knows when", "alone in sync", "not in sync", "the other is offline", "is offline already",
    ],
)  # fmt: skip
def test_sv_10_a_replica_that_its_broker_refuses_is_held_against_the_others_in_sync(
    cluster: Cluster, others: list[int]
) -> None:
    """A broker that has registered since may be right: ZooKeeper was restored."""

    def held(topic_id: int) -> list[int]:
        replica = HostedReplica(TopicPartition("one", 0), UUID(int=topic_id))
        return in_sync_elsewhere(replica, 3, cluster) if cannot_be_in_sync(replica, 3, cluster) else []

    assert held(1) == others
    assert held(2) == [], "of another topic"
    del cluster.brokers[1]
    assert held(1) == []
