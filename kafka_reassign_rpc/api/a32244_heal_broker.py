"""HealBroker (KIP-46): move the replicas of a failed broker to other brokers now.

The repair does not wait for `failure.interval.ms`, but the brakes hold. Its moves join the queue; the answer shows them
once they are durable. With DryRun nothing is changed. INVALID_REQUEST if the broker is registered or holds no replica,
POLICY_VIOLATION with the reason if repairs are held back.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.answer_fields import error_alone
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.healing.self_healing_status import RepairMove
from kafka_reassign_rpc.protocol.messages import HealBrokerRequest, HealBrokerResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts, LargeArray
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import Steps, Work, waited

UNKNOWN = -1

_Topic = HealBrokerResponse.RepairedTopic
_Partition = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The fields of RepairedPartition."""


def handle(node: Node, request: HealBrokerRequest, ctx: RequestContext) -> Work[Answer]:
    controller = required_controller(node)
    found = yield from waited(controller.heal(request.broker_id, ctx, dry_run=request.dry_run))
    by_topic = yield from _by_topic(found.moves)
    topics = (
        InParts(_Topic(version=0, name=name), "partitions", len(partitions), partitions)
        for name, partitions in by_topic.items()
    )
    left_out = ((topic, index, reason) for (topic, index), reason in found.left_out.items())
    others = {"left_out": LargeArray(len(found.left_out), left_out)}
    answer = HealBrokerResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        bytes_to_copy=UNKNOWN if found.bytes is None else found.bytes,
        copy_ms=UNKNOWN if found.copy_ms is None else found.copy_ms,
        unsized_copies=found.unsized,
        topics=[],
        left_out=[],
    )
    answered = yield from answer_with(answer, "topics", topics, len(by_topic), len(found.moves), others)
    yield from emptied(*by_topic.values(), by_topic)
    return answered


def _by_topic(moves: Sequence[RepairMove]) -> Steps[dict[str, list[_Partition]]]:
    found: dict[str, list[_Partition]] = {}
    for move in moves:
        found.setdefault(move.partition.topic, []).append((move.partition.partition, move.replicas, move.target))
        yield
    return found


API = Api(
    key=32244,
    name="HealBroker",
    min_version=0,
    max_version=0,
    group=ApiGroup.VENDOR,
    acl=(Acl(AclOperation.ALTER, AclResource.CLUSTER),),
    handle=handle,
    fail=error_alone(HealBrokerResponse),
)
