"""DeleteTopics (key 20), versions 0-6: delete topics, by name or (from version 6) by id.

Behaviour   One result per topic; UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID for a topic that does not exist. The
            request fails with INVALID_REQUEST where it has both name and id of a topic. With
            `delete.topic.enable=false` all topics are refused, before anything else is looked at and without a
            message: TOPIC_DELETION_DISABLED, INVALID_REQUEST before version 3. While the brokers' setting is not known,
            which takes a moment after the start of a server, the request waits, for as long as its timeout says and at
            most 5 s; then it fails with REQUEST_TIMED_OUT and nothing is deleted. The answer has the id only where the
            request had it. It comes once the deletion is durable; the replicas are deleted later.
            From version 5 a topic beyond the client's controller mutation quota gets THROTTLING_QUOTA_EXCEEDED;
            before, it is deleted, and the client asked to wait.
"""

from uuid import UUID

from kafka_reassign_rpc.api.answer_fields import ZERO_UUID
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.mutation_quota import mutation_quota, recorded, throttle_time_ms
from kafka_reassign_rpc.api.ports import ControllerPort, Node, active_controller
from kafka_reassign_rpc.api.visible_topics import is_visible
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidRequest,
    KafkaError,
    NotController,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.quotas.mutation_quotas import UNLIMITED
from kafka_reassign_rpc.protocol.messages import DeleteTopicsRequest, DeleteTopicsResponse

_Result = DeleteTopicsResponse.DeletableTopicResult
_FIRST_WITH_DISABLED = 3
_FIRST_WITH_IDS = 6

NameOrId = tuple[str | None, UUID]


def _asked(request: DeleteTopicsRequest, version: int) -> list[NameOrId]:
    if version >= _FIRST_WITH_IDS:
        return [(topic.name, topic.topic_id or ZERO_UUID) for topic in request.topics]
    return [(name, ZERO_UUID) for name in request.topic_names]


async def handle(node: Node, request: DeleteTopicsRequest, ctx: RequestContext) -> DeleteTopicsResponse:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    if node.static_configs.get("delete.topic.enable", "true").lower() == "false":
        return _disabled(request, ctx.api_version)
    asked = list(dict.fromkeys(_asked(request, ctx.api_version)))
    if any(name is not None and topic_id != ZERO_UUID for name, topic_id in asked):
        raise InvalidRequest("Topic name and topic ID can not both be specified.")
    throttle_ms, outcomes = await _delete(node, controller, asked, request.timeout_ms, ctx)
    return DeleteTopicsResponse(
        version=ctx.api_version,
        throttle_time_ms=throttle_ms,
        responses=[_result(ctx.api_version, *outcome) for outcome in outcomes],
    )


def _disabled(request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
    error = TopicDeletionDisabled()
    return DeleteTopicsResponse(
        version=version,
        throttle_time_ms=0,
        responses=[_result(version, name, topic_id, error) for name, topic_id in _asked(request, version)],
    )


async def _delete(
    node: Node, controller: ControllerPort, asked: list[NameOrId], timeout_ms: int, ctx: RequestContext
) -> tuple[int, list[tuple[str | None, UUID, KafkaError | None]]]:
    """How long the client should wait, in ms, and the outcome of each topic."""
    known = node.topics_now()
    if known is None:
        known = await node.topics(None)
    names = [name if topic_id == ZERO_UUID else node.topic_name(topic_id) for name, topic_id in asked]
    existing = list(dict.fromkeys(name for name in names if name is not None and is_visible(known.get(name))))
    partitions = {name: len(known[name].partitions) for name in existing}
    quota = await mutation_quota(node, ctx, strict_since=5) if partitions else UNLIMITED
    deleted: dict[str, KafkaError | None] = dict(recorded(quota, partitions))
    wanted = [name for name in existing if name not in deleted]
    if wanted:
        deleted.update(await controller.delete_topics(wanted, timeout_ms=timeout_ms, ctx=ctx))
    outcomes: list[tuple[str | None, UUID, KafkaError | None]] = []
    for (_, topic_id), name in zip(asked, names, strict=True):
        if name is None or (topic_id != ZERO_UUID and name not in deleted):
            outcomes.append((None, topic_id, UnknownTopicId()))
        elif name not in deleted:
            outcomes.append((name, topic_id, UnknownTopicOrPartition()))
        else:
            outcomes.append((name, topic_id, deleted[name]))
    return throttle_time_ms(quota, partitions, deleted), outcomes


def _result(version: int, name: str | None, topic_id: UUID, error: KafkaError | None) -> _Result:
    code, message = (0, None) if error is None else (error.code, error.message)
    if isinstance(error, TopicDeletionDisabled):
        code, message = InvalidRequest.code if version < _FIRST_WITH_DISABLED else code, None
    return _Result(version=version, name=name, topic_id=topic_id, error_code=code, error_message=message)


def fail(request: DeleteTopicsRequest, version: int, error: KafkaError) -> DeleteTopicsResponse:
    asked = dict.fromkeys(_asked(request, version))
    return DeleteTopicsResponse(
        version=version,
        throttle_time_ms=0,
        responses=[_result(version, name, topic_id, error) for name, topic_id in asked],
    )


API = Api(
    key=20,
    name="DeleteTopics",
    min_version=0,
    max_version=6,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DELETE, AclResource.TOPIC),),
    handle=handle,
    fail=fail,
    to_controller=True,
)
