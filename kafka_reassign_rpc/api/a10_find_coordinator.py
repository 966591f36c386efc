"""FindCoordinator: the broker that coordinates a group or a transaction. That is the leader of the key's partition of
`__consumer_offsets` or `__transaction_state` (KafkaApis.getCoordinator, GroupMetadataManager.partitionFor). Share
groups have no coordinator.

Difference: a broker would create a missing topic; this API answers COORDINATOR_NOT_AVAILABLE, and clients try again,
also with other brokers.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import CONSUMER_OFFSETS, TRANSACTION_STATE, is_visible, known_topics
from kafka_reassign_rpc.api.api_definition import MANY, Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node, NodeEndpoint
from kafka_reassign_rpc.core.kafka_errors import (
    CoordinatorNotAvailable,
    GroupAuthorizationFailed,
    InvalidRequest,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_reassign_rpc.protocol.sliced_messages import in_order

_Coordinator = FindCoordinatorResponse.Coordinator
_FIRST_WITH_KEYS = 4
_SHARE, _FIRST_WITH_SHARE = 2, 6
_NOBODY = NodeEndpoint(-1, "", -1)
_RESOURCES: dict[int, tuple[AclResource, KafkaError]] = {
    0: (AclResource.GROUP, GroupAuthorizationFailed()),
    1: (AclResource.TRANSACTIONAL_ID, TransactionalIdAuthorizationFailed()),
}
_TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}
"""The topic by type of key: 0 for groups, 1 for transactions."""

CHARACTERS_PER_ITEM = 20
"""To hash this many characters of a key takes as long as to build one element of the answer."""


async def handle(node: Node, request: FindCoordinatorRequest, ctx: RequestContext) -> Answer:
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        _check_share(request, ctx)
        raise CoordinatorNotAvailable
    known = await known_topics(node, [topic])
    return await _answer(node, known.get(topic), request, ctx)


def _check_share(request: FindCoordinatorRequest, ctx: RequestContext) -> None:
    """Raises the error of a key type that is neither a group nor a transaction (KafkaApis.getCoordinator)."""
    if request.key_type != _SHARE or ctx.api_version < _FIRST_WITH_SHARE:
        raise InvalidRequest
    ctx.access.check_cluster(AclOperation.CLUSTER_ACTION)


async def _answer(node: Node, topic: Topic | None, request: FindCoordinatorRequest, ctx: RequestContext) -> Answer:
    keys = request.coordinator_keys if ctx.api_version >= _FIRST_WITH_KEYS else [request.key]
    alive = {endpoint.id: endpoint for endpoint in node.nodes(ctx.listener)}
    leaders: dict[int, int] = {}
    if topic is not None and is_visible(topic):
        leaders = {index: partition.leader for index, partition in topic.partitions.items()}

    def keeper(key: str) -> NodeEndpoint:
        return alive.get(leaders.get(partition_for(key, len(leaders)), -1), _NOBODY) if leaders else _NOBODY

    return await _message(ctx.api_version, keys, keeper, CoordinatorNotAvailable(), _denial(request, ctx.access))


def _denial(request: FindCoordinatorRequest, access: Access) -> Callable[[str], KafkaError | None]:
    resource, error = _RESOURCES[request.key_type]
    return lambda key: None if access.may(AclOperation.DESCRIBE, resource, key) else error


def partition_for(key: str, partitions: int) -> int:
    """Java's String.hashCode, then Kafka's Utils.abs."""
    units = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    if hashed >= 1 << 31:
        hashed = (1 << 32) - hashed
    return 0 if hashed == 1 << 31 else hashed % partitions


async def _message(
    version: int,
    keys: Sequence[str],
    keeper: Callable[[str], NodeEndpoint],
    error: KafkaError,
    denial: Callable[[str], KafkaError | None] = lambda _key: None,
) -> Answer:
    """Keys that no broker coordinates get `error`, those that the caller may not ask for what `denial` gives."""

    def fields(key: str) -> dict[str, Any]:
        denied = denial(key)
        endpoint = keeper(key) if denied is None else _NOBODY
        failed = endpoint is _NOBODY
        if denied is not None:  # from version 4 on Kafka sets no text
            text = "" if version >= _FIRST_WITH_KEYS else denied.message
            return {"node_id": -1, "host": "", "port": -1, "error_code": denied.code, "error_message": text}
        return {
            "node_id": endpoint.id,
            "host": endpoint.host,
            "port": endpoint.port,
            "error_code": error.code if failed else 0,
            "error_message": error.message if failed else None,
        }

    if version < _FIRST_WITH_KEYS:
        return FindCoordinatorResponse(version=version, throttle_time_ms=0, **fields(keys[0]))
    answer = FindCoordinatorResponse(version=version, throttle_time_ms=0)
    fields_of = in_order(_Coordinator, version)
    coordinators = (fields_of({"key": key, **fields(key)}) for key in keys)
    characters = sum(map(len, keys)) // CHARACTERS_PER_ITEM
    return await answer_with(answer, "coordinators", coordinators, len(keys), characters)


async def fail(request: FindCoordinatorRequest, version: int, error: KafkaError) -> Answer:
    keys = request.coordinator_keys if version >= _FIRST_WITH_KEYS else [request.key]
    return await _message(version, keys, lambda _key: _NOBODY, error)


API = served(
    FindCoordinatorRequest,
    Acl(AclOperation.DESCRIBE, AclResource.GROUP, "key type 0"),
    Acl(AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID, "key type 1"),
    Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "key type 2"),
    handle=handle,
    fail=fail,
    max_elements=MANY,
)
