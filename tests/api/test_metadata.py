"""Metadata, DescribeCluster, DescribeTopicPartitions: the cluster as clients see it."""

from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol.messages import (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode, moving, topic
from tests.tables import for_each

ZERO = UUID(int=0)
NONE = (None, ZERO)


def wanted(version: int, *names: str | None, ids: tuple[UUID | None, ...] = ()) -> MetadataRequest:
    one = MetadataRequest.MetadataRequestTopic
    topics = [one(version=version, name=n, topic_id=ZERO) for n in names]
    topics += [one(version=version, name=None, topic_id=i) for i in ids]
    return MetadataRequest(version=version, topics=topics)


@for_each("version", range(14))
@for_each("knows", [True, False], ids=["from memory", "asked for"])
async def test_sv_2_metadata_shows_brokers_controller_and_partitions_in_every_version(
    version: int, *, knows: bool
) -> None:
    node = ModelNode(topic("t", {0: moving()}), topic("u", 3), knows=knows)
    answer = await ask(node, wanted(version, "t"), version)
    assert {b.node_id: (b.host, b.port) for b in answer.brokers} == {
        1: ("b1", 9092),
        2: ("b2", 9092),
        3: ("b3", 9092),
        4: ("b4", 9092),
        1000: ("server", 9093),
    }
    [found] = answer.topics
    assert (found.name, found.error_code) == ("t", 0)
    [partition] = found.partitions
    assert (partition.leader_id, list(partition.replica_nodes), list(partition.isr_nodes)) == (
        1,
        [1, 2, 4, 3],
        [1, 2, 3],
    )
    if version >= 1:
        assert answer.controller_id == 1000
        assert answer.brokers[0].rack == "r1"
    if version >= 2:
        assert answer.cluster_id == "model-cluster"
    if version >= 10:
        assert found.topic_id == node.known["t"].id


LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED, BROKER_NOT_AVAILABLE = 5, 29, 8


@for_each("version", range(14))
async def test_sv_3_a_node_that_cannot_learn_its_topics_names_the_brokers_anyway(version: int) -> None:
    node = ModelNode(knows=False)
    node.cut_off = True
    ids = (UUID(int=7),) if version >= 12 else ()
    answer = await ask(node, wanted(version, *(() if ids else ("t",)), ids=ids), version)
    assert {b.node_id for b in answer.brokers} == {1, 2, 3, 4, 1000}
    assert [(t.error_code, list(t.partitions)) for t in answer.topics] == [(LEADER_NOT_AVAILABLE, [])]
    if version >= 2:
        assert answer.cluster_id == "model-cluster"

    many = await ask(node, wanted(version, *(f"t{number}" for number in range(1200))), version)
    assert len(many.brokers) == 5
    assert {t.error_code for t in many.topics} == {LEADER_NOT_AVAILABLE}
    assert len(many.topics) == 1200

    every = await ask(node, MetadataRequest(version=version, topics=None if version else []), version)
    assert len(every.brokers) == 5
    assert not every.topics
    if version >= 13:
        assert every.error_code == BROKER_NOT_AVAILABLE


@pytest.mark.parametrize("knows", [True, False], ids=["from memory", "asked for"])
async def test_sv_2_a_topic_without_name_and_id_is_refused(*, knows: bool) -> None:
    """Kafka fails with a NullPointerException, answered as UNKNOWN_SERVER_ERROR, with "" for the null name."""
    node = ModelNode(topic("t", 1), knows=knows)
    answer = await ask(node, wanted(13, "t", None), 13)
    assert answer.error_code == 42
    assert [(one.name, one.error_code) for one in answer.topics] == [("t", 42), ("", 42)]


@pytest.mark.parametrize(("version", "topics", "names"), [(0, [], ["t", "u"]), (1, None, ["t", "u"]), (1, [], [])])
async def test_sv_2_all_topics_are_an_empty_list_in_version_0_and_null_later(
    version: int, topics: Any, names: list[str]
) -> None:
    answer = await ask(ModelNode(topic("t"), topic("u")), MetadataRequest(version=version, topics=topics), version)
    assert sorted(t.name for t in answer.topics) == names


async def test_sv_2_unknown_and_deleted_topics_and_bad_names_have_their_errors() -> None:
    node = ModelNode(topic("gone", deleting=True))
    answer = await ask(node, wanted(4, "gone", "nope", "a/b", "x" * 250), 4)
    assert {t.name: t.error_code for t in answer.topics} == {"gone": 3, "nope": 3, "a/b": 17, "x" * 250: 17}


@pytest.mark.parametrize("knows", [True, False])
async def test_sv_2_topics_can_be_asked_for_by_id(*, knows: bool) -> None:
    node = ModelNode(topic("t"), topic("u"), knows=knows)
    unknown = UUID(int=5)
    answer = await ask(node, wanted(12, ids=(node.known["u"].id, unknown)), 12)
    assert {(t.name, t.topic_id, t.error_code) for t in answer.topics} == {
        ("u", node.known["u"].id, 0),
        (None, unknown, 100),
    }


async def test_sv_2_topic_ids_before_version_12_are_an_invalid_request() -> None:
    node = ModelNode(topic("t"))
    answer = await ask(node, wanted(10, ids=(node.known["t"].id,)), 10)
    assert [t.error_code for t in answer.topics] == [42]


@pytest.mark.parametrize(
    ("version", "alive", "expected"),
    [
        (9, {1, 2, 3}, (0, 1, [1, 2, 3], [1, 2], [])),
        (9, {1, 2}, (0, 1, [1, 2, 3], [1, 2], [3])),
        (9, {2, 3}, (5, -1, [1, 2, 3], [1, 2], [1])),
        (0, {1, 2}, (9, 1, [1, 2], [1, 2], [])),
        (0, {1, 3}, (9, 1, [1, 3], [1], [])),
        (0, {2, 3}, (5, -1, [2, 3], [2], [])),
    ],
)
async def test_sv_2_dead_replicas_and_leaders_are_shown_as_kafka_shows_them(
    version: int, alive: set[int], expected: tuple[Any, ...]
) -> None:
    node = ModelNode(topic("t", {0: Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2))}))
    node.endpoints = [e for e in node.endpoints if e.id in alive]
    [found] = (await ask(node, wanted(version, "t"), version)).topics
    [p] = found.partitions
    offline = list(p.offline_replicas or []) if version >= 5 else []
    assert (p.error_code, p.leader_id, list(p.replica_nodes), list(p.isr_nodes), offline) == expected


async def test_sv_2_metadata_of_many_partitions_is_the_same_answer() -> None:
    node = ModelNode(topic("t", 2000), topic("small", 1))
    answer = await ask(node, MetadataRequest(version=12, topics=None), 12)
    assert {t.name: len(t.partitions) for t in answer.topics} == {"t": 2000, "small": 1}
    assert [p.partition_index for p in answer.topics[0].partitions] == list(range(2000))


async def test_sv_2_authorized_operations_are_all_of_them() -> None:
    request = wanted(9, "t")
    request.include_topic_authorized_operations = True
    request.include_cluster_authorized_operations = True
    answer = await ask(ModelNode(topic("t")), request, 9)
    assert answer.authorized_operations == {5, 7, 8, 9, 10, 11, 12}
    assert answer.topics[0].authorized_operations == {3, 4, 5, 6, 7, 8, 10, 11}


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_sv_2_describe_cluster_names_brokers_and_controller(version: int) -> None:
    answer = await ask(ModelNode(), DescribeClusterRequest(version=version), version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, "model-cluster", 1000)
    assert [b.broker_id for b in answer.brokers] == [1, 2, 3, 4, 1000]


@pytest.mark.parametrize(("kind", "code"), [(2, 114), (0, 115), (9, 115)])
async def test_sv_2_describe_cluster_has_no_other_endpoints_than_brokers(kind: int, code: int) -> None:
    answer = await ask(ModelNode(), DescribeClusterRequest(version=1, endpoint_type=kind), 1)
    assert answer.error_code == code


def pages(limit: int, *names: str, cursor: tuple[str, int] | None = None) -> DescribeTopicPartitionsRequest:
    kind = DescribeTopicPartitionsRequest
    return kind(
        version=0,
        topics=[kind.TopicRequest(version=0, name=n) for n in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else kind.Cursor(version=0, topic_name=cursor[0], partition_index=cursor[1]),
    )


def page(answer: Any) -> Any:
    shown = [(t.name, t.error_code, [p.partition_index for p in t.partitions]) for t in answer.topics]
    following = answer.next_cursor
    return shown, None if following is None else (following.topic_name, following.partition_index)


@for_each(
    ("request_", "expected"),
    [
        (pages(2000), ([("a", 0, [0, 1, 2]), ("b", 0, [0, 1])], None)),
        (pages(2, "b", "a"), ([("a", 0, [0, 1])], ("a", 2))),
        (pages(2, "b", "a", cursor=("a", 2)), ([("a", 0, [2]), ("b", 0, [0])], ("b", 1))),
        (pages(3), ([("a", 0, [0, 1, 2])], ("b", 0))),
        (pages(3, cursor=("b", 0)), ([("b", 0, [0, 1])], None)),
        (pages(9, "a", "nope", "x/y"), ([("a", 0, [0, 1, 2]), ("nope", 3, []), ("x/y", 17, [])], None)),
        (pages(0, "a"), ([("a", 0, [0])], ("a", 1))),
        (pages(5, cursor=("zz", 0)), ([], None)),
        (pages(5, "a", cursor=("a", -1)), ([("a", 42, [])], None)),
    ],
)
async def test_sv_2_describe_topic_partitions_goes_page_by_page(request_: Any, expected: Any) -> None:
    assert page(await ask(ModelNode(topic("b", 2), topic("a", 3)), request_, 0)) == expected
