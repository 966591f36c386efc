"""Controller mutation quotas in CreateTopics, CreatePartitions and DeleteTopics (KIP-599).

A quota counts partitions: it is asked before the controller is, and gets back what the controller refuses.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.large_requests import Steps, paced
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError, ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.mutation_quotas import UNLIMITED, MutationQuota
from kafka_reassign_rpc.support.slice_timer import in_turns

Outcome = TypeVar("Outcome")


async def under_mutation_quota(
    node: Node,
    ctx: RequestContext,
    strict_since: int,
    partitions: Callable[[str], int],
    topics: Sequence[str],
    change: Callable[[Sequence[str]], Awaitable[Mapping[str, Outcome | KafkaError]]],
    *,
    validate_only: bool = False,
) -> tuple[dict[str, Outcome | KafkaError], int]:
    """Has those topics changed for which the client's quota suffices.

    strict_since   the version of the API since which a quota refuses; before, the client is asked to wait
    partitions     how many partitions of a topic are created or deleted
    change         asks the controller; returns the outcome of each topic
    validate_only  whether nothing is changed: then no quota is asked

    Returns the outcome of each of `topics`, and how long the client should wait, in ms.
    """
    if not topics:
        return {}, 0
    strict = ctx.api_version >= strict_since
    quota = UNLIMITED if validate_only else _quota(node, ctx, strict=strict)
    if quota is UNLIMITED:
        return dict(await change(topics)), 0
    taken, refused = await in_turns(_take(quota, partitions, topics))
    outcomes: dict[str, Outcome | KafkaError] = dict(await change(list(taken))) if taken else {}
    await in_turns(_give_back(quota, taken, outcomes))
    return outcomes | refused, quota.throttle_time_ms(refused=bool(refused))


def _quota(node: Node, ctx: RequestContext, *, strict: bool) -> MutationQuota:
    user = ctx.principal.partition(":")[2]
    return node.mutation_quotas.of_request(user, ctx.client_id or "", time.monotonic(), strict=strict)


def _take(
    quota: MutationQuota, partitions: Callable[[str], int], topics: Sequence[str]
) -> Steps[tuple[dict[str, int], dict[str, KafkaError]]]:
    taken: dict[str, int] = {}
    refused: dict[str, KafkaError] = {}
    for name, pause in paced(topics):
        count = partitions(name)
        try:
            quota.record(count)
        except ThrottlingQuotaExceeded as error:
            refused[name] = error.as_answer()
        else:
            taken[name] = count
        if pause:
            yield
    return taken, refused


def _give_back(quota: MutationQuota, taken: Mapping[str, int], outcomes: Mapping[str, object]) -> Steps[None]:
    for (name, count), pause in paced(taken.items()):
        if isinstance(outcomes[name], KafkaError):
            quota.give_back(count)
        if pause:
            yield
