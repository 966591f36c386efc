"""AlterClientQuotas (KIP-546), as ZkAdminManager.alterClientQuotas, which any broker carries out.

Difference: an entity that is named twice is refused both times; Kafka changes it twice and gives one result. An IP is
an IPv4 address: no name is resolved.
"""

from collections.abc import Sequence
from functools import partial

from kafka_reassign_rpc.api.answer_fields import code_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import as_kafka_error
from kafka_reassign_rpc.api.large_requests import answer_with, map_bounded
from kafka_reassign_rpc.api.left_to_brokers import check_no_authorizer
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaChange, change_quotas, quota_entity
from kafka_reassign_rpc.protocol.messages import AlterClientQuotasRequest, AlterClientQuotasResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.slices import named_twice
from kafka_reassign_rpc.support.turns import in_turns

_Asked = AlterClientQuotasRequest.EntryData
_Entry = AlterClientQuotasResponse.EntryData

Parts = list[tuple[str, str | None]]


async def handle(node: Node, request: AlterClientQuotasRequest, ctx: RequestContext) -> Answer:
    check_no_authorizer(node)
    named = [_parts(asked) for asked in request.entries]
    twice = await in_turns(named_twice(map(frozenset, named)))

    async def alter(one: tuple[_Asked, Parts]) -> KafkaError | None:
        asked, parts = one
        if frozenset(parts) in twice:
            return InvalidRequest("Each entity must appear at most once.")
        try:
            entity = quota_entity(parts)
            changes = [QuotaChange(op.key, None if op.remove else op.value) for op in asked.ops]
            change = partial(change_quotas, entity, changes)
            if request.validate_only:
                change(await node.quotas.get(entity))
            else:
                await node.quotas.alter(entity, change, ctx.requester)
        except Exception as error:
            return as_kafka_error(error, f"client quota entity {parts}")
        return None

    outcomes = await map_bounded(alter, list(zip(request.entries, named, strict=True)))
    return await _answer(named, ctx.api_version, outcomes)


async def fail(request: AlterClientQuotasRequest, version: int, error: KafkaError) -> Answer:
    return await _answer([_parts(asked) for asked in request.entries], version, [error] * len(request.entries))


def _parts(asked: _Asked) -> Parts:
    return [(one.entity_type, one.entity_name) for one in asked.entity]


async def _answer(named: Sequence[Parts], version: int, outcomes: Sequence[KafkaError | None]) -> Answer:
    answer = AlterClientQuotasResponse(version=version, throttle_time_ms=0)
    entries = (_entry(version, parts, error) for parts, error in zip(named, outcomes, strict=True))
    return await answer_with(answer, "entries", entries, len(named), sum(map(len, named)))


def _entry(version: int, parts: Parts, error: KafkaError | None) -> InParts:
    message = None if error is None else error.message
    entry = _Entry(version=version, error_code=code_of(error), error_message=message)
    names = (_Entry.EntityData(version=version, entity_type=kind, entity_name=name) for kind, name in parts)
    return InParts(entry, "entity", len(parts), names)


API = served(
    AlterClientQuotasRequest,
    Acl(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER, names_request=False),
    handle=handle,
    fail=fail,
)
