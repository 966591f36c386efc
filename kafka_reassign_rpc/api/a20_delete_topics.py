"""DeleteTopics, by name or (from version 6) by id.

With `delete.topic.enable=false` all topics are refused first and without a message. While the brokers' setting is
unknown, a moment after the start of a server, the request waits for its timeout, at most 5 s; then it fails with
REQUEST_TIMED_OUT and nothing is deleted. The answer comes once the deletion is durable. From then on no client sees the
topic; the replicas are deleted later.
"""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import ZERO_UUID, code_of, is_visible, message_of
from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import ControllerPort, Node, mutation_quota, required_controller
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidRequest,
    KafkaError,
    TopicAuthorizationFailed,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.protocol.messages import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_Result = DeleteTopicsResponse.DeletableTopicResult
_FIRST_WITH_DISABLED = 3
_FIRST_WITH_IDS = 6

NameOrId = tuple[str | None, UUID]
Outcome = tuple[str | None, UUID, KafkaError | None]


async def _asked(request: DeleteTopicsRequest, version: int) -> list[NameOrId]:
    """A topic that is named twice is answered twice, and deleted once."""
    asked: list[NameOrId] = []
    for one in _named(request, version):
        asked.append(one)
        await rest()
    return asked


def _named(request: DeleteTopicsRequest, version: int) -> Iterator[NameOrId]:
    if version < _FIRST_WITH_IDS:
        return ((name, ZERO_UUID) for name in request.topic_names)
    return ((topic.name, topic.topic_id or ZERO_UUID) for topic in request.topics)


def _size(request: DeleteTopicsRequest, version: int) -> int:
    return len(request.topic_names if version < _FIRST_WITH_IDS else request.topics)


async def handle(node: Node, request: DeleteTopicsRequest, ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    if node.static_configs.get("delete.topic.enable", "true").lower() == "false":
        return await _all(request, ctx.api_version, TopicDeletionDisabled())
    asked = await _asked(request, ctx.api_version)
    outcomes, throttle_ms = await _delete(node, controller, asked, request.timeout_ms, ctx)
    answer = await _answer(ctx.api_version, outcomes, len(asked), throttle_ms=throttle_ms)
    await in_turns(emptied(asked))
    return answer


async def _answer(version: int, outcomes: Iterable[Outcome], size: int, *, throttle_ms: int = 0) -> Answer:
    results = (_result(version, *outcome) for outcome in outcomes)
    answer = DeleteTopicsResponse(version=version, throttle_time_ms=throttle_ms)
    return await answer_with(answer, "responses", results, size)


async def _all(request: DeleteTopicsRequest, version: int, error: KafkaError) -> Answer:
    """As often as the request names a topic."""
    return await _answer(version, ((*one, error) for one in _named(request, version)), _size(request, version))


async def _delete(
    node: Node, controller: ControllerPort, asked: list[NameOrId], timeout_ms: int, ctx: RequestContext
) -> tuple[Iterator[Outcome], int]:
    """The outcome of each topic, and how long the client should wait, in ms."""
    known = node.topics_now()
    if known is None:
        known = await node.topics(None)
    names, existing, denied = await _names(node, asked, known, ctx.access)
    quota = mutation_quota(node, ctx, 5)
    deleted: Mapping[str, KafkaError | None] = {}
    if existing:
        deleted = await controller.delete_topics(existing, quota=quota, timeout_ms=timeout_ms, ctx=ctx)

    def outcomes() -> Iterator[Outcome]:
        for one, name in zip(asked, names, strict=True):
            topic_id = one[1]
            if one in denied:
                yield denied[one]
            elif name is None or (topic_id != ZERO_UUID and name not in deleted):
                yield None, topic_id, UnknownTopicId()
            elif name not in deleted:
                yield name, topic_id, UnknownTopicOrPartition()
            else:
                yield name, topic_id, deleted[name]

    return outcomes(), quota.throttle_time_ms()


async def _names(
    node: Node, asked: list[NameOrId], known: Mapping[str, Topic], access: Access
) -> tuple[list[str | None], list[str], dict[NameOrId, Outcome]]:
    """The name of each topic, None if no topic has the id; the existing topics that the caller may delete, each once;
    and the outcomes of those that it may not.
    """
    names: list[str | None] = []
    denied: dict[NameOrId, Outcome] = {}
    existing: dict[str, None] = {}
    for name, topic_id in asked:
        if name is not None and topic_id != ZERO_UUID:
            raise InvalidRequest("Topic name and topic ID can not both be specified.")
        found = name if topic_id == ZERO_UUID else node.topic_name(topic_id)
        names.append(found)
        if found is not None:
            refusal = _denial(found, topic_id, access)
            if refusal is not None:
                denied[name, topic_id] = refusal
            elif is_visible(known.get(found)):
                existing[found] = None
        await rest()
    return names, list(existing), denied


def _denial(name: str, topic_id: UUID, access: Access) -> Outcome | None:
    """A caller without DESCRIBE on a topic does not learn its name from its id."""
    if topic_id != ZERO_UUID and not access.may(AclOperation.DESCRIBE, AclResource.TOPIC, name):
        return None, topic_id, TopicAuthorizationFailed()
    if not access.may(AclOperation.DELETE, AclResource.TOPIC, name):
        return name, topic_id, TopicAuthorizationFailed()
    return None


def _result(version: int, name: str | None, topic_id: UUID, error: KafkaError | None) -> _Result:
    code, message = code_of(error), message_of(error)
    if isinstance(error, TopicDeletionDisabled):
        code, message = InvalidRequest.code if version < _FIRST_WITH_DISABLED else code, None
    return _Result(version=version, name=name, topic_id=topic_id, error_code=code, error_message=message)


async def fail(request: DeleteTopicsRequest, version: int, error: KafkaError) -> Answer:
    return await _all(request, version, error)


API = served(
    DeleteTopicsRequest,
    Acl(AclOperation.DELETE, AclResource.TOPIC),
    Acl(AclOperation.DESCRIBE, AclResource.TOPIC, "topics by id"),
    handle=handle,
    fail=fail,
    max_elements=MANY,
    to_controller=True,
    by_brokers=True,
)
