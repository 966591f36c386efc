"""DescribeClientQuotas (key 48), versions 0-1: the quotas of users, clients and IPs (KIP-546).

Behaviour   As ZkAdminManager.describeClientQuotas. A quota in ZooKeeper that is no number is left out.
            CLUSTER_AUTHORIZATION_FAILED where the brokers have an authorizer.
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.brokers_authorizer import check_no_authorizer
from kafka_reassign_rpc.api.large_requests import slices_with_pauses
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import FilterComponent, quota_filter, quotas_of
from kafka_reassign_rpc.protocol.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse

_Entry = DescribeClientQuotasResponse.EntryData


async def handle(node: Node, request: DescribeClientQuotasRequest, ctx: RequestContext) -> DescribeClientQuotasResponse:
    check_no_authorizer(node)
    components = [FilterComponent(one.entity_type, one.match_type, one.match) for one in request.components]
    wanted = quota_filter(components, strict=request.strict)
    entries = []
    for shape in wanted.shapes():
        found = await node.quotas.get_all(shape, wanted.exact)
        async for some in slices_with_pauses(found.items()):
            for entity, configs in some:
                quotas = quotas_of(entity, configs)
                if quotas:
                    entries.append(
                        _Entry(
                            version=ctx.api_version,
                            entity=[
                                _Entry.EntityData(version=ctx.api_version, entity_type=kind, entity_name=name)
                                for kind, name in entity
                            ],
                            values=[
                                _Entry.ValueData(version=ctx.api_version, key=key, value=value)
                                for key, value in quotas.items()
                            ],
                        )
                    )
    return DescribeClientQuotasResponse(
        version=ctx.api_version, throttle_time_ms=0, error_code=0, error_message="", entries=entries
    )


def fail(_request: DescribeClientQuotasRequest, version: int, error: KafkaError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=error.message, entries=None
    )


API = Api(
    key=48,
    name="DescribeClientQuotas",
    min_version=0,
    max_version=1,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.CLUSTER),),
    handle=handle,
    fail=fail,
)
