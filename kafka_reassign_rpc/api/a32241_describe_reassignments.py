"""DescribeReassignments (vendor key 32241), version 0: what is known of moves named by their identity (KIP-240).

Behaviour   a move that is not (any more) the current one of its partition is left out, without an error. The
            throttles are those that topic and broker configs put on the leader and on each replica of the
            target, 2^63-1 bytes/s where none applies. NOT_CONTROLLER on any other node.
            Tagged fields name the topic and the partition, which the proposal leaves to the client's memory.
            Asked for no moves, it says why no new one may start (KIP-236's guard), if that is so.
ACL         DESCRIBE on the cluster.
"""

from typing import Any

from kafka_reassign_rpc.api.common import active_controller
from kafka_reassign_rpc.api.node import Api, Node, RequestContext
from kafka_reassign_rpc.core.errors import KafkaError, NotController
from kafka_reassign_rpc.core.model import Partition
from kafka_reassign_rpc.core.throttles import TopicThrottles
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentsResponse
from kafka_reassign_rpc.protocol.versions import ApiKey

_Description = DescribeReassignmentsResponse.ReassignmentDescription
_Replica = _Description.NewlyAssignedReplica


async def handle(node: Node, request: Any, _ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    if not request.topic_reassignments:
        closed = await controller.closed()
        return DescribeReassignmentsResponse(
            version=0,
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            descriptions=[],
            closed=None if closed is None else closed.message,
        )
    asked = {
        topic.topic: {move.partition_id: move.reassignment_id for move in topic.reassignments}
        for topic in request.topic_reassignments
    }
    descriptions = []
    for name, partitions in controller.list_reassignments(asked):
        throttles = controller.throttles(name)
        for index, partition in partitions:
            if partition.move is not None and partition.move.id == asked[name][index]:
                descriptions.append(_describe(name, index, partition, throttles))
    return DescribeReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=0, error_message=None, descriptions=descriptions
    )


def _describe(topic: str, index: int, partition: Partition, throttles: TopicThrottles) -> Any:
    move = partition.move
    assert move is not None
    return _Description(
        version=0,
        reassignment_id=move.id,
        start_time=move.started,
        leader_id=partition.leader,
        leader_throttle=throttles.leader(index, partition.leader),
        new_assigned=[
            _Replica(version=0, broker_id=broker, follower_throttle=throttles.follower(index, broker))
            for broker in move.target
        ],
        topic=topic,
        partition_id=index,
    )


def fail(_request: Any, _version: int, error: KafkaError) -> Any:
    return DescribeReassignmentsResponse(
        version=0, throttle_time_ms=0, error_code=error.code, error_message=error.message, descriptions=[]
    )


API = Api(ApiKey.DESCRIBE_REASSIGNMENTS, "DescribeReassignments", 0, 0, handle, fail)
