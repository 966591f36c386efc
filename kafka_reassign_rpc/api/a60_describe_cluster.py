"""DescribeCluster: cluster id, controller, brokers. ZooKeeper mode has no fenced brokers."""

from kafka_reassign_rpc.api.answer_fields import controller_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, RequestContext, served
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, MismatchedEndpointType
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, DescribeClusterResponse

BROKER_ENDPOINTS = 1
CONTROLLER_ENDPOINTS = 2
UNSUPPORTED_ENDPOINT_TYPE = 115

_Broker = DescribeClusterResponse.DescribeClusterBroker


def handle(node: Node, request: DescribeClusterRequest, ctx: RequestContext) -> DescribeClusterResponse:
    version = ctx.api_version
    asked = request.endpoint_type if version >= 1 else BROKER_ENDPOINTS
    if asked == CONTROLLER_ENDPOINTS:
        text = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return _failed(version, MismatchedEndpointType.code, text)
    if asked != BROKER_ENDPOINTS:
        return _failed(version, UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {asked}")
    return DescribeClusterResponse(
        version=version,
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        endpoint_type=BROKER_ENDPOINTS,
        cluster_id=node.cluster_id,
        controller_id=controller_of(node),
        brokers=[
            _Broker(version=version, broker_id=e.id, host=e.host, port=e.port, rack=e.rack, is_fenced=False)
            for e in node.nodes(ctx.listener)
        ],
        authorized_operations=ctx.access.cluster_operations()
        if request.include_cluster_authorized_operations
        else None,
    )


def _failed(version: int, code: int, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        version=version,
        throttle_time_ms=0,
        error_code=InvalidRequest.code if version == 0 else code,
        error_message=message,
        endpoint_type=BROKER_ENDPOINTS,
        cluster_id="",
        brokers=[],
    )


API = served(
    DescribeClusterRequest, Acl(AclOperation.DESCRIBE, AclResource.CLUSTER, "the authorized operations"), handle=handle
)
