"""Requests about records, groups and transactions: the server answers as a broker that is not the right one does."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol import messages as m
from kafka_reassign_rpc.protocol.frame_codec import NoAnswer
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY, OF_NEWEST_BROKER
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.tables import for_each

NOT_LEADER, NOT_COORDINATOR, UNKNOWN, UNKNOWN_ID, INVALID, UNSUPPORTED, SESSION = 6, 16, 3, 100, 42, 35, 70
TOPIC_DENIED, GROUP_DENIED, TRANSACTION_DENIED, CLUSTER_DENIED = 29, 30, 53, 31
NOBODY = AclAuthorizer()
"""Allows nothing to any client: there are no ACLs."""
EXISTING = topic("t", 2)

Build = Callable[[int], Any]


def node(*, knows: bool = True) -> ModelNode:
    return ModelNode(
        EXISTING, topic("__consumer_offsets", {0: Partition(replicas=(1,), leader=1, isr=(1,))}), knows=knows
    )


def structures(cls: Any, version: int, field: str, numbers: Any = (0, 5), **more: Any) -> list[Any]:
    return [cls(version=version, **{field: number}, **more) for number in numbers]


def produce(version: int, name: str = "t", *, acks: int = -1, records: bytes = b"", **more: Any) -> Any:
    cls = m.ProduceRequest
    data = structures(cls.TopicProduceData.PartitionProduceData, version, "index", records=records)
    topics = [cls.TopicProduceData(version=version, name=name, partition_data=data)]
    return cls(version=version, acks=acks, topic_data=topics, **more)


def fetch(version: int, name: str = "t", **more: Any) -> Any:
    cls = m.FetchRequest
    named = {"topic_id": EXISTING.id} if version >= 13 else {"topic": name}
    partitions = structures(cls.FetchTopic.FetchPartition, version, "partition")
    return cls(version=version, topics=[cls.FetchTopic(version=version, partitions=partitions, **named)], **more)


def list_offsets(version: int, *, numbers: Any = (0, 5), timestamp: int = -1) -> Any:
    cls = m.ListOffsetsRequest
    of_topic = cls.ListOffsetsTopic
    partitions = structures(of_topic.ListOffsetsPartition, version, "partition_index", numbers, timestamp=timestamp)
    return cls(version=version, replica_id=-1, topics=[of_topic(version=version, name="t", partitions=partitions)])


def epochs(version: int) -> Any:
    cls = m.OffsetForLeaderEpochRequest
    partitions = structures(cls.OffsetForLeaderTopic.OffsetForLeaderPartition, version, "partition")
    return cls(version=version, topics=[cls.OffsetForLeaderTopic(version=version, topic="t", partitions=partitions)])


def delete_records(version: int, name: str = "t") -> Any:
    cls = m.DeleteRecordsRequest
    partitions = structures(cls.DeleteRecordsTopic.DeleteRecordsPartition, version, "partition_index")
    return cls(version=version, topics=[cls.DeleteRecordsTopic(version=version, name=name, partitions=partitions)])


def commit(version: int) -> Any:
    cls = m.OffsetCommitRequest
    of_topic = cls.OffsetCommitRequestTopic
    partitions = structures(of_topic.OffsetCommitRequestPartition, version, "partition_index")
    return cls(version=version, group_id="g", topics=[of_topic(version=version, name="t", partitions=partitions)])


def commit_in_transaction(version: int, group: str = "g") -> Any:
    cls = m.TxnOffsetCommitRequest
    of_topic = cls.TxnOffsetCommitRequestTopic
    partitions = structures(of_topic.TxnOffsetCommitRequestPartition, version, "partition_index")
    topics = [of_topic(version=version, name="t", partitions=partitions)]
    return cls(version=version, transactional_id="x", group_id=group, topics=topics)


def describe_producers(version: int, name: str = "t") -> Any:
    cls = m.DescribeProducersRequest
    return cls(version=version, topics=[cls.TopicRequest(version=version, name=name, partition_indexes=[0, 5])])


def codes(answer: Any, topics: str = "topics", partitions: str = "partitions", code: str = "error_code") -> list[int]:
    return [getattr(one, code) for of_topic in getattr(answer, topics) for one in getattr(of_topic, partitions)]


PARTITIONS: dict[str, tuple[Build, dict[str, str], int, list[int]]] = {
    "Produce": (produce, {"topics": "responses", "partitions": "partition_responses"}, 11, [NOT_LEADER, UNKNOWN]),
    "Fetch": (fetch, {"topics": "responses"}, 17, [NOT_LEADER, UNKNOWN]),
    "ListOffsets": (list_offsets, {}, 9, [NOT_LEADER, UNKNOWN]),
    "OffsetForLeaderEpoch": (epochs, {}, 4, [NOT_LEADER, UNKNOWN]),
    "DeleteRecords": (delete_records, {}, 2, [NOT_LEADER, UNKNOWN]),
    "DescribeProducers": (describe_producers, {}, 0, [NOT_LEADER, UNKNOWN]),
    "OffsetCommit": (commit, {}, 9, [NOT_COORDINATOR, UNKNOWN]),
    "TxnOffsetCommit": (commit_in_transaction, {}, 4, [NOT_COORDINATOR, UNKNOWN]),
}
IN_EVERY_VERSION = [(name, version) for name, (_, _, top, _) in PARTITIONS.items() for version in range(top + 1)]
DENIED = {"OffsetCommit": GROUP_DENIED, "TxnOffsetCommit": TRANSACTION_DENIED}


@for_each(("name", "version"), IN_EVERY_VERSION)
@for_each("knows", [True, False], ids=["from memory", "asked for"])
async def test_hm_4_partitions_get_the_error_of_a_node_that_does_not_lead_them(
    name: str, version: int, *, knows: bool
) -> None:
    build, where, _, errors = PARTITIONS[name]
    if name == "Fetch" and version >= 13 and not knows:
        errors = [UNKNOWN_ID] * 2
    assert codes(await ask(node(knows=knows), build(version), version), **where) == errors


@for_each(("name", "version"), IN_EVERY_VERSION)
async def test_hm_4_what_the_caller_may_not_touch_is_refused_before_anything_else(name: str, version: int) -> None:
    build, where, _, _ = PARTITIONS[name]
    answer = await ask(node(), build(version), version, NOBODY)
    assert codes(answer, **where) == [DENIED.get(name, TOPIC_DENIED)] * 2


@pytest.mark.long
@for_each("name", PARTITIONS)
async def test_hm_4_many_partitions_are_refused_in_slices(name: str) -> None:
    build, where, top, errors = PARTITIONS[name]
    request = build(top)
    of_topics = {"Produce": "topic_data"}.get(name, "topics")
    (named,) = getattr(request, of_topics)
    of_partitions = {"Produce": "partition_data", "DescribeProducers": "partition_indexes"}.get(name, "partitions")
    setattr(named, of_partitions, getattr(named, of_partitions)[:1])
    setattr(request, of_topics, [named] * 2_000)
    if name == "ListOffsets":
        errors = [INVALID]  # each partition is named more than once
    assert codes(await ask(node(), request, top), **where) == errors[:1] * 2_000


async def test_hm_4_places_in_a_log_that_a_version_does_not_know_are_refused() -> None:
    for timestamp, least in {-2: 0, -1: 0, -3: 7, -4: 8, -5: 9, -6: 10}.items():
        for version in range(10):
            known = version >= least
            answer = await ask(node(), list_offsets(version, timestamp=timestamp), version)
            assert codes(answer) == ([NOT_LEADER, UNKNOWN] if known else [UNSUPPORTED] * 2)
    assert codes(await ask(node(), list_offsets(1, numbers=(0, 0, 1)), 1)) == [INVALID, INVALID, NOT_LEADER]
    assert codes(await ask(node(), list_offsets(0, numbers=(0, 0)), 0)) == [NOT_LEADER] * 2


PRODUCED = {"topics": "responses", "partitions": "partition_responses"}


async def test_hm_4_a_producer_without_answers_loses_its_connection() -> None:
    for version in range(12):
        assert await ask(node(), produce(version, acks=0), version) == NoAnswer(closes=True)
        nothing = m.ProduceRequest(version=version, acks=0, topic_data=[])
        assert await ask(node(), nothing, version) == NoAnswer(closes=False)


async def test_hm_4_produce_looks_at_acks_and_internal_topics_as_kafka_does() -> None:
    assert codes(await ask(node(), produce(9, acks=7), 9), **PRODUCED) == [21, UNKNOWN]
    assert codes(await ask(node(), produce(9, "__consumer_offsets"), 9), **PRODUCED) == [17, UNKNOWN]


async def test_hm_4_transactional_records_need_the_right_to_their_transaction() -> None:
    batch = bytes(16) + b"\2" + bytes(5) + b"\x10" + bytes(40)
    plain = bytes(16) + b"\2" + bytes(46)
    for records, expected in ((batch, TRANSACTION_DENIED), (plain, TOPIC_DENIED), (b"", TOPIC_DENIED)):
        answer = await ask(node(), produce(9, records=records, transactional_id="x"), 9, NOBODY)
        assert codes(answer, **PRODUCED) == [expected] * 2
    assert codes(await ask(node(), produce(9, records=batch), 9), **PRODUCED) == [TRANSACTION_DENIED] * 2


async def test_hm_4_fetch_knows_no_session_and_no_follower_without_the_right() -> None:
    going_on = await ask(node(), fetch(12, session_id=7, session_epoch=3), 12)
    assert (going_on.error_code, going_on.responses) == (SESSION, [])
    for epoch in (0, -1):
        answer = await ask(node(), fetch(12, session_id=7, session_epoch=epoch), 12)
        assert (answer.error_code, answer.session_id) == (0, 0)
    follower = m.FetchRequest.ReplicaState(version=15, replica_id=1)
    for request, version in ((fetch(12, replica_id=1), 12), (fetch(15, replica_state=follower), 15)):
        answer = await ask(node(), request, version, NOBODY)
        assert codes(answer, topics="responses") == [TOPIC_DENIED] * 2
        assert codes(await ask(node(), request, version), topics="responses") == [NOT_LEADER, UNKNOWN]


async def test_hm_4_records_of_internal_topics_are_not_deleted_and_bad_names_have_no_producers() -> None:
    assert codes(await ask(node(), delete_records(2, "__consumer_offsets"), 2)) == [17, UNKNOWN]
    assert codes(await ask(node(), describe_producers(0, "a b"), 0, NOBODY)) == [17, 17]


WHOLE: dict[str, tuple[Build, int, int, int]] = {
    "JoinGroup": (lambda v: m.JoinGroupRequest(version=v, group_id="g"), 9, NOT_COORDINATOR, GROUP_DENIED),
    "Heartbeat": (lambda v: m.HeartbeatRequest(version=v, group_id="g"), 4, NOT_COORDINATOR, GROUP_DENIED),
    "LeaveGroup": (lambda v: m.LeaveGroupRequest(version=v, group_id="g"), 5, NOT_COORDINATOR, GROUP_DENIED),
    "SyncGroup": (
        lambda v: m.SyncGroupRequest(version=v, group_id="g", protocol_type="p", protocol_name="n"),
        5,
        NOT_COORDINATOR,
        GROUP_DENIED,
    ),
    "OffsetDelete": (
        lambda v: m.OffsetDeleteRequest(version=v, group_id="g", topics=[]), 0, NOT_COORDINATOR, GROUP_DENIED
    ),
    "AddOffsetsToTxn": (
        lambda v: m.AddOffsetsToTxnRequest(version=v, transactional_id="x", group_id="g"),
        4,
        NOT_COORDINATOR,
        TRANSACTION_DENIED,
    ),
    "EndTxn": (lambda v: m.EndTxnRequest(version=v, transactional_id="x"), 4, NOT_COORDINATOR, TRANSACTION_DENIED),
    "ConsumerGroupHeartbeat": (
        lambda v: m.ConsumerGroupHeartbeatRequest(version=v, group_id="g", member_id="m"), 0, UNSUPPORTED, UNSUPPORTED
    ),
    "CreateDelegationToken": (lambda v: m.CreateDelegationTokenRequest(version=v, renewers=[]), 3, 64, 64),
    "RenewDelegationToken": (lambda v: m.RenewDelegationTokenRequest(version=v, hmac=b"h"), 2, 64, 64),
    "ExpireDelegationToken": (lambda v: m.ExpireDelegationTokenRequest(version=v, hmac=b"h"), 2, 64, 64),
    "DescribeDelegationToken": (lambda v: m.DescribeDelegationTokenRequest(version=v, owners=None), 3, 64, 64),
}  # fmt: skip


@for_each(
    ("name", "version"), [(name, version) for name, (_, top, _, _) in WHOLE.items() for version in range(top + 1)]
)
async def test_hm_4_requests_to_coordinators_are_refused_in_every_version(name: str, version: int) -> None:
    build, _, refused, denied = WHOLE[name]
    assert (await ask(node(), build(version), version)).error_code == refused
    assert (await ask(node(), build(version), version, NOBODY)).error_code == denied


@pytest.mark.parametrize("cls", [m.JoinGroupRequest, m.HeartbeatRequest, m.LeaveGroupRequest])
async def test_hm_4_a_group_without_a_name_is_invalid(cls: Any) -> None:
    assert (await ask(node(), cls(version=2, group_id=""), 2)).error_code == 24


async def test_hm_4_what_a_coordinator_would_refuse_at_once_is_refused_here() -> None:
    assert (await ask(node(), m.SyncGroupRequest(version=5, group_id="g"), 5, NOBODY)).error_code == 23
    assert (await ask(node(), m.EndTxnRequest(version=3, transactional_id=""), 3)).error_code == INVALID
    assert codes(await ask(node(), commit_in_transaction(3, ""), 3)) == [24, UNKNOWN]


async def test_hm_4_delegation_tokens_are_off_where_the_client_has_said_who_it_is() -> None:
    peer = Peer("127.0.0.1", "SASL", "User:alice", "SCRAM-SHA-256")
    request = m.DescribeDelegationTokenRequest(version=3, owners=None)
    assert (await ask(node(), request, 3, peer=peer)).error_code == 61


@for_each("version", range(10))
async def test_hm_4_offsets_of_a_group_are_not_answered_in_any_version(version: int) -> None:
    cls = m.OffsetFetchRequest
    if version >= 8:
        groups = [cls.OffsetFetchRequestGroup(version=version, group_id=name, topics=None) for name in ("g", "h")]
        request = cls(version=version, groups=groups)
    else:
        topics = [cls.OffsetFetchRequestTopic(version=version, name="t", partition_indexes=[0, 1])]
        request = cls(version=version, group_id="g", topics=topics)
    for authorizer, code in ((None, NOT_COORDINATOR), (NOBODY, GROUP_DENIED)):
        answer = await ask(node(), request, version, authorizer)
        if version >= 8:
            found = [(group.group_id, group.error_code, group.topics) for group in answer.groups]
            assert found == [("g", code, []), ("h", code, [])]
        elif version >= 2:
            assert (answer.error_code, answer.topics) == (code, [])
        else:
            assert codes(answer) == [code] * 2


@pytest.mark.parametrize("version", range(6))
async def test_hm_4_no_partition_joins_a_transaction_here(version: int) -> None:
    cls = m.AddPartitionsToTxnRequest
    topics_of_request = cls._struct if version < 4 else cls.AddPartitionsToTxnTransaction._struct
    of_topic = topics_of_request.fields["v3_and_below_topics" if version < 4 else "topics"].data_class

    def request(numbers: list[int], transaction: str = "x") -> Any:
        topics = [of_topic(version=version, name="t", partitions=numbers)]
        if version < 4:
            return cls(version=version, v3_and_below_transactional_id=transaction, v3_and_below_topics=topics)
        wanted = cls.AddPartitionsToTxnTransaction(version=version, transactional_id=transaction, topics=topics)
        return cls(version=version, transactions=[wanted])

    def found(answer: Any) -> list[int]:
        if version < 4:
            topics = answer.results_by_topic_v3_and_below
        else:
            assert answer.error_code == 0
            (only,) = answer.results_by_transaction
            assert only.transactional_id == "x" or not only.transactional_id
            topics = only.topic_results
        return [one.partition_error_code for of in topics for one in of.results_by_partition]

    assert found(await ask(node(), request([0, 1]), version)) == [NOT_COORDINATOR] * 2
    assert found(await ask(node(), request([0, 5]), version)) == [55, UNKNOWN]
    assert found(await ask(node(), request([0], ""), version)) == [INVALID]
    denied = await ask(node(), request([0]), version, NOBODY)
    assert (denied.error_code == CLUSTER_DENIED) if version >= 4 else (found(denied) == [TRANSACTION_DENIED])


async def test_hm_4_no_marker_is_written_and_no_group_or_transaction_is_here() -> None:
    cls = m.WriteTxnMarkersRequest
    for version in range(2):
        topics = [cls.WritableTxnMarker.WritableTxnMarkerTopic(version=version, name="t", partition_indexes=[0, 1])]
        markers = [cls.WritableTxnMarker(version=version, producer_id=4, topics=topics)]
        for authorizer, code in ((None, UNKNOWN), (NOBODY, CLUSTER_DENIED)):
            answer = await ask(node(), cls(version=version, markers=markers), version, authorizer)
            assert [(one.producer_id, codes(one)) for one in answer.markers] == [(4, [code] * 2)]
    for version in range(3):
        answer = await ask(node(), m.DeleteGroupsRequest(version=version, groups_names=["g", "h", "g"]), version)
        assert [(one.group_id, one.error_code) for one in answer.results] == [("g", 16), ("h", 16)]
    groups = await ask(node(), m.ConsumerGroupDescribeRequest(version=0, group_ids=["g"]), 0)
    assert [(one.group_id, one.error_code) for one in groups.groups] == [("g", UNSUPPORTED)]
    ids = await ask(node(), m.DescribeTransactionsRequest(version=0, transactional_ids=["x"]), 0, NOBODY)
    assert [one.error_code for one in ids.transaction_states] == [TRANSACTION_DENIED]


OF_CONTROLLERS = {4, 5, 6}
"""LeaderAndIsr, StopReplica, UpdateMetadata: only a controller sends these, to brokers."""


def test_hm_4_the_server_serves_what_a_broker_of_3_9_announces() -> None:
    served = {key: (api.min_version, api.max_version) for key, api in SERVER_APIS.items() if key < FIRST_VENDOR_KEY}
    for key, (low, high) in OF_NEWEST_BROKER.items():
        if key not in OF_CONTROLLERS:
            assert served[key][0] <= low
            assert served[key][1] >= high


async def test_hm_4_transactions_are_described_by_id_and_listed_by_states_that_exist() -> None:
    request = m.DescribeTransactionsRequest(version=0, transactional_ids=["x", ""])
    answer = await ask(node(), request, 0)
    assert [one.error_code for one in answer.transaction_states] == [NOT_COORDINATOR, INVALID]
    for version in range(2):
        listing = m.ListTransactionsRequest(
            version=version, state_filters=["Ongoing", "nope", "ongoing", "nope"], producer_id_filters=[]
        )
        listed = await ask(node(), listing, version)
        assert (listed.error_code, listed.transaction_states) == (0, [])
        assert listed.unknown_state_filters == ["nope", "ongoing"]


@pytest.mark.parametrize("version", range(6))
async def test_hm_4_a_producer_that_makes_no_sense_gets_an_error(version: int) -> None:
    def request(transaction: str | None, timeout: int = 1000, producer: int = -1, epoch: int = -1) -> Any:
        return m.InitProducerIdRequest(
            version=version,
            transactional_id=transaction,
            transaction_timeout_ms=timeout,
            producer_id=producer,
            producer_epoch=epoch,
        )

    wrong = [request("")]
    if version >= 3:
        wrong += [request(None, producer=5), request("x", epoch=5), request(None, epoch=5)]
    for one in wrong:
        assert (await ask(node(), one, version)).error_code == INVALID
    assert (await ask(node(), request("x", 0), version)).error_code == 50
    assert (await ask(node(), request("x"), version)).error_code == NOT_COORDINATOR
    assert (await ask(node(), request("x", producer=5, epoch=5), version)).error_code == NOT_COORDINATOR


@pytest.mark.parametrize(("name", "code"), [("t", 40), ("nope", 40)])
async def test_hm_4_what_is_no_list_is_not_appended_to_whether_the_topic_exists_or_not(name: str, code: int) -> None:
    resource = m.IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(version=1, name="retention.ms", config_operation=2, value="1")
    wanted = resource(version=1, resource_type=2, resource_name=name, configs=[config])
    answer = await ask(node(), m.IncrementalAlterConfigsRequest(version=1, resources=[wanted]), 1)
    assert [one.error_code for one in answer.responses] == [code]
