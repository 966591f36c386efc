"""DescribeClientQuotas (KIP-546), as ZkAdminManager.describeClientQuotas. A quota in ZooKeeper that is no number is
left out.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.api.answer_fields import message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.left_to_brokers import check_no_authorizer
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import FilterComponent, QuotaEntity, quota_filter, quotas_of
from kafka_reassign_rpc.protocol.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kafka_reassign_rpc.support.turns import rest

_Entry = DescribeClientQuotasResponse.EntryData
_ITEMS = 4
"""About how many names and values an entry has."""


async def handle(node: Node, request: DescribeClientQuotasRequest, ctx: RequestContext) -> Answer:
    check_no_authorizer(node)
    components = [FilterComponent(one.entity_type, one.match_type, one.match) for one in request.components]
    wanted = quota_filter(components, strict=request.strict)
    quotas: list[tuple[QuotaEntity, dict[str, float]]] = []
    for shape in wanted.shapes():
        quotas += await _quotas(await node.quotas.get_all(shape, wanted.exact))
    answer = DescribeClientQuotasResponse(version=ctx.api_version, throttle_time_ms=0, error_code=0, error_message="")
    entries = (_entry(ctx.api_version, entity, values) for entity, values in quotas)
    return await answer_with(answer, "entries", entries, len(quotas), len(quotas) * _ITEMS)


async def _quotas(found: Mapping[QuotaEntity, Mapping[str, str]]) -> list[tuple[QuotaEntity, dict[str, float]]]:
    quotas = []
    for entity, configs in found.items():
        values = quotas_of(entity, configs)
        if values:
            quotas.append((entity, values))
        await rest()
    return quotas


def _entry(version: int, entity: QuotaEntity, quotas: Mapping[str, float]) -> _Entry:
    return _Entry(
        version=version,
        entity=[_Entry.EntityData(version=version, entity_type=kind, entity_name=name) for kind, name in entity],
        values=[_Entry.ValueData(version=version, key=key, value=value) for key, value in quotas.items()],
    )


def fail(_request: DescribeClientQuotasRequest, version: int, error: KafkaError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        version=version, throttle_time_ms=0, error_code=error.code, error_message=message_of(error), entries=None
    )


API = served(
    DescribeClientQuotasRequest,
    Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.CLUSTER, names_request=False),
    handle=handle,
    fail=fail,
)
