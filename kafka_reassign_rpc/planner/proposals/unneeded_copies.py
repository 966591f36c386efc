"""Leaves a replica where it was before the plan: each round accepts moves for the cluster before it, so all together
may move more than was needed.
"""

from collections.abc import Mapping

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import LoadChange, load_changes
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters


def without_a_copy(
    partition: PlannerPartition, params: RoundParameters, spare: Mapping[tuple[int, int], Load]
) -> tuple[tuple[int, ...], list[LoadChange]] | None:
    """The replicas with one copy fewer, and what that changes; None: the plan needs all. `spare`: what each broker and
    side can lose or get.
    """
    original, now = partition.original, partition.replicas
    left = [broker for broker in original if broker not in now]
    for place, copied in enumerate(now):
        if copied in original:
            continue
        for broker in left:
            target = (*now[:place], broker, *now[place + 1 :])
            if set(target) == set(original):
                target = original  # without its last copy the move is none
            changes = load_changes(partition, params.size(partition), target)
            if params.choice.rack_rule.allows(now, target) and all(_can_bear(spare, change) for change in changes):
                return target, changes
    return None


def _can_bear(spare: Mapping[tuple[int, int], Load], change: LoadChange) -> bool:
    return min(spare.get((change.broker, change.side), Load()).minus(change.load)) >= 0
