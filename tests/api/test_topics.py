"""CreateTopics, DeleteTopics, CreatePartitions, log dirs, and the APIs of features that the server does not have."""

from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.ports import LogDir, LogDirReplica, NewPartitions, NewTopic
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor, KafkaStorageError
from kafka_reassign_rpc.protocol.messages import (
    AlterReplicaLogDirsRequest,
    ApiVersionsRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    InitProducerIdRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.tables import for_each

ZERO = UUID(int=0)


def create(version: int, *topics: dict[str, Any], only: bool = False) -> CreateTopicsRequest:
    one = CreateTopicsRequest.CreatableTopic
    made = []
    for given in topics:
        fields = {"num_partitions": -1, "replication_factor": -1, "assignments": {}, "configs": {}, **given}
        fields["assignments"] = [
            one.CreatableReplicaAssignment(version=version, partition_index=i, broker_ids=b)
            for i, b in fields["assignments"].items()
        ]
        fields["configs"] = [
            one.CreatableTopicConfig(version=version, name=n, value=v) for n, v in fields["configs"].items()
        ]
        made.append(one(version=version, **fields))
    return CreateTopicsRequest(version=version, topics=made, timeout_ms=1, validate_only=only)


@for_each("version", range(8))
async def test_sv_2_create_topics_in_every_version(version: int) -> None:
    node = ModelNode(topic("old"))
    node.configs.entities["brokers", "<default>"] = {"log.retention.ms": "9"}
    request = create(
        version,
        {"name": "new", "num_partitions": 3, "replication_factor": 2, "configs": {"flush.ms": "7"}},
        {"name": "laid.out", "assignments": {0: [1, 2], 1: [2, 3]}},
        {"name": "old", "num_partitions": 1, "replication_factor": 1, "configs": {"nope": "1"}},
        only=version >= 1,
    )
    answer = await ask(node, request, version)
    found = {t.name: t for t in answer.topics}
    assert {n: t.error_code for n, t in found.items()} == {"new": 0, "laid.out": 0, "old": 36}
    [(_, asked, validate_only)] = node.controller.calls
    assert validate_only is (version >= 1)
    assert asked == [
        NewTopic(name="new", num_partitions=3, replication_factor=2, configs={"flush.ms": "7"}),
        NewTopic(name="laid.out", assignments={0: (1, 2), 1: (2, 3)}),
    ]
    if version >= 1:
        assert found["old"].error_message == "Topic 'old' already exists."
    if version >= 5:
        assert (found["new"].num_partitions, found["new"].replication_factor) == (3, 2)
        configs = {c.name: (c.value, c.config_source) for c in found["new"].configs}
        assert len(configs) == 36
        assert configs["flush.ms"] == ("7", 1)
        assert configs["retention.ms"] == ("9", 3)
    if version >= 7:
        assert found["new"].topic_id != ZERO


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"configs": {"retention.ms": None}}, 40, "Null value not supported for topic configs: retention.ms"),
        (
            {"num_partitions": 1, "assignments": {0: [1]}},
            42,
            "Both numPartitions or replicationFactor and replicasAssignments were set. "
            "Both cannot be used at the same time.",
        ),
    ],
)
async def test_sv_2_a_topic_that_cannot_be_made_is_refused_before_the_controller_is_asked(
    given: dict[str, Any], code: int, text: str
) -> None:
    node = ModelNode(knows=False)
    [result] = (await ask(node, create(7, {"name": "t", **given}), 7)).topics
    assert (result.error_code, result.error_message) == (code, text)
    assert node.controller.calls == []


@pytest.mark.parametrize(
    ("configs", "text"),
    [
        ({"nope": "1"}, "Unknown topic config name: nope"),
        ({"retention.ms": "x"}, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ],
)
async def test_hm_4_what_is_wrong_with_configs_is_reported_after_what_the_controller_finds(
    configs: dict[str, str], text: str
) -> None:
    node = ModelNode()
    [result] = (await ask(node, create(7, {"name": "t", "configs": configs}), 7)).topics
    assert (result.error_code, result.error_message) == (40, text)
    node.controller.refuses_topics = True
    [result] = (await ask(node, create(7, {"name": "t", "configs": configs}), 7)).topics
    assert result.error_code == 38


@pytest.mark.parametrize("version", range(6))
async def test_hm_4_each_entry_of_a_topic_that_is_to_be_deleted_is_answered(version: int) -> None:
    node = ModelNode(topic("t"))
    request = DeleteTopicsRequest(version=version, topic_names=["t", "nope", "t", "nope"], timeout_ms=1)
    answer = await ask(node, request, version)
    assert [(one.name, one.error_code) for one in answer.responses] == [("t", 0), ("nope", 3), ("t", 0), ("nope", 3)]
    assert [call[1] for call in node.controller.calls] == [["t"]], "and it is deleted once"


async def test_sv_2_a_topic_that_is_named_twice_is_not_created() -> None:
    node = ModelNode()
    answer = await ask(node, create(7, {"name": "t"}, {"name": "t"}, {"name": "u"}), 7)
    assert [(t.name, t.error_code, t.error_message) for t in answer.topics] == [
        ("t", 42, "Found multiple entries for this topic."),
        ("t", 42, "Found multiple entries for this topic."),
        ("u", 0, None),
    ]


async def test_sv_2_what_the_controller_finds_is_passed_on() -> None:
    node = ModelNode()

    async def refuse(topics: Any, **_: Any) -> Any:
        return {t.name: InvalidReplicationFactor("too large") for t in topics}

    node.controller.create_topics = refuse
    [result] = (await ask(node, create(7, {"name": "t"}), 7)).topics
    assert (result.error_code, result.error_message, list(result.configs)) == (38, "too large", [])


def delete(version: int, *names: str, ids: tuple[UUID | None, ...] = ()) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(version=version, topic_names=list(names), timeout_ms=1)
    one = DeleteTopicsRequest.DeleteTopicState
    topics = [one(version=version, name=n, topic_id=ZERO) for n in names]
    topics += [one(version=version, name=None, topic_id=i) for i in ids]
    return DeleteTopicsRequest(version=version, topics=topics, timeout_ms=1)


@pytest.mark.parametrize("version", range(7))
async def test_sv_2_delete_topics_in_every_version(version: int) -> None:
    node = ModelNode(topic("t"), topic("going", deleting=True))
    answer = await ask(node, delete(version, "t", "nope", "going"), version)
    assert {r.name: r.error_code for r in answer.responses} == {"t": 0, "nope": 3, "going": 3}
    assert node.controller.calls == [("delete_topics", ["t"])]


async def test_sv_2_topics_are_deleted_by_id() -> None:
    node = ModelNode(topic("t"))
    known, unknown = node.known["t"].id, UUID(int=9)
    answer = await ask(node, delete(6, ids=(known, unknown)), 6)
    assert [(r.name, r.topic_id, r.error_code) for r in answer.responses] == [("t", known, 0), (None, unknown, 100)]


async def test_sv_2_a_topic_named_by_both_name_and_id_fails_the_request() -> None:
    request = delete(6, "t")
    request.topics[0].topic_id = UUID(int=9)
    [result] = (await ask(ModelNode(topic("t")), request, 6)).responses
    assert (result.error_code, result.error_message) == (42, "Topic name and topic ID can not both be specified.")


@pytest.mark.parametrize(("version", "code"), [*((v, 42) for v in (0, 1, 2)), *((v, 73) for v in (3, 4, 5, 6))])
async def test_sv_2_deletion_can_be_disabled(version: int, code: int) -> None:
    """As KafkaApis.handleDeleteTopicsRequest: no message, and a topic that is asked for twice is answered twice."""
    node = ModelNode(topic("t"))
    node.static_configs["delete.topic.enable"] = "False"
    answer = await ask(node, delete(version, "t", "nope", "t"), version)
    assert [(r.name, r.error_code, r.error_message) for r in answer.responses] == [
        ("t", code, None),
        ("nope", code, None),
        ("t", code, None),
    ]
    assert node.controller.calls == []


async def test_sv_2_where_deletion_is_disabled_ids_and_names_are_answered_as_they_were_asked_for() -> None:
    node = ModelNode(topic("t"))
    node.static_configs["delete.topic.enable"] = "false"
    request = delete(6, "t", ids=(UUID(int=9),))
    request.topics[0].topic_id = UUID(int=8)
    answer = await ask(node, request, 6)
    assert [(r.name, r.topic_id, r.error_code) for r in answer.responses] == [
        ("t", UUID(int=8), 73),
        (None, UUID(int=9), 73),
    ]


def grow(version: int, *topics: tuple[str, int, Any]) -> CreatePartitionsRequest:
    one = CreatePartitionsRequest.CreatePartitionsTopic
    return CreatePartitionsRequest(
        version=version,
        timeout_ms=1,
        validate_only=False,
        topics=[
            one(
                version=version,
                name=n,
                count=c,
                assignments=a
                and [one.CreatePartitionsAssignment(version=version, broker_ids=brokers) for brokers in a],
            )
            for n, c, a in topics
        ],
    )


@pytest.mark.parametrize("version", range(4))
async def test_sv_2_create_partitions_in_every_version(version: int) -> None:
    node = ModelNode(topic("t"))
    request = grow(version, ("t", 3, None), ("u", 2, [[1, 2]]), ("v", 1, None), ("v", 2, None))
    answer = await ask(node, request, version)
    assert [(r.name, r.error_code, r.error_message) for r in answer.results] == [
        ("t", 0, None),
        ("u", 0, None),
        ("v", 42, "Duplicate topic in request."),
    ]
    assert node.controller.calls == [
        ("create_partitions", [NewPartitions("t", 3), NewPartitions("u", 2, [(1, 2)])], False)
    ]


async def test_sv_3_a_node_that_is_not_the_controller_changes_no_topic() -> None:
    node = ModelNode(topic("t"))
    node.controller = None
    assert (await ask(node, create(7, {"name": "a"}), 7)).topics[0].error_code == 41
    assert (await ask(node, delete(6, "t"), 6)).responses[0].error_code == 41
    assert (await ask(node, grow(3, ("t", 2, None)), 3)).results[0].error_code == 41


# ------------------------------------------------------------------------------------------------ log dirs


@pytest.mark.parametrize("version", range(5))
async def test_sv_2_describe_log_dirs_in_every_version(version: int) -> None:
    node = ModelNode()
    node.log_dirs = _dirs()
    answer = await ask(node, DescribeLogDirsRequest(version=version, topics=None), version)
    one, bad = answer.results
    assert (one.log_dir, one.error_code, bad.log_dir, bad.error_code) == ("/a", 0, "/b", 56)
    partitions = {(t.name, p.partition_index): p for t in one.topics for p in t.partitions}
    assert {k: (p.partition_size, p.offset_lag, p.is_future_key) for k, p in partitions.items()} == {
        ("t", 0): (100, 5, False),
        ("t", 1): (7, 9, True),
        ("u", 0): (1, 0, False),
    }
    if version >= 4:
        assert (one.total_bytes, one.usable_bytes) == (1000, 10)
    for asked in ([[1]], [[0], [1]]):  # a topic that is named again adds to what is asked for, as in Kafka
        topics = [DescribeLogDirsRequest.DescribableLogDirTopic(topic="t", partitions=some) for some in asked]
        some = await ask(node, DescribeLogDirsRequest(version=version, topics=topics), version)
        told = [(t.name, [p.partition_index for p in t.partitions]) for t in some.results[0].topics]
        assert told == [("t", [index for one in asked for index in one])]


def _dirs() -> Any:
    from tests.api.model_node import ModelLogDirs

    replicas = [LogDirReplica("t", 0, 100, 5), LogDirReplica("t", 1, 7, 9, is_future=True), LogDirReplica("u", 0, 1)]
    return ModelLogDirs(
        [
            LogDir(path="/a", replicas=replicas, total_bytes=1000, usable_bytes=10),
            LogDir(path="/b", replicas=[], error=KafkaStorageError()),
        ]
    )


async def test_sv_2_a_node_without_log_dirs_shows_one_without_replicas() -> None:
    answer = await ask(ModelNode(), DescribeLogDirsRequest(version=4, topics=None), 4)
    assert [(d.log_dir, d.error_code, list(d.topics)) for d in answer.results] == [("none", 0, [])]


async def test_sv_2_log_dirs_of_many_replicas() -> None:
    from tests.api.model_node import ModelLogDirs

    node = ModelNode()
    node.log_dirs = ModelLogDirs([LogDir(path="/a", replicas=[LogDirReplica("t", i, i) for i in range(3000)])])
    answer = await ask(node, DescribeLogDirsRequest(version=4, topics=None), 4)
    assert [p.partition_size for p in answer.results[0].topics[0].partitions] == list(range(3000))


@pytest.mark.parametrize("version", range(3))
async def test_sv_2_alter_replica_log_dirs_in_every_version(version: int) -> None:
    one = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    request = AlterReplicaLogDirsRequest(
        version=version,
        dirs=[
            one(
                version=version,
                path=path,
                topics=[one.AlterReplicaLogDirTopic(version=version, name="t", partitions=partitions)],
            )
            for path, partitions in (("/a", [0, 1]), ("/b", [1, 2]))
        ],
    )
    node = ModelNode()
    assert [p.error_code for p in (await ask(node, request, version)).results[0].partitions] == [57, 57, 57]
    node.log_dirs = _dirs()
    answer = await ask(node, request, version)
    assert [(p.partition_index, p.error_code) for p in answer.results[0].partitions] == [(0, 0), (1, 0), (2, 0)]
    assert node.log_dirs.moves == [("/a", "t", 0), ("/b", "t", 1), ("/b", "t", 2)]


# ------------------------------------------------------------------------------------------------ what is served


@pytest.mark.parametrize("version", range(5))
async def test_sv_2_api_versions_shows_what_is_served(version: int) -> None:
    request = ApiVersionsRequest(version=version, client_software_name="a-b.c", client_software_version="1.0")
    answer = await ask(ModelNode(), request, version)
    shown = [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys]
    assert shown == sorted((k, a.min_version, a.max_version) for k, a in SERVER_APIS.items() if k != 75)
    assert answer.error_code == 0


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ListGroupsRequest, {"states_filter": [], "types_filter": []}, 0),
        (ListTransactionsRequest, {"state_filters": [], "producer_id_filters": []}, 0),
        (InitProducerIdRequest, {"transactional_id": "x", "transaction_timeout_ms": 1}, 16),
        (
            DescribeAclsRequest,
            {
                "resource_type_filter": 1,
                "resource_name_filter": None,
                "principal_filter": None,
                "host_filter": None,
                "operation": 1,
                "permission_type": 1,
            },
            54,
        ),
    ],
)
async def test_sv_2_what_this_node_does_not_have_is_answered_in_every_version(
    kind: Any, fields: dict[str, Any], code: int
) -> None:
    api = SERVER_APIS[kind.API_KEY]
    for version in range(api.min_version, api.max_version + 1):
        answer = await ask(ModelNode(), kind(version=version, **fields), version)
        assert answer.error_code == code


async def test_sv_2_what_this_node_does_not_have_is_answered_item_by_item() -> None:
    node = ModelNode()
    groups = await ask(node, DescribeGroupsRequest(version=5, groups=["a", "b"]), 5)
    assert [(g.group_id, g.error_code) for g in groups.groups] == [("a", 16), ("b", 16)]
    acl: dict[str, Any] = {"resource_type": 2, "resource_name": "x", "principal": "User:a", "host": "*", "operation": 2}
    creation = CreateAclsRequest.AclCreation(version=3, permission_type=3, **acl)
    created = await ask(node, CreateAclsRequest(version=3, creations=[creation] * 2), 3)
    assert [r.error_code for r in created.results] == [54, 54]
    one = DeleteAclsRequest.DeleteAclsFilter(
        version=3,
        resource_type_filter=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    deleted = await ask(node, DeleteAclsRequest(version=3, filters=[one]), 3)
    assert [r.error_code for r in deleted.filter_results] == [54]
