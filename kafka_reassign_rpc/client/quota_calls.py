"""Quotas of clients (KIP-546)."""

from collections.abc import Mapping

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.request_routing import RequestRouter, always
from kafka_reassign_rpc.core.quotas.client_quotas import SHAPES, QuotaEntity
from kafka_reassign_rpc.protocol.messages import DescribeClientQuotasRequest


async def describe_client_quotas(router: RequestRouter) -> dict[QuotaEntity, Mapping[str, str]]:
    """All of them, without those of entities that this version does not know. Raises KafkaError."""
    answer = await router.ask_any(
        always(DescribeClientQuotasRequest(components=[], strict=False)), DescribeClientQuotasRequest
    )
    raise_for(answer.error_code, answer.error_message)
    found: dict[QuotaEntity, Mapping[str, str]] = {}
    for entry in answer.entries or ():
        names = {one.entity_type: one.entity_name for one in entry.entity}
        for shape in SHAPES:
            if names.keys() == {*shape}:
                found[tuple((kind, names[kind]) for kind in shape)] = {one.key: repr(one.value) for one in entry.values}
    return found
