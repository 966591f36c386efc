"""FindCoordinator (key 10), versions 0-6: which broker keeps a group or a transaction.

Behaviour   the leader of the partition of `__consumer_offsets` or `__transaction_state` that the key belongs to
            (KafkaApis.getCoordinator, GroupMetadataManager.partitionFor). This node keeps neither: clients that ask
            it for no other reason than that they are connected to it are sent on.
Difference  a topic that is not there yet is not created, as a broker would when it is asked: the answer then is
            COORDINATOR_NOT_AVAILABLE, as it is for share groups; clients try again, also with others.
ACL         DESCRIBE on the group or the transactional id.
"""

from collections.abc import Sequence
from typing import Any

from kafka_reassign_rpc.api.handler_helpers import CONSUMER_OFFSETS, TRANSACTION_STATE, in_thread, shown, with_topics
from kafka_reassign_rpc.api.ports import Api, Node, NodeEndpoint, RequestContext
from kafka_reassign_rpc.core.kafka_errors import CoordinatorNotAvailable, KafkaError
from kafka_reassign_rpc.core.state.cluster import Topic
from kafka_reassign_rpc.protocol.messages import FindCoordinatorResponse

_Coordinator = FindCoordinatorResponse.Coordinator
_FIRST_WITH_KEYS = 4
_NOBODY = NodeEndpoint(-1, "", -1)
_TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}
"""By type of key: groups, transactions."""

LONG = 10_000
"""Characters of keys: more than that take milliseconds."""


def handle(node: Node, request: Any, ctx: RequestContext) -> Any:
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        raise CoordinatorNotAvailable
    return with_topics(node, [topic], lambda known: _answer(node, known.get(topic), request, ctx))


def _answer(node: Node, topic: Topic | None, request: Any, ctx: RequestContext) -> Any:
    keys = request.coordinator_keys if ctx.api_version >= _FIRST_WITH_KEYS else [request.key]
    alive = {endpoint.id: endpoint for endpoint in node.nodes(ctx.listener)}
    leaders: dict[int, int] = {}
    if topic is not None and shown(topic):
        leaders = {index: partition.leader for index, partition in topic.partitions.items()}

    def keeper(key: str) -> NodeEndpoint:
        return alive.get(leaders.get(partition_for(key, len(leaders)), -1), _NOBODY) if leaders else _NOBODY

    def build() -> Any:
        return _message(ctx.api_version, [(key, keeper(key)) for key in keys], CoordinatorNotAvailable())

    return build() if sum(map(len, keys)) <= LONG else in_thread(build, ctx.api_version)


def partition_for(key: str, partitions: int) -> int:
    """The partition that a group or a transactional id belongs to: Java's String.hashCode, Kafka's Utils.abs."""
    units = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    if hashed >= 1 << 31:
        hashed = (1 << 32) - hashed
    return 0 if hashed == 1 << 31 else hashed % partitions


def _message(version: int, found: Sequence[tuple[str, NodeEndpoint]], error: KafkaError) -> Any:
    """`error` is for the keys of which nobody is the coordinator."""

    def fields(endpoint: NodeEndpoint) -> dict[str, Any]:
        failed = endpoint is _NOBODY
        return {
            "node_id": endpoint.id,
            "host": endpoint.host,
            "port": endpoint.port,
            "error_code": error.code if failed else 0,
            "error_message": error.message if failed else None,
        }

    if version < _FIRST_WITH_KEYS:
        return FindCoordinatorResponse(version=version, throttle_time_ms=0, **fields(found[0][1]))
    coordinators = [_Coordinator(version=version, key=key, **fields(endpoint)) for key, endpoint in found]
    return FindCoordinatorResponse(version=version, throttle_time_ms=0, coordinators=coordinators)


def fail(request: Any, version: int, error: KafkaError) -> Any:
    keys = request.coordinator_keys if version >= _FIRST_WITH_KEYS else [request.key]
    return _message(version, [(key, _NOBODY) for key in keys], error)


API = Api(10, "FindCoordinator", 0, 6, handle, fail)
