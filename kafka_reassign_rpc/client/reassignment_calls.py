"""Calls that list, describe, start and cancel moves, and elect leaders."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from kafka_reassign_rpc.client.client_errors import UnsupportedHere, error_of, raise_for
from kafka_reassign_rpc.client.request_routing import Needs, RequestRouter, always, in_thread_if_many
from kafka_reassign_rpc.client.result_values import (
    WAITING,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
)
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded, KafkaError
from kafka_reassign_rpc.core.leadership.elections import ElectionType
from kafka_reassign_rpc.core.state.partition import QUEUE, RPC, CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.core.status.documents import known
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ApiMessage,
    DescribeReassignmentsRequest,
    DescribeReassignmentsResponse,
    DoCommandRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListReassignmentsRequest,
)

NO_REPLICATION_FACTOR_GUARD = (
    "The broker does not support the AllowReplicationFactorChange option for the AlterPartitionReassignments API. "
    "Consider re-sending the request without the option or updating the server version"
)
"""Text of KafkaAdminClient.alterPartitionReassignments of 4.1."""
NO_EXPECTATIONS = (
    "The controller does not compare expected replicas: that needs a kafka-reassign-rpc server. This request was not"
    " sent."
)
NO_QUEUE = (
    "The controller has no queue for reassignments (KIP-236): that needs a kafka-reassign-rpc server."
    " This request was not sent."
)
NO_LEASES = (
    "The controller does not take the throttles of moves off by itself: that needs a kafka-reassign-rpc server. "
    "This request was not sent."
)
NO_LIFTS = (
    "The controller does not lift stricter rates for moves: that needs a kafka-reassign-rpc server of this version. "
    "This request was not sent."
)
NO_REASONS = (
    "The controller does not keep what moves are for: that needs a kafka-reassign-rpc server. This request was not"
    " sent."
)
NO_IDENTITIES = "The controller does not give moves an identity (KIP-240): that needs a kafka-reassign-rpc server."

Moved = TypeVar("Moved", bound=tuple[str, int])
Asked = MoveTerms | CancelMove
Partitions = Iterable[tuple[str, int]]
Results = dict[TopicPartition, KafkaError | None]

_Listed = ListPartitionReassignmentsResponse.OngoingTopicReassignment.OngoingPartitionReassignment
_ListTopic = ListReassignmentsRequest.ListReassignmentsTopic
_DescribeTopic = DescribeReassignmentsRequest.DescribeReassignmentsTopic
_Description = DescribeReassignmentsResponse.ReassignmentDescription
_MovingTopic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
_Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
_Partition = _Topic.ReassignablePartition


async def list_reassignments(
    router: RequestRouter, partitions: Partitions | None, timeout_ms: int
) -> list[Reassignment]:
    await require(router, ListReassignmentsRequest, NO_IDENTITIES)
    wanted = None
    if partitions is not None:
        wanted = [_ListTopic(topic=name, partition_ids=ids) for name, ids in by_topic(partitions).items()]

    request = ListReassignmentsRequest(timeout_ms=timeout_ms, topic_partitions=wanted)
    answer = await router.ask_controller(always(request), ListReassignmentsRequest)
    raise_for(answer.error_code, answer.error_message)
    return [
        Reassignment(TopicPartition(topic.topic, move.partition_id), move.reassignment_id)
        for topic in answer.reassignments
        for move in topic.topic_reassignments
    ]


async def describe_reassignments(
    router: RequestRouter, reassignments: Iterable[Reassignment] | None, timeout_ms: int
) -> dict[Reassignment, ReassignmentDescription | None]:
    await require(router, DescribeReassignmentsRequest, NO_IDENTITIES)
    if reassignments is None:
        every = await _describe(router, None, timeout_ms)
        return {found.reassignment: found for found in map(_description, every)}
    wanted = list(reassignments)
    if not wanted:
        return {}
    topics: dict[str, list[_DescribeTopic.DescribeReassignmentsMove]] = {}
    for one in wanted:
        topics.setdefault(one.topic_partition.topic, []).append(
            _DescribeTopic.DescribeReassignmentsMove(partition_id=one.topic_partition.partition, reassignment_id=one.id)
        )
    asked = [_DescribeTopic(topic=name, reassignments=moves) for name, moves in topics.items()]
    # KIP-240 answers with the id alone. That is not enough: moves that were recorded in one transaction of ZooKeeper
    # share their czxid. So this server adds the partition.
    found = {}
    for each in map(_description, await _describe(router, asked, timeout_ms)):
        found[each.reassignment] = each
    return {one: dataclasses.replace(found[one], reassignment=one) if one in found else None for one in wanted}


async def _describe(router: RequestRouter, topics: list[_DescribeTopic] | None, timeout_ms: int) -> list[_Description]:
    request = DescribeReassignmentsRequest(topic_reassignments=topics, timeout_ms=timeout_ms)
    answer = await router.ask_controller(always(request), DescribeReassignmentsRequest)
    raise_for(answer.error_code, answer.error_message)
    return list(answer.descriptions)


def _description(found: _Description) -> ReassignmentDescription:
    return ReassignmentDescription(
        reassignment=Reassignment(TopicPartition(found.topic or "", found.partition_id), found.reassignment_id),
        start_time=found.start_time,
        current_leader=known(found.leader_id),
        leader_throttle=found.leader_throttle,
        new_assigned_throttles={replica.broker_id: replica.follower_throttle for replica in found.new_assigned},
    )


async def list_partition_reassignments(
    router: RequestRouter, partitions: Partitions | None, timeout_ms: int
) -> dict[TopicPartition, PartitionReassignment]:
    wanted = None
    if partitions is not None:
        wanted = [_MovingTopic(name=name, partition_indexes=ids) for name, ids in by_topic(partitions).items()]

    request = ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=wanted)
    answer = await router.ask_controller(always(request), ListPartitionReassignmentsRequest)
    raise_for(answer.error_code, answer.error_message)
    moves = sum(len(topic.partitions) for topic in answer.topics)
    return await in_thread_if_many(moves, partial(_listed, answer))


def _listed(answer: ListPartitionReassignmentsResponse) -> dict[TopicPartition, PartitionReassignment]:
    return {
        TopicPartition(topic.name, one.partition_index): _one_listed(one)
        for topic in answer.topics
        for one in topic.partitions
    }


def _one_listed(one: _Listed) -> PartitionReassignment:
    """A waiting move that adds and removes all replicas is another order of them. To look for tags, which stock Kafka
    does not send, takes longer than all else."""
    adding, removing = tuple(one.adding_replicas), tuple(one.removing_replicas)
    if not one.tags:
        return PartitionReassignment(tuple(one.replicas), adding, removing)
    is_order = one.state == WAITING and set(adding) == set(removing)
    return PartitionReassignment(
        replicas=tuple(one.replicas),
        adding_replicas=() if is_order else adding,
        removing_replicas=() if is_order else removing,
        id=known(one.reassignment_id),
        state=one.state,
        route=one.route,
        reason=one.reason,
        waiting_target=(adding or None) if is_order else None,
        held=one.held,
    )


async def can_forbid_replication_factor_change(router: RequestRouter) -> bool:
    return await router.controller_serves(AlterPartitionReassignmentsRequest) >= 1


async def is_this_server(router: RequestRouter) -> bool:
    """Whether the controller knows our tagged fields; any other server would ignore them silently."""
    return await router.controller_serves(DescribeReassignmentsRequest) >= 0


def needs_our_server(terms: MoveTerms) -> str | None:
    """The text for a stock controller, which would ignore what is asked for; None: it does all of it."""
    asked = (
        (terms.expected is not None, NO_EXPECTATIONS),
        (terms.route == QUEUE, NO_QUEUE),
        (terms.throttle is not None, NO_LEASES),
        (terms.reason, NO_REASONS),
    )
    return next((text for is_asked, text in asked if is_asked), None)


def _terms_of_all(asked: Iterable[Asked]) -> MoveTerms:
    """What a request says once, for all its moves. Raises ValueError."""
    found = {replace(one, target=(), expected=None, by=None) for one in asked if isinstance(one, MoveTerms)}
    if len(found) > 1:
        raise ValueError("the moves of one call have one route, reason, throttle and cap: use several calls")
    terms = found.pop() if found else MoveTerms(())
    if terms.route not in (RPC, QUEUE):
        raise ValueError(f"clients start moves by the routes {RPC} and {QUEUE}, not by {terms.route}")
    return terms


async def alter_partition_reassignments(
    router: RequestRouter,
    moves: Mapping[Moved, Asked | Sequence[int] | None],
    *,
    allow_replication_factor_change: bool,
    timeout_ms: int,
) -> Results:
    if not moves:
        return {}
    wanted = {name: _asked(one) for name, one in moves.items()}
    terms = _terms_of_all(wanted.values())
    expected = next((one.expected for one in wanted.values() if one.expected is not None), None)
    otherwise = needs_our_server(replace(terms, expected=expected))
    needs = None if otherwise is None else Needs(DescribeReassignmentsRequest, otherwise)
    if terms.lifts:  # as old as that API
        needs = Needs(DoCommandRequest, NO_LIFTS)

    def build(version: int) -> ApiMessage:
        if version < 1 and not allow_replication_factor_change:
            raise UnsupportedHere(NO_REPLICATION_FACTOR_GUARD)
        topics: dict[str, list[_Partition]] = {}
        for (name, index), one in wanted.items():
            topics.setdefault(name, []).append(
                _Partition(
                    partition_index=index,
                    replicas=list(one.target) if isinstance(one, MoveTerms) else None,
                    expected_replicas=None if one.expected is None else list(one.expected),
                )
            )
        return AlterPartitionReassignmentsRequest(
            timeout_ms=timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=[_Topic(name=name, partitions=partitions) for name, partitions in topics.items()],
            queue=terms.route == QUEUE,
            throttle=-1 if terms.throttle is None else terms.throttle,
            lift_stricter=terms.lifts,
            reason=terms.reason or None,
            moves_per_broker=-1 if terms.moves_per_broker is None else terms.moves_per_broker,
        )

    answer = await router.ask_controller(build, AlterPartitionReassignmentsRequest, changes=True, needs=needs)
    raise_for(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, one.partition_index): error_of(one.error_code, one.error_message)
        for topic in answer.responses
        for one in topic.partitions
    }


def _asked(one: Asked | Sequence[int] | None) -> Asked:
    if one is None:
        return CancelMove()
    return one if isinstance(one, MoveTerms | CancelMove) else MoveTerms(tuple(one))


async def require(router: RequestRouter, cls: type[ApiMessage], otherwise: str) -> None:
    """Raises UnsupportedHere with the text `otherwise`."""
    if await router.controller_serves(cls) < 0:
        raise UnsupportedHere(otherwise)


_Elected = ElectLeadersRequest.TopicPartitions


async def elect_preferred_leaders(router: RequestRouter, partitions: Partitions, timeout_ms: int) -> Results:
    wanted = [_Elected(topic=name, partitions=indexes) for name, indexes in by_topic(partitions).items()]
    if not wanted:
        return {}

    def build(version: int) -> ApiMessage:
        if version < 1:  # its answer cannot say that the node is not the controller
            raise UnsupportedHere("This needs Kafka 2.4 or later: ElectLeaders 1.")
        return ElectLeadersRequest(election_type=ElectionType.PREFERRED, topic_partitions=wanted, timeout_ms=timeout_ms)

    answer = await router.ask_controller(build, ElectLeadersRequest, changes=True)
    raise_for(answer.error_code, None)
    results: Results = {}
    for topic in answer.replica_election_results:
        for one in topic.partition_result:
            error = error_of(one.error_code, one.error_message)
            name = TopicPartition(topic.topic, one.partition_id)
            results[name] = None if isinstance(error, ElectionNotNeeded) else error
    return results
