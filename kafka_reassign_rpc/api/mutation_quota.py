"""Controller mutation quotas (KIP-599) count partitions: `controller.commands.topic_commands` records those of each
topic with which nothing else is wrong.
"""

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota


def mutation_quota(node: Node, ctx: RequestContext, strict_since: int) -> MutationQuota:
    """Before the version `strict_since`, what is beyond the quota is done, and the client is asked to wait."""
    user = ctx.principal.partition(":")[2]
    return node.mutation_quotas.of_request(user, ctx.client_id or "", strict=ctx.api_version >= strict_since)
