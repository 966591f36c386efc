"""The APIs that a simulated broker serves besides those of every node: what a controller and other brokers ask.

LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6) and the private SimulatedFetch (32250).
ACL: CLUSTER_ACTION on the cluster.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.api.registry import CLIENT_APIS, INTER_BROKER_APIS, table
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrResponse,
    SimulatedFetchResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey

if TYPE_CHECKING:
    from kafka_reassign_rpc.fleet.simulated_broker import SimulatedBroker


def _broker(node: Node) -> "SimulatedBroker":
    return cast("SimulatedBroker", node)


async def _leader_and_isr(node: Node, request: Any, ctx: RequestContext) -> Any:
    return await _broker(node).leader_and_isr(request, ctx.api_version)


async def _stop_replica(node: Node, request: Any, ctx: RequestContext) -> Any:
    return await _broker(node).stop_replica(request, ctx.api_version)


async def _update_metadata(node: Node, request: Any, ctx: RequestContext) -> Any:
    return await _broker(node).update_metadata(request, ctx.api_version)


def _fetch(node: Node, request: Any, _ctx: RequestContext) -> Any:
    return _broker(node).fetch(request)


def _fail(response_class: Any) -> Any:
    def fail(_request: Any, version: int, error: KafkaError) -> Any:
        return response_class(version=version, error_code=error.code)

    return fail


CONTROLLED_APIS: Mapping[int, Api] = table(
    (
        Api(ApiKey.LEADER_AND_ISR, "LeaderAndIsr", 0, 7, _leader_and_isr, _fail(LeaderAndIsrResponse)),
        Api(ApiKey.STOP_REPLICA, "StopReplica", 0, 4, _stop_replica, _fail(StopReplicaResponse)),
        Api(ApiKey.UPDATE_METADATA, "UpdateMetadata", 0, 8, _update_metadata, _fail(UpdateMetadataResponse)),
        Api(ApiKey.SIMULATED_FETCH, "SimulatedFetch", 0, 0, _fetch, _fail(SimulatedFetchResponse)),
    )
)
"""What a controller and other simulated brokers ask."""

_NOT_OF_KAFKA_3_9 = frozenset({ApiKey.DESCRIBE_TOPIC_PARTITIONS})
"""What a broker in ZooKeeper mode does not serve; tools fall back to Metadata."""

BROKER_APIS: Mapping[int, Api] = {
    **{key: api for key, api in {**CLIENT_APIS, **INTER_BROKER_APIS}.items() if key not in _NOT_OF_KAFKA_3_9},
    **CONTROLLED_APIS,
}
"""All that a simulated broker serves: what is a controller's is answered with NOT_CONTROLLER."""
