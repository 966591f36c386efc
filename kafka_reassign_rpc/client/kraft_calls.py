"""Calls that only a cluster in KRaft mode answers."""

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import NoActiveController, Unreachable, UnsupportedHere, raise_for
from kafka_reassign_rpc.client.node_questions import METADATA_LOG
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import known
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeTopicPartitionsRequest,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.counted import first_of

_MOST_PAGES = 20
"""Each answer has up to 2,000 partitions (`max.request.partition.size.limit`)."""
_MOST_TOPICS = 100
"""How many topics are asked about at most."""
_OF_4_4 = 5
"""The version of ApiVersions that 4.4 has brought (KIP-1242)."""
_TELLS_FENCED = 2
"""The version of DescribeCluster."""


class RegisteredBroker(NamedTuple):
    """`fenced`: it leads nothing and joins no ISR; None before Kafka 4.0, which does not say."""

    node: ClusterNode
    fenced: bool | None


class Quorum(NamedTuple):
    """leader   the active controller; None: unknown
    quiet_s  seconds since each node fetched the metadata, by the leader's clock; empty before Kafka 3.3
    voters   their ids; empty: unknown
    """

    leader: int | None
    quiet_s: Mapping[int, float]
    voters: Sequence[int] = ()


async def describe_quorum(router: RequestRouter, named: int) -> Quorum:
    """`named`: the controller that Metadata names. In KRaft mode that is any broker, so the quorum is asked (DESCRIBE
    on the cluster). Raises NoActiveController.
    """
    try:
        found = await _metadata_log(router)
    except UnsupportedHere:
        return Quorum(known(named), {})
    except NoActiveController:
        raise
    except KafkaError:
        return Quorum(None, {})
    if found is None:
        return Quorum(None, {})
    voters = sorted(one.replica_id for one in found.current_voters or ())
    return Quorum(known(found.leader_id), _quiet_s(found), voters)


async def _metadata_log(router: RequestRouter) -> DescribeQuorumResponse.TopicData.PartitionData | None:
    """As the active controller has it. Raises KafkaError."""
    one = DescribeQuorumRequest.TopicData
    asked = one(topic_name=METADATA_LOG, partitions=[one.PartitionData(partition_index=0)])
    answer = await router.ask_any(always(DescribeQuorumRequest(topics=[asked])), DescribeQuorumRequest)
    found = [one for topic in answer.topics for one in topic.partitions if not one.error_code]
    return None if answer.error_code or not found else found[0]


_ASKED_AT_ONCE = 3
_EVERY_S, _CAUGHT_UP_S = 0.02, 3.0
_ANSWER_MS = 1_000
_UNKNOWN = -1


async def up_to_date_broker(router: RequestRouter) -> int | None:
    """A broker that has, for every request from now on, all that the controller had committed when this was asked: so
    all changes that somebody has had an answer to. Where there are several controllers, brokers hear up to half a
    second later what is committed (before KIP-1166: with the next record).

    The epoch of finalized features is the offset of what a broker has read of the metadata. None: this cluster does not
    tell. Raises KafkaError, Unreachable also where no broker catches up.
    """
    deadline = asyncio.get_running_loop().time() + _CAUGHT_UP_S
    try:
        found = await _metadata_log(router)
    except UnsupportedHere:
        return None
    if found is None or found.high_watermark < 0:  # one that has just been elected does not know
        raise Unreachable("The controllers do not say how much of the metadata is committed.")
    some = random.sample(router.nodes, min(_ASKED_AT_ONCE, len(router.nodes)))
    while True:
        told = await router.at_once([partial(_offset_read, router, one) for one in some], _ANSWER_MS)
        for node, offset in zip(some, told, strict=True):
            if not isinstance(offset, KafkaError) and (offset == _UNKNOWN or offset >= found.high_watermark - 1):
                return None if offset == _UNKNOWN else node
        if asyncio.get_running_loop().time() >= deadline:
            raise Unreachable(f"No broker has caught up with the controllers within {_CAUGHT_UP_S:g} s.")
        await asyncio.sleep(_EVERY_S)


async def _offset_read(router: RequestRouter, node: int) -> int:
    request = ApiVersionsRequest(client_software_name="kafka-reassign-rpc", client_software_version="0")
    answer = await router.ask_node_once(node, always(request), ApiVersionsRequest)
    offset: int = getattr(answer, "finalized_features_epoch", _UNKNOWN)
    return offset


def _quiet_s(found: DescribeQuorumResponse.TopicData.PartitionData) -> dict[int, float]:
    """The leader is always caught up, so its time is now."""
    nodes = [*(found.current_voters or ()), *(found.observers or ())]
    now = max((one.last_caught_up_timestamp or -1 for one in nodes if one.replica_id == found.leader_id), default=-1)
    if now < 0:
        return {}
    fetched = {one.replica_id: one.last_fetch_timestamp or -1 for one in nodes}
    return {node: max(0, now - at) / 1000 for node, at in fetched.items() if at >= 0}


async def kraft_facts(router: RequestRouter, cluster: Cluster, quiet_s: Mapping[int, float]) -> tuple[KRaftFacts, str]:
    """Asks only where brokers are lost or moving partitions have no leader. The text says what cannot be seen ("":
    nothing).
    """
    why: list[str] = []
    fenced: frozenset[int] = frozenset()
    if any(broker not in cluster.brokers for broker in cluster.failed):
        try:
            fenced = frozenset(one for one, broker in (await registered_brokers(router)).items() if broker.fenced)
        except KafkaError as error:
            why.append(f"Which lost brokers are fenced is not seen: {error.message}")
    led_by_nobody = [topic for topic, _ in zip(_without_leader(cluster), range(_MOST_TOPICS), strict=False)]
    eligible = {}
    if led_by_nobody:
        try:
            eligible = await eligible_replicas(router, led_by_nobody)
        except KafkaError as error:
            why.append(
                f"Eligible leader replicas are not seen (the operation DESCRIBE on topics shows them): {error.message}"
            )
    return KRaftFacts(fenced, quiet_s, eligible), first_of(why, 2, between="; ")


def _without_leader(cluster: Cluster) -> Iterator[str]:
    for topic, indexes in cluster.moving.items():
        partitions = cluster.topics[topic].partitions
        if any(partitions[index].leader == NO_LEADER for index in indexes):
            yield topic


async def registered_brokers(router: RequestRouter, *, of_controller: bool = False) -> dict[int, RegisteredBroker]:
    """Before Kafka 4.0 without the fenced ones; empty before 2.8. `of_controller`: asks the node that is asked for
    moves, too. A broker that is cut off from the controllers answers with what it knew before, but tells no moves.
    Raises KafkaError.
    """

    def build(version: int) -> DescribeClusterRequest:
        fenced = {"include_fenced_brokers": True} if version >= _TELLS_FENCED else {}
        return DescribeClusterRequest(
            include_cluster_authorized_operations=False, endpoint_type=router.endpoint_type, **fenced
        )

    try:
        if of_controller:
            answer = await router.ask_controller(build, DescribeClusterRequest, any_can=True)
        else:
            answer = await router.ask_any(build, DescribeClusterRequest)
    except UnsupportedHere:
        return {}
    raise_for(answer.error_code, answer.error_message)
    has_fenced = (answer.version or 0) >= _TELLS_FENCED
    return {
        one.broker_id: RegisteredBroker(
            ClusterNode(one.broker_id, one.host, one.port, one.rack), one.is_fenced if has_fenced else None
        )
        for one in answer.brokers
    }


async def refuses_cordoned_targets(router: RequestRouter, broker: int) -> bool:
    """Whether this is a broker of Kafka 4.4 or later, whose controller takes no target with a cordoned broker
    (KAFKA-20832). Raises Unreachable.
    """
    return await router.highest(broker, ApiKey.API_VERSIONS) >= _OF_4_4


async def allowed_on_cluster(router: RequestRouter) -> frozenset[AclOperation]:
    """What this client may do there. Raises KafkaError."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=router.endpoint_type)
    answer = await router.ask_any(always(request), DescribeClusterRequest)
    raise_for(answer.error_code, answer.error_message)
    return frozenset(AclOperation.of(one) for one in answer.authorized_operations or ())


async def eligible_replicas(router: RequestRouter, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    """Of partitions that have some (KIP-966, DESCRIBE on the topics), from the first `_MOST_PAGES` answers."""
    asked = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in sorted(topics)]
    found: dict[TopicPartition, tuple[int, ...]] = {}
    cursor = None
    for _ in range(_MOST_PAGES if asked else 0):
        request = DescribeTopicPartitionsRequest(topics=asked, response_partition_limit=2_000, cursor=cursor)
        try:
            answer = await router.ask_any(always(request), DescribeTopicPartitionsRequest)
        except UnsupportedHere:
            return {}
        for topic in answer.topics:
            for one in topic.partitions or ():
                if one.eligible_leader_replicas:
                    name = TopicPartition(topic.name or "", one.partition_index)
                    found[name] = tuple(one.eligible_leader_replicas)
        if answer.next_cursor is None:
            break
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
        )
    return found
