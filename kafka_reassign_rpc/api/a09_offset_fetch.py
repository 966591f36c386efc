"""OffsetFetch, see `coordinator_refusals`. In versions 0 and 1 each partition gets the error.

Difference: in version 0 a broker reads offsets from ZooKeeper; this node does not. A broker of 3.9 that is not the
coordinator answers version 1 without partitions, as if the group had no offset.
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
from kafka_reassign_rpc.api.coordinator_refusals import check_group, group_code
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.partition_refusals import Layout, PartitionRefusals, same
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotCoordinator
from kafka_reassign_rpc.protocol.messages import OffsetFetchRequest, OffsetFetchResponse

FIRST_WITH_ERROR = 2
FIRST_WITH_GROUPS = 8
_BY_PARTITION = PartitionRefusals(
    OffsetFetchResponse, Layout(partitions="partition_indexes", number=""), Layout(), {"committed_offset": -1}
)
_Group = OffsetFetchResponse.OffsetFetchResponseGroup


def handle(_node: Node, request: OffsetFetchRequest, ctx: RequestContext) -> Handled:
    version = ctx.api_version
    if version < FIRST_WITH_GROUPS:
        check_group(ctx.access, AclOperation.DESCRIBE, request.group_id)
        raise NotCoordinator

    def groups() -> Iterator[object]:
        for group in request.groups:
            code = group_code(ctx.access, AclOperation.DESCRIBE, group.group_id)
            yield _Group(version=version, group_id=group.group_id, topics=[], error_code=code)

    return answer_with(OffsetFetchResponse(version=version), "groups", groups(), len(request.groups))


def fail(request: OffsetFetchRequest, version: int, error: KafkaError) -> Handled:
    if version >= FIRST_WITH_GROUPS:
        groups = (
            _Group(version=version, group_id=group.group_id, topics=[], error_code=error.code)
            for group in request.groups
        )
        return answer_with(OffsetFetchResponse(version=version), "groups", groups, len(request.groups))
    if version >= FIRST_WITH_ERROR:
        return OffsetFetchResponse(version=version, topics=[], error_code=error.code)
    return _BY_PARTITION.refuse(request, version, same(error))


API = Api(
    key=9,
    name="OffsetFetch",
    min_version=0,
    max_version=9,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE, AclResource.GROUP),),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
