"""WriteTxnMarkers: this node has no records. Each partition gets UNKNOWN_TOPIC_OR_PARTITION, as from a broker without a
replica of it (ReplicaManager.getMagic): a coordinator then asks Metadata for the leader.
"""

from collections.abc import Iterator

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.partition_refusals import UNKNOWN, Layout, PartitionRefusals, same
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts

_Marker = WriteTxnMarkersResponse.WritableTxnMarkerResult
_OF_MARKER = PartitionRefusals(WriteTxnMarkersResponse, Layout(partitions="partition_indexes", number=""))


def handle(_node: Node, request: WriteTxnMarkersRequest, ctx: RequestContext) -> Handled:
    if not ctx.access.may_on_cluster(AclOperation.ALTER, told=False):
        ctx.access.check_cluster(AclOperation.CLUSTER_ACTION, API.name)
    return fail(request, ctx.api_version, UNKNOWN)


def fail(request: WriteTxnMarkersRequest, version: int, error: KafkaError) -> Handled:
    def markers() -> Iterator[InParts]:
        for marker in request.markers:
            told = _Marker(version=version, producer_id=marker.producer_id)
            topics = _OF_MARKER.topics(marker.topics, version, same(error), within=_Marker)
            yield InParts(told, "topics", len(marker.topics), topics)

    items = sum(1 + _OF_MARKER.items(marker.topics) for marker in request.markers)
    return answer_with(WriteTxnMarkersResponse(version=version), "markers", markers(), len(request.markers), items)


API = Api(
    key=27,
    name="WriteTxnMarkers",
    min_version=0,
    max_version=1,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.ALTER, AclResource.CLUSTER, "or CLUSTER_ACTION"),
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "or ALTER"),
    ),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
