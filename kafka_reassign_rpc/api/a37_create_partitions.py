"""CreatePartitions. REASSIGNMENT_IN_PROGRESS while a partition of the topic moves (as in ZooKeeper
mode, not in KRaft).
"""

from collections import Counter
from collections.abc import Iterable

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with, replicas
from kafka_reassign_rpc.api.ports import NewPartitions, Node, mutation_quota, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, TopicAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, CreatePartitionsResponse
from kafka_reassign_rpc.support.turns import rest

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(node: Node, request: CreatePartitionsRequest, ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    counts = Counter(topic.name for topic in request.topics)
    outcomes: dict[str, KafkaError | None] = {
        name: InvalidRequest("Duplicate topic in request.") for name, count in counts.items() if count > 1
    }
    accepted = await _accepted(request, outcomes, ctx.access)
    quota = mutation_quota(node, ctx, 3)
    if accepted:
        done = await controller.create_partitions(
            list(accepted.values()),
            validate_only=request.validate_only,
            quota=quota,
            timeout_ms=request.timeout_ms,
            ctx=ctx,
        )
        outcomes.update(done)
    results = ((name, outcomes[name]) for name in counts)
    return await _message(ctx.api_version, results, len(counts), throttle_ms=quota.throttle_time_ms())


async def _accepted(
    request: CreatePartitionsRequest, outcomes: dict[str, KafkaError | None], access: Access
) -> dict[str, NewPartitions]:
    """The errors of topics that the caller may not ALTER go into `outcomes`."""
    accepted = {}
    for topic in request.topics:
        if topic.name not in outcomes and not access.may(AclOperation.ALTER, AclResource.TOPIC, topic.name):
            outcomes[topic.name] = TopicAuthorizationFailed("The topic authorization is failed.")
        if topic.name not in outcomes:
            accepted[topic.name] = _new_partitions(topic)
        await rest()
    return accepted


def _new_partitions(topic: CreatePartitionsRequest.CreatePartitionsTopic) -> NewPartitions:
    assignments = None if topic.assignments is None else [replicas(a.broker_ids) for a in topic.assignments]
    return NewPartitions(topic=topic.name, count=topic.count, assignments=assignments)


async def _message(
    version: int, outcomes: Iterable[tuple[str, KafkaError | None]], size: int, *, throttle_ms: int = 0
) -> Answer:
    results = (
        _Result(version=version, name=name, error_code=code_of(error), error_message=message_of(error))
        for name, error in outcomes
    )
    answer = CreatePartitionsResponse(version=version, throttle_time_ms=throttle_ms)
    return await answer_with(answer, "results", results, size)


async def fail(request: CreatePartitionsRequest, version: int, error: KafkaError) -> Answer:
    names = dict.fromkeys(t.name for t in request.topics)
    return await _message(version, ((name, error) for name in names), len(names))


API = served(
    CreatePartitionsRequest,
    Acl(AclOperation.ALTER, AclResource.TOPIC),
    handle=handle,
    fail=fail,
    max_elements=MANY,
    to_controller=True,
    by_brokers=True,
)
