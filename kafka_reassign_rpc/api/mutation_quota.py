"""Controller mutation quotas in CreateTopics, CreatePartitions and DeleteTopics (KIP-599).

A quota counts partitions: it is asked before the controller is, and gets back what the controller refuses.
"""

import time
from collections.abc import Mapping

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota, entities


async def mutation_quota(node: Node, ctx: RequestContext, *, strict_since: int) -> MutationQuota:
    """The quota of the client that sent a request. `strict_since`: the version of the API since which it is strict."""
    user, client_id = ctx.principal.partition(":")[2], ctx.client_id or ""
    found = await node.quotas.get_many([entity for entity, _ in entities(user, client_id)])
    strict = ctx.api_version >= strict_since
    return node.mutation_quotas.of_request(found, user, client_id, time.monotonic(), strict=strict)


def recorded(quota: MutationQuota, partitions: Mapping[str, int]) -> dict[str, KafkaError]:
    """Records the partitions of each topic. Returns the topics that are refused."""
    refused: dict[str, KafkaError] = {}
    for name, count in partitions.items():
        try:
            quota.record(count)
        except ThrottlingQuotaExceeded as error:
            refused[name] = error
    return refused


def throttle_time_ms(quota: MutationQuota, partitions: Mapping[str, int], outcomes: Mapping[str, object]) -> int:
    """How long the client should wait, once the topics' `outcomes` are known. What was refused for another reason than
    the quota is given back."""
    for name, count in partitions.items():
        outcome = outcomes[name]
        if isinstance(outcome, KafkaError) and not isinstance(outcome, ThrottlingQuotaExceeded):
            quota.give_back(count)
    refused = any(isinstance(outcome, ThrottlingQuotaExceeded) for outcome in outcomes.values())
    return quota.throttle_time_ms(refused=refused)
