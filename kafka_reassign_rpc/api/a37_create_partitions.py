"""CreatePartitions (key 37), versions 0-3: let topics grow.

Behaviour   per topic; one named twice gets INVALID_REQUEST; REASSIGNMENT_IN_PROGRESS while a partition of the
            topic moves (as ZooKeeper mode, unlike KRaft); the rest is the controller's to check.
ACL         ALTER on each topic.
"""

from collections import Counter
from typing import Any

from kafka_reassign_rpc.api.handler_helpers import active_controller, code_of, message_of
from kafka_reassign_rpc.api.ports import Api, NewPartitions, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import CreatePartitionsResponse

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    counts = Counter(topic.name for topic in request.topics)
    outcomes: dict[str, KafkaError | None] = {
        name: InvalidRequest("Duplicate topic in request.") for name, count in counts.items() if count > 1
    }
    accepted = [_new_partitions(topic) for topic in request.topics if topic.name not in outcomes]
    if accepted:
        outcomes.update(
            await controller.create_partitions(
                accepted, validate_only=request.validate_only, timeout_ms=request.timeout_ms, ctx=ctx
            )
        )
    return CreatePartitionsResponse(
        version=ctx.api_version,
        throttle_time_ms=0,
        results=[_result(ctx.api_version, name, outcomes[name]) for name in counts],
    )


def _new_partitions(topic: Any) -> NewPartitions:
    assignments = None if topic.assignments is None else [tuple(a.broker_ids) for a in topic.assignments]
    return NewPartitions(topic=topic.name, count=topic.count, assignments=assignments)


def _result(version: int, name: str, error: KafkaError | None) -> Any:
    return _Result(version=version, name=name, error_code=code_of(error), error_message=message_of(error))


def fail(request: Any, version: int, error: KafkaError) -> Any:
    return CreatePartitionsResponse(
        version=version,
        throttle_time_ms=0,
        results=[_result(version, name, error) for name in dict.fromkeys(t.name for t in request.topics)],
    )


API = Api(37, "CreatePartitions", 0, 3, handle, fail)
