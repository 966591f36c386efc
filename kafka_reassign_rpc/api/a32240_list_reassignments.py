"""ListReassignments (vendor key 32240), version 0: the identities of the moves in flight (KIP-240).

Behaviour   All moves where the topics are null, else the moves of the named partitions. With a partition that does
            not exist the answer has UNKNOWN_TOPIC_OR_PARTITION and a message that names it; it still lists the
            others. NOT_CONTROLLER on any other node. A move has no identity until its record is durable; the
            answer leaves it out until then.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node, active_controller
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, UnknownTopicOrPartition
from kafka_reassign_rpc.protocol.messages import ListReassignmentsRequest, ListReassignmentsResponse

_Topic = ListReassignmentsResponse.ListedTopic
_Move = _Topic.ListedReassignment


def handle(node: Node, request: ListReassignmentsRequest, _ctx: RequestContext) -> ListReassignmentsResponse:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    wanted: dict[str, list[int]] | None = None
    unknown: list[str] = []
    if request.topic_partitions is not None:
        wanted = {}
        known = node.topics_now() or {}
        for topic in request.topic_partitions:
            found = known.get(topic.topic)
            for index in topic.partition_ids:
                if found is None or index not in found.partitions:
                    unknown.append(f"{topic.topic}-{index}")
                else:
                    wanted.setdefault(topic.topic, []).append(index)
    error = UnknownTopicOrPartition(f"There is no partition {', '.join(unknown)}.") if unknown else None
    topics = [
        _Topic(version=0, topic=topic.name, topic_reassignments=moves)
        for topic, indexes in controller.list_reassignments(wanted)
        if (
            moves := [
                _Move(version=0, partition_id=index, reassignment_id=move.id)
                for index in indexes
                if (move := topic.partitions[index].move) is not None and move.id >= 0
            ]
        )
    ]
    return _answer(error, topics)


def fail(_request: ListReassignmentsRequest, _version: int, error: KafkaError) -> ListReassignmentsResponse:
    return _answer(error, [])


def _answer(error: KafkaError | None, topics: list[_Topic]) -> ListReassignmentsResponse:
    return ListReassignmentsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        reassignments=topics,
    )


API = Api(
    key=32240,
    name="ListReassignments",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
