"""What an authorizer refuses is refused with Kafka's codes and texts, and nothing else is done for it."""

from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.api.access import EVERYTHING, Access
from kafka_reassign_rpc.api.api_definition import AclResource, Peer, RequestContext
from kafka_reassign_rpc.api.dispatch import SERVER_APIS, Dispatcher
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.protocol.messages import REQUESTS
from tests.api.ask import PEER, ask
from tests.api.model_node import EmptyAcls, ModelNode, topic
from tests.core.acls.random_acls import put
from tests.tables import for_each

A, B, C = (topic(name) for name in "abc")
TOPIC, CLUSTER, GROUP, TXN = (
    ResourceType.TOPIC,
    ResourceType.CLUSTER,
    ResourceType.GROUP,
    ResourceType.TRANSACTIONAL_ID,
)
NO_OPERATIONS, NOT_SHOWN = frozenset[int](), None
OPEN_TO_ALL = {17, 18, 36, 38, 39, 40, 41, 68, 69}
"""SaslHandshake, ApiVersions, SaslAuthenticate: Kafka asks for nothing. Delegation tokens and groups of KIP-848 are off
for all.
"""


def allows(*rights: tuple[str, ResourceType, str]) -> AclAuthorizer:
    """An authorizer that allows ANONYMOUS these operations on these resources, and nothing else."""
    made = AclAuthorizer(["User:root"])
    put(
        made,
        [
            AclBinding(
                ResourcePattern(kind, name, PatternType.LITERAL),
                AccessControlEntry("User:ANONYMOUS", "127.0.0.1", AclOperation[operation], AclPermissionType.ALLOW),
            )
            for operation, kind, name in rights
        ],
    )
    made.loaded = True
    return made


def on_cluster(*operations: str) -> AclAuthorizer:
    return allows(*((one, CLUSTER, CLUSTER_NAME) for one in operations))


def request(name: str, **fields: Any) -> Any:
    key = next(key for key, api in SERVER_APIS.items() if api.name == name)
    return built(REQUESTS[key], fields)


def number(topic_id: UUID | None) -> int:
    """0 for no id."""
    return 0 if topic_id is None else topic_id.int


def built(message: Any, fields: dict[str, Any]) -> Any:
    """A message, or a structure within one, of plain values."""
    values = {}
    for name, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            of = getattr(message, message._struct.fields[name]._type_str.removeprefix("[]"))
            value = [built(of, one) for one in value]  # noqa: PLW2901
        values[name] = value
    return message(**values)


def partitions(name: str, *indexes: int) -> dict[str, Any]:
    return {"name": name, "partitions": [{"partition_index": index, "replicas": [1, 2]} for index in indexes]}


# One sensible request of each API that needs a right, in the newest version.
SENSIBLE: dict[str, dict[str, Any]] = {
    "Metadata": {"topics": [{"name": "a"}]},
    "ControlledShutdown": {"broker_id": 1, "broker_epoch": 1},
    "FindCoordinator": {"key_type": 0, "coordinator_keys": ["g"]},
    "DescribeGroups": {"groups": ["g"]},
    "CreateTopics": {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1}]},
    "DeleteTopics": {"topics": [{"name": "a"}]},
    "InitProducerId": {"transactional_id": None, "transaction_timeout_ms": 1, "producer_id": -1, "producer_epoch": -1},
    "DescribeAcls": {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
    "CreateAcls": {
        "creations": [
            {
                **{"resource_type": 2, "resource_name": "a", "resource_pattern_type": 3, "principal": "User:a"},
                **{"host": "*", "operation": 3, "permission_type": 3},
            }
        ]
    },
    "DeleteAcls": {
        "filters": [{"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}]
    },
    "DescribeConfigs": {"resources": [{"resource_type": 2, "resource_name": "a", "configuration_keys": None}]},
    "AlterConfigs": {"resources": [{"resource_type": 2, "resource_name": "a", "configs": []}]},
    "AlterReplicaLogDirs": {"dirs": [{"path": "/d", "topics": [{"name": "a", "partitions": [0]}]}]},
    "DescribeLogDirs": {"topics": None},
    "CreatePartitions": {"topics": [{"name": "a", "count": 2, "assignments": None}], "timeout_ms": 1},
    "ElectLeaders": {"topic_partitions": [{"topic": "a", "partitions": [0]}], "timeout_ms": 1},
    "IncrementalAlterConfigs": {"resources": [{"resource_type": 4, "resource_name": "", "configs": []}]},
    "AlterPartitionReassignments": {"topics": [partitions("a", 0)], "timeout_ms": 1},
    "ListPartitionReassignments": {"topics": None, "timeout_ms": 1},
    "DescribeClientQuotas": {"components": [], "strict": False},
    "AlterClientQuotas": {
        "entries": [
            {
                "entity": [{"entity_type": "user", "entity_name": "u"}],
                "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}],
            }
        ],
        "validate_only": False,
    },
    "DescribeUserScramCredentials": {"users": None},
    "AlterUserScramCredentials": {"deletions": [{"name": "u", "mechanism": 1}], "upsertions": []},
    "AlterPartition": {"broker_id": 1, "broker_epoch": 1, "topics": []},
    "Envelope": {
        "request_data": bytes.fromhex("002e0000 00000001 ffff 00 000003e8 00 00"),  # ListPartitionReassignments
        "request_principal": b"\0\0\x05User\x02a\0\0",
        "client_host_address": bytes(4),
    },
    "UpdateFeatures": {"feature_updates": [], "timeout_ms": 1},
    "AllocateProducerIds": {"broker_id": 1, "broker_epoch": 1},
    "Produce": {"acks": 1, "topic_data": [{"name": "a", "partition_data": [{"index": 0, "records": b""}]}]},
    "Fetch": {"topics": [{"topic_id": A.id, "partitions": [{"partition": 0}]}]},
    "ListOffsets": {"topics": [{"name": "a", "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
    "OffsetCommit": {"group_id": "g", "topics": [{"name": "a", "partitions": [{"partition_index": 0}]}]},
    "OffsetFetch": {"groups": [{"group_id": "g", "topics": None}]},
    "JoinGroup": {"group_id": "g"},
    "Heartbeat": {"group_id": "g"},
    "LeaveGroup": {"group_id": "g"},
    "SyncGroup": {"group_id": "g", "protocol_type": "p", "protocol_name": "n"},
    "DeleteRecords": {"topics": [{"name": "a", "partitions": [{"partition_index": 0}]}]},
    "OffsetForLeaderEpoch": {"topics": [{"topic": "a", "partitions": [{"partition": 0}]}]},
    "AddPartitionsToTxn": {"transactions": [{"transactional_id": "x", "topics": [{"name": "a", "partitions": [0]}]}]},
    "AddOffsetsToTxn": {"transactional_id": "x", "group_id": "g"},
    "EndTxn": {"transactional_id": "x"},
    "WriteTxnMarkers": {"markers": [{"producer_id": 1, "topics": [{"name": "a", "partition_indexes": [0]}]}]},
    "TxnOffsetCommit": {
        "transactional_id": "x",
        "group_id": "g",
        "topics": [{"name": "a", "partitions": [{"partition_index": 0}]}],
    },
    "DeleteGroups": {"groups_names": ["g"]},
    "OffsetDelete": {"group_id": "g", "topics": []},
    "DescribeProducers": {"topics": [{"name": "a", "partition_indexes": [0]}]},
    "DescribeTransactions": {"transactional_ids": ["x"]},
    "DescribeTopicPartitions": {"topics": [{"name": "a"}], "response_partition_limit": 10, "cursor": None},
    "ListReassignments": {"topic_partitions": None},
    "DescribeReassignments": {"topic_reassignments": []},
    "AskDocument": {"document": "status", "body": b""},
    "DoCommand": {"command": "hold", "body": b'{"all": true}'},
}
SHOWS_NOTHING_ELSE = {16, 60, 66}
"""ListGroups, ListTransactions: empty in any case. DescribeCluster: for the operations alone."""


def codes(answer: Any) -> set[int]:
    """Every error code in an answer."""
    found: set[int] = set()
    stack = [answer.to_dict()]
    while stack:
        match stack.pop():
            case dict() as fields:
                found |= {value for name, value in fields.items() if name == "error_code"}
                stack += fields.values()
            case list() as items:
                stack += items
    return found


def test_sv_5_every_api_says_what_its_requests_need() -> None:
    assert {key for key, api in SERVER_APIS.items() if not api.acl} == OPEN_TO_ALL
    asked = {key for key, api in SERVER_APIS.items() if api.name in SENSIBLE}
    assert asked == SERVER_APIS.keys() - OPEN_TO_ALL - SHOWS_NOTHING_ELSE


@for_each("name", SENSIBLE)
async def test_sv_5_a_client_without_rights_gets_nothing_done_by_any_api(name: str) -> None:
    """No handler gets as far as the controller or a config, and each answer says so."""
    node = ModelNode(A)
    node.brokers_authorizer = None  # the answer must not come from there
    answer = await ask(node, request(name, **SENSIBLE[name]), SERVER_APIS_MAX[name], AclAuthorizer())
    assert codes(answer) - {0} <= {29, 30, 31, 53}, answer
    assert codes(answer) != {0}, answer
    assert node.controller.calls == []
    assert node.configs.writes == 0
    assert not node.quotas.entities


SERVER_APIS_MAX = {api.name: api.max_version for api in SERVER_APIS.values()}


@for_each("name", SENSIBLE)
async def test_sv_5_super_users_are_refused_by_no_api(name: str) -> None:
    node = ModelNode(A)
    node.acls = EmptyAcls()
    root = PEER._replace(principal="User:root")
    answer = await ask(
        node, request(name, **SENSIBLE[name]), SERVER_APIS_MAX[name], AclAuthorizer(["User:root"]), peer=root
    )
    assert not codes(answer) & {29, 30, 31, 53}, answer


CLUSTER_WIDE = [
    (api, acl.operation.name, acl.names_request)
    for api in SERVER_APIS.values()
    for acl in api.acl
    if acl.resource is AclResource.CLUSTER and not acl.only_for
]


@for_each(("api", "operation", "told"), CLUSTER_WIDE, ids=[api.name for api, _, _ in CLUSTER_WIDE])
async def test_sv_5_what_every_request_needs_on_the_cluster_is_enough_and_less_is_not(
    api: Any, operation: str, told: bool
) -> None:
    for right in (one.name for one in AclOperation if one > AclOperation.ALL):
        node = ModelNode(A)
        node.acls = EmptyAcls()
        answer = await ask(node, request(api.name, **SENSIBLE[api.name]), api.max_version, on_cluster(right))
        implied = {"DESCRIBE": {"ALTER", "READ", "WRITE", "DELETE"}, "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"}}
        enough = right == operation or right in implied.get(operation, ())
        assert (31 in codes(answer)) != enough, (right, answer)
        if not enough and hasattr(answer, "error_message"):
            expected = f"Request {api.name} of User:ANONYMOUS from 127.0.0.1 is not authorized. Needs {operation}"
            assert (answer.error_message or "").startswith(expected if told else ""), answer


def test_sv_5_the_operations_of_cluster_wide_apis_are_those_of_kafka() -> None:
    alter, describe, action = "ALTER", "DESCRIBE", "CLUSTER_ACTION"
    assert {api.key: operation for api, operation, _ in CLUSTER_WIDE} == {
        **dict.fromkeys((30, 31, 34, 43, 45, 57), alter),
        **dict.fromkeys((29, 35, 46, 50, 32240, 32241), describe),
        **dict.fromkeys((7, 56, 67), action),
        **{48: "DESCRIBE_CONFIGS", 49: "ALTER_CONFIGS"},
    }


async def test_j01_alter_is_refused_on_each_partition_and_at_the_top() -> None:
    asked = request("AlterPartitionReassignments", topics=[partitions("a", 0, 1), partitions("b", 0)], timeout_ms=1)
    answer = await ask(ModelNode(A, B), asked, 1, on_cluster("DESCRIBE"))
    text = "Request AlterPartitionReassignments of User:ANONYMOUS from 127.0.0.1 is not authorized."
    assert answer.error_code == 31
    assert answer.error_message.startswith(text)
    found = [(t.name, p.partition_index, p.error_code, p.error_message) for t in answer.responses for p in t.partitions]
    assert found == [(name, index, 31, answer.error_message) for name, index in (("a", 0), ("a", 1), ("b", 0))]


async def test_j02_list_is_refused_without_describe_on_the_cluster() -> None:
    asked = request("ListPartitionReassignments", topics=None, timeout_ms=1)
    answer = await ask(ModelNode(A), asked, 0, on_cluster("CREATE"))
    assert (answer.error_code, answer.topics) == (31, [])


@pytest.mark.parametrize("name", ["AlterPartitionReassignments", "ListPartitionReassignments", "ElectLeaders"])
async def test_j03_a_client_without_rights_does_not_learn_which_server_is_the_controller(name: str) -> None:
    node = ModelNode(A)
    node.controller.active = False
    version = SERVER_APIS_MAX[name]
    assert (await ask(node, request(name, **SENSIBLE[name]), version, allows())).error_code == 31
    assert 41 in codes(await ask(node, request(name, **SENSIBLE[name]), version, on_cluster("ALTER")))


async def test_j04_acls_on_topics_do_not_count_for_reassignments() -> None:
    asked = request("AlterPartitionReassignments", topics=[partitions("a", 0)], timeout_ms=1)
    assert (await ask(ModelNode(A), asked, 1, allows(("ALTER", TOPIC, "a")))).error_code == 31
    assert (await ask(ModelNode(A), asked, 1, on_cluster("ALTER"))).error_code == 0


async def test_j05_a_client_that_may_alter_may_list() -> None:
    asked = request("ListPartitionReassignments", topics=None, timeout_ms=1)
    assert (await ask(ModelNode(A), asked, 0, on_cluster("ALTER"))).error_code == 0


async def test_sv_5_a_leased_throttle_also_needs_alter_configs() -> None:
    asked = request("AlterPartitionReassignments", topics=[partitions("a", 0)], timeout_ms=1, throttle=1000)
    assert (await ask(ModelNode(A), asked, 1, on_cluster("ALTER"))).error_code == 31
    assert (await ask(ModelNode(A), asked, 1, on_cluster("ALTER", "ALTER_CONFIGS"))).error_code == 0


async def test_kr_9_what_a_broker_has_said_of_a_caller_s_rights_decides() -> None:
    listed = request("ListPartitionReassignments", topics=None, timeout_ms=1)
    leased = request("AlterPartitionReassignments", topics=[partitions("a", 0)], timeout_ms=1, throttle=1000)
    alter, describe, configs = AclOperation.ALTER, AclOperation.DESCRIBE, AclOperation.ALTER_CONFIGS
    for authorizer in (None, on_cluster("DESCRIBE", "ALTER", "ALTER_CONFIGS")):
        for allowed, codes in (
            ((), (31, 31)),
            ((describe,), (0, 31)),
            ((alter, describe), (0, 31)),
            ((alter, describe, configs), (0, 0)),
        ):
            peer = PEER._replace(allowed=frozenset(allowed))
            found = [
                (await ask(ModelNode(A), asked, version, authorizer, peer=peer)).error_code
                for asked, version in ((listed, 0), (leased, 1))
            ]
            assert found == list(codes)


async def test_sv_5_elections_are_refused_without_a_text() -> None:
    asked = request("ElectLeaders", **SENSIBLE["ElectLeaders"])
    answer = await ask(ModelNode(A), asked, 2, on_cluster("DESCRIBE"))
    (found,) = answer.replica_election_results
    assert answer.error_code == 31
    assert [(p.partition_id, p.error_code, p.error_message) for p in found.partition_result] == [(0, 31, None)]


@pytest.mark.parametrize("version", [0, 1, 9, 12, 13])
async def test_sv_5_metadata_names_denied_topics_that_are_asked_for_and_hides_them_among_all(version: int) -> None:
    node, may = ModelNode(A, B), allows(("READ", TOPIC, "a"), ("DESCRIBE", TOPIC, "d"))
    named = [{"name": name} for name in "abcd"]
    answer = await ask(node, request("Metadata", topics=named), version, may)
    found = {
        t.name: (t.error_code, len(t.partitions), number(t.topic_id) if version >= 12 else 0) for t in answer.topics
    }
    assert found == {
        "a": (0, 1, number(A.id) if version >= 12 else 0),
        **{"b": (29, 0, 0), "c": (29, 0, 0), "d": (3, 0, 0)},
    }, "what is denied looks the same whether it exists or not"
    answer = await ask(node, request("Metadata", topics=[] if version == 0 else None), version, may)
    assert [t.name for t in answer.topics] == ["a"]


async def test_sv_5_metadata_by_id_gives_the_id_of_a_denied_topic_but_not_its_name() -> None:
    unknown = topic("x").id
    asked = request("Metadata", topics=[{"name": None, "topic_id": one} for one in (A.id, B.id, unknown)])
    answer = await ask(ModelNode(A, B), asked, 12, allows(("DESCRIBE", TOPIC, "a")))
    found = {t.topic_id: (t.name, t.error_code) for t in answer.topics}
    assert found == {A.id: ("a", 0), B.id: (None, 29), unknown: (None, 100)}


async def test_sv_5_many_topics_are_filtered_in_slices_and_completely() -> None:
    node = ModelNode(*(topic(f"t{n}") for n in range(1500)))
    may = allows(*(("DESCRIBE", TOPIC, f"t{n}") for n in range(0, 1500, 2)))
    everything = await ask(node, request("Metadata", topics=None), 12, may)
    assert {t.name for t in everything.topics} == {f"t{n}" for n in range(0, 1500, 2)}
    named = await ask(node, request("Metadata", topics=[{"name": f"t{n}"} for n in range(1500)]), 12, may)
    assert sum(t.error_code == 29 for t in named.topics) == 750


async def test_sv_5_authorized_operations_are_shown_as_bits_and_none_of_a_cluster_that_may_not_be_described() -> None:
    node = ModelNode(A)
    asked = request(
        "Metadata",
        topics=None,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    may = allows(("READ", TOPIC, "a"), ("ALTER_CONFIGS", TOPIC, "a"), ("CREATE", CLUSTER, CLUSTER_NAME))
    answer = await ask(node, asked, 9, may)
    assert answer.authorized_operations == NO_OPERATIONS
    assert answer.topics[0].authorized_operations == {3, 8, 10, 11}
    cluster = request("DescribeCluster", include_cluster_authorized_operations=True)
    assert (await ask(node, cluster, 1, may)).authorized_operations == NO_OPERATIONS
    assert (await ask(node, cluster, 1, on_cluster("ALTER", "CREATE"))).authorized_operations == {5, 7, 8}
    assert (await ask(node, cluster, 1)).authorized_operations == {5, 7, 8, 9, 10, 11, 12}
    assert (await ask(node, request("DescribeCluster"), 1, may)).authorized_operations is NOT_SHOWN


@pytest.mark.parametrize("version", range(8, 13))
async def test_sv_5_a_client_that_may_describe_a_topic_that_is_not_there_learns_what_is_allowed_on_it(
    version: int,
) -> None:
    """As of KafkaApis.handleTopicMetadataRequest: it asks the authorizer for each topic but those that are denied."""
    may = allows(("DESCRIBE", TOPIC, "absent"), ("DELETE", TOPIC, "absent"), ("READ", TOPIC, "not a name"))
    names = [{"name": name} for name in ("absent", "not a name", "denied")]
    asked = request("Metadata", topics=names, include_topic_authorized_operations=True)
    answer = await ask(ModelNode(A), asked, version, may)
    assert {t.name: (t.error_code, t.authorized_operations) for t in answer.topics} == {
        "absent": (3, {6, 8}),
        "not a name": (17, {3, 8}),
        "denied": (29, NOT_SHOWN),
    }
    unasked = await ask(ModelNode(A), request("Metadata", topics=names[:1]), version, may)
    assert unasked.topics[0].authorized_operations is NOT_SHOWN
    pages = request("DescribeTopicPartitions", topics=names, response_partition_limit=10, cursor=None)
    described = await ask(ModelNode(A), pages, 0, may)
    assert {t.name: t.topic_authorized_operations for t in described.topics} == {
        "absent": 1 << 6 | 1 << 8,
        "not a name": 1 << 3 | 1 << 8,
        "denied": -(2**31),
    }


async def test_sv_5_find_coordinator_refuses_each_key_by_itself() -> None:
    asked = request("FindCoordinator", key_type=0, coordinator_keys=["g", "h"])
    answer = await ask(ModelNode(), asked, 4, allows(("READ", GROUP, "g")))
    found = [(one.key, one.error_code, one.node_id, one.error_message) for one in answer.coordinators]
    assert found == [("g", 15, -1, "The coordinator is not available."), ("h", 30, -1, "")]
    old = await ask(ModelNode(), request("FindCoordinator", key="t", key_type=1), 2, allows())
    assert (old.error_code, old.error_message, old.node_id) == (53, "Transactional Id authorization failed.", -1)


async def test_sv_5_groups_are_refused_one_by_one() -> None:
    answer = await ask(ModelNode(), request("DescribeGroups", groups=["g", "h"]), 5, allows(("DESCRIBE", GROUP, "g")))
    assert [(one.group_id, one.error_code) for one in answer.groups] == [("g", 16), ("h", 30)]


def new_topics(*names: str) -> Any:
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    return request("CreateTopics", topics=topics, timeout_ms=1)


async def test_sv_5_topics_are_created_with_the_right_to_create_on_the_cluster_or_on_the_topic() -> None:
    node = ModelNode(C)
    may = allows(("CREATE", TOPIC, "a"), ("DESCRIBE_CONFIGS", TOPIC, "a"), ("CREATE", TOPIC, "d"))
    answer = await ask(node, new_topics("a", "b", "c", "d", "e", "e"), 7, may)
    found = {t.name: (t.error_code, t.error_message, t.topic_config_error_code) for t in answer.topics}
    assert found == {
        "a": (0, None, 0),
        "b": (29, "Authorization failed.", 29),
        "c": (29, "Authorization failed.", 29),
        "d": (0, None, 29),
        "e": (42, "Found multiple entries for this topic.", 29),
    }, "a client that may not create it does not learn that it exists"
    assert [[t.name for t in call[1]] for call in node.controller.calls] == [["a", "d"]]
    hidden = next(t for t in answer.topics if t.name == "d")
    assert (hidden.num_partitions, hidden.replication_factor, hidden.configs, number(hidden.topic_id)) == (
        -1,
        -1,
        [],
        0,
    )
    cluster = await ask(ModelNode(C), new_topics("b"), 7, on_cluster("CREATE"))
    assert cluster.topics[0].error_code == 0


async def test_sv_5_deletions_are_refused_by_name_or_id_as_in_kafka() -> None:
    may = allows(("DELETE", TOPIC, "a"), ("DESCRIBE", TOPIC, "b"))
    node = ModelNode(A, B, C)
    ids = [{"name": None, "topic_id": one.id} for one in (A, B, C)]
    names = [{"name": name} for name in ("b", "unknown")]
    answer = await ask(node, request("DeleteTopics", topics=[*ids, *names], timeout_ms=1), 6, may)
    found = [(t.name, number(t.topic_id) != 0, t.error_code, t.error_message) for t in answer.responses]
    assert found == [
        ("a", True, 0, None),
        ("b", True, 29, None),
        (None, True, 29, None),
        ("b", False, 29, None),
        ("unknown", False, 29, None),
    ]
    assert node.controller.calls == [("delete_topics", ["a"])]


async def test_sv_5_partitions_are_added_to_topics_that_may_be_altered() -> None:
    node = ModelNode(A, B)
    topics = [{"name": name, "count": 2, "assignments": None} for name in ("a", "b", "c", "c")]
    answer = await ask(node, request("CreatePartitions", topics=topics, timeout_ms=1), 3, allows(("ALTER", TOPIC, "a")))
    assert {t.name: (t.error_code, t.error_message) for t in answer.results} == {
        "a": (0, None),
        "b": (29, "The topic authorization is failed."),
        "c": (42, "Duplicate topic in request."),
    }
    assert [[new.topic for new in call[1]] for call in node.controller.calls] == [["a"]]


async def test_sv_5_configs_are_refused_per_resource() -> None:
    node, may = ModelNode(A, B), allows(("ALTER_CONFIGS", TOPIC, "a"))
    names = [(2, "a"), (2, "b"), (2, "unknown"), (4, "1000"), (4, ""), (8, "1000")]
    resources = [{"resource_type": kind, "resource_name": name, "configuration_keys": None} for kind, name in names]
    answer = await ask(node, request("DescribeConfigs", resources=resources), 4, may)
    found = {
        (r.resource_type, r.resource_name): (r.error_code, r.error_message, bool(r.configs)) for r in answer.results
    }
    denied = {
        **dict.fromkeys(names[1:3], (29, "Topic authorization failed.", False)),
        **dict.fromkeys(names[3:], (31, "Cluster authorization failed.", False)),
    }
    assert found == {(2, "a"): (0, None, True), **denied}
    for name, more in (("AlterConfigs", {}), ("IncrementalAlterConfigs", {"config_operation": 0})):
        value = [{"name": "retention.ms", "value": "5", **more}]
        changes = [{"resource_type": kind, "resource_name": of, "configs": value} for kind, of in names[:5]]
        altered = await ask(node, request(name, resources=changes), 1, may)
        codes_of = [(r.error_code, r.error_message) for r in altered.responses]
        assert codes_of == [(0, None), (29, None), (29, None), (31, None), (31, None)]
    assert node.configs.entities == {("topics", "a"): {"retention.ms": "5"}}


async def test_sv_5_a_producer_id_needs_idempotent_write_or_write_on_any_topic() -> None:
    async def code(may: AclAuthorizer, transactional_id: str | None = None) -> int:
        fields = {**SENSIBLE["InitProducerId"], "transactional_id": transactional_id}
        answer = await ask(ModelNode(), request("InitProducerId", **fields), 4, may)
        return int(answer.error_code)

    assert await code(allows(("READ", TOPIC, "a"))) == 31
    assert await code(allows(("WRITE", TOPIC, "a"))) == 0
    assert await code(on_cluster("IDEMPOTENT_WRITE")) == 0
    assert await code(on_cluster("IDEMPOTENT_WRITE"), "t") == 53
    assert await code(allows(("WRITE", TXN, "t")), "t") == 16


async def test_sv_5_scram_credentials_are_refused_after_not_controller_and_without_a_text() -> None:
    asked = request("AlterUserScramCredentials", **SENSIBLE["AlterUserScramCredentials"])
    answer = await ask(ModelNode(), asked, 0, on_cluster("DESCRIBE"))
    assert [(r.user, r.error_code, r.error_message) for r in answer.results] == [("u", 31, None)]
    standby = ModelNode()
    standby.controller.active = False
    assert (await ask(standby, asked, 0, on_cluster("DESCRIBE"))).results[0].error_code == 41
    listed = await ask(ModelNode(), request("DescribeUserScramCredentials", users=None), 0, on_cluster("ALTER_CONFIGS"))
    assert (listed.error_code, listed.error_message) == (31, None)


async def test_sv_5_topic_partitions_are_described_to_clients_with_the_right_and_others_come_last() -> None:
    node, may = ModelNode(A, B, C), allows(("DESCRIBE", TOPIC, "b"))
    fields = {"response_partition_limit": 10, "cursor": None}
    named = request("DescribeTopicPartitions", topics=[{"name": name} for name in "abc"], **fields)
    answer = await ask(node, named, 0, may)
    assert [(t.name, t.error_code, t.topic_authorized_operations) for t in answer.topics] == [
        ("b", 0, 1 << 8),
        *(("a", 29, -(2**31)), ("c", 29, -(2**31))),
    ]
    everything = await ask(node, request("DescribeTopicPartitions", topics=[], **fields), 0, may)
    assert [t.name for t in everything.topics] == ["b"]


async def test_sv_5_each_request_with_refusals_is_reported_once_with_what_was_refused() -> None:
    told: list[tuple[int, str]] = []

    def tell(ctx: RequestContext) -> None:
        told.append((ctx.access.refusals, ctx.access.describe_denied()))

    async def asked(body: Any, version: int, may: AclAuthorizer) -> None:
        await ask(ModelNode(A, B), body, version, may, on_denied=tell)

    await asked(request("Metadata", topics=[{"name": f"b {n}"} for n in range(9)]), 12, allows())
    await asked(request("Metadata", topics=None), 12, allows())
    await asked(request("ListPartitionReassignments", topics=None, timeout_ms=1), 0, allows())
    await asked(new_topics("x"), 7, allows())
    await asked(new_topics("x"), 7, on_cluster("CREATE"))
    assert told == [
        (9, 'DESCRIBE on topic "b 0", "b 1", "b 2", "b 3", "b 4" and 4 more'),
        (1, "DESCRIBE on cluster"),
        (1, "CREATE on topic x"),
    ], "no client learns of what is only left out"


async def test_sv_5_hosts_of_acls_are_compared_as_java_prints_them() -> None:
    made = on_cluster("DESCRIBE")
    asked = request("ListPartitionReassignments", topics=None, timeout_ms=1)
    for host, code in (("127.0.0.1", 0), ("::ffff:127.0.0.1", 0), ("127.0.0.2", 31), ("::1", 31)):
        assert (await ask(ModelNode(), asked, 0, made, peer=Peer(host, "PLAINTEXT"))).error_code == code


def test_sv_5_without_an_authorizer_everything_is_allowed() -> None:
    assert EVERYTHING.unlimited
    assert EVERYTHING.may_on_any(AclOperation.WRITE, TOPIC)
    assert not Access(AclAuthorizer()).may_on_cluster(AclOperation.DESCRIBE)
    assert isinstance(Dispatcher(ModelNode()).served, dict)
