"""CreatePartitions (key 37), versions 0-3: add partitions to topics.

Behaviour   One result per topic; INVALID_REQUEST for a topic that is named twice; REASSIGNMENT_IN_PROGRESS while a
            partition of the topic moves (as in ZooKeeper mode, not in KRaft). The controller makes all other checks.
            From version 3 a topic beyond the client's controller mutation quota gets THROTTLING_QUOTA_EXCEEDED;
            before, it grows, and the client is asked to wait.
"""

from collections import Counter
from collections.abc import Sequence

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.mutation_quota import mutation_quota, recorded, throttle_time_ms
from kafka_reassign_rpc.api.ports import NewPartitions, Node, active_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.core.quotas.mutation_quotas import UNLIMITED
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, CreatePartitionsResponse

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(node: Node, request: CreatePartitionsRequest, ctx: RequestContext) -> CreatePartitionsResponse:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    counts = Counter(topic.name for topic in request.topics)
    outcomes: dict[str, KafkaError | None] = {
        name: InvalidRequest("Duplicate topic in request.") for name, count in counts.items() if count > 1
    }
    accepted = [_new_partitions(topic) for topic in request.topics if topic.name not in outcomes]
    partitions = {} if request.validate_only else await _growth(node, accepted)
    quota = await mutation_quota(node, ctx, strict_since=3) if partitions else UNLIMITED
    outcomes.update(recorded(quota, partitions))
    wanted = [new for new in accepted if new.topic not in outcomes]
    if wanted:
        outcomes.update(
            await controller.create_partitions(
                wanted, validate_only=request.validate_only, timeout_ms=request.timeout_ms, ctx=ctx
            )
        )
    return CreatePartitionsResponse(
        version=ctx.api_version,
        throttle_time_ms=throttle_time_ms(quota, partitions, outcomes),
        results=[_result(ctx.api_version, name, outcomes[name]) for name in counts],
    )


async def _growth(node: Node, wanted: Sequence[NewPartitions]) -> dict[str, int]:
    """How many partitions each topic gets, if it does."""
    known = node.topics_now()
    if known is None:
        known = await node.topics([new.topic for new in wanted])
    return {
        new.topic: new.count - len(known[new.topic].partitions)
        for new in wanted
        if new.topic in known and new.count > len(known[new.topic].partitions)
    }


def _new_partitions(topic: CreatePartitionsRequest.CreatePartitionsTopic) -> NewPartitions:
    assignments = None if topic.assignments is None else [tuple(a.broker_ids) for a in topic.assignments]
    return NewPartitions(topic=topic.name, count=topic.count, assignments=assignments)


def _result(version: int, name: str, error: KafkaError | None) -> _Result:
    return _Result(version=version, name=name, error_code=code_of(error), error_message=message_of(error))


def fail(request: CreatePartitionsRequest, version: int, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        version=version,
        throttle_time_ms=0,
        results=[_result(version, name, error) for name in dict.fromkeys(t.name for t in request.topics)],
    )


API = Api(
    key=37,
    name="CreatePartitions",
    min_version=0,
    max_version=3,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.ALTER, AclResource.TOPIC),),
    handle=handle,
    fail=fail,
    to_controller=True,
)
