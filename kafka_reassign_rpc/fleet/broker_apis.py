"""The APIs of a simulated broker: those of every node, LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6) and the
private SimulatedFetch (32250)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from kafka_reassign_rpc.api.api_definition import (
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Handler,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.registry import CLIENT_APIS, INTER_BROKER_APIS, table
from kafka_reassign_rpc.protocol.frame_codec import MAX_ELEMENTS
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    SimulatedFetchRequest,
    SimulatedFetchResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey

if TYPE_CHECKING:
    from kafka_reassign_rpc.fleet.simulated_broker import SimulatedBroker


def _broker(node: Node) -> "SimulatedBroker":
    return cast("SimulatedBroker", node)


async def _leader_and_isr(node: Node, request: LeaderAndIsrRequest, ctx: RequestContext) -> LeaderAndIsrResponse:
    return await _broker(node).leader_and_isr(request, ctx.api_version)


async def _stop_replica(node: Node, request: StopReplicaRequest, ctx: RequestContext) -> StopReplicaResponse:
    return await _broker(node).stop_replica(request, ctx.api_version)


async def _update_metadata(node: Node, request: UpdateMetadataRequest, ctx: RequestContext) -> UpdateMetadataResponse:
    return await _broker(node).update_metadata(request, ctx.api_version)


def _fetch(node: Node, request: SimulatedFetchRequest, _ctx: RequestContext) -> SimulatedFetchResponse:
    return _broker(node).fetch(request)


def _api(request: type[ApiMessage], handle: Handler) -> Api:
    return served(
        request,
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
        handle=handle,
        group=ApiGroup.INTER_BROKER,
        max_elements=MAX_ELEMENTS,
    )


CONTROLLED_APIS: Mapping[int, Api] = table(
    (
        _api(LeaderAndIsrRequest, _leader_and_isr),
        _api(StopReplicaRequest, _stop_replica),
        _api(UpdateMetadataRequest, _update_metadata),
        _api(SimulatedFetchRequest, _fetch),
    )
)
"""The controller and other simulated brokers call these."""

_NOT_OF_KAFKA_3_9 = frozenset({ApiKey.DESCRIBE_TOPIC_PARTITIONS})
"""A broker in ZooKeeper mode does not serve these; tools fall back to Metadata."""

BROKER_APIS: Mapping[int, Api] = {
    **{key: api for key, api in {**CLIENT_APIS, **INTER_BROKER_APIS}.items() if key not in _NOT_OF_KAFKA_3_9},
    **CONTROLLED_APIS,
}
"""A simulated broker answers NOT_CONTROLLER to a request for the controller."""
