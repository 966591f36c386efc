"""A round on one chunk of topics, unless it balances (`columns`). A proposal depends only on its topic and the round's
parameters, acceptance only on sums over all chunks: so the plan is the same however topics are divided into chunks.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from kafka_reassign_rpc.planner.deterministic_random import partition_key
from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.placement.first_leaders import propose_leaders
from kafka_reassign_rpc.planner.placement.withdrawal import WITHDRAWN
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import Place, PlannerPartition, PlannerTopic, found_in
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal, forced_bucket, load_changes
from kafka_reassign_rpc.planner.proposals.forced_proposals import (
    NONE_OF_SOME,
    forced_change,
    is_forced,
    is_on_its_way,
    no_room,
    why_not_balanced,
)
from kafka_reassign_rpc.planner.proposals.imbalance_cost import balance_reason
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import Thresholds


def propose(chunk: list[PlannerTopic], params: RoundParameters) -> Iterator[ChangeProposal | None]:
    """Yields None now and then: see `found_in`."""
    if params.withdrawn or params.searched:
        return found_in(chunk, partial(_shown, params))
    if params.leading_seconds is not None:
        return propose_leaders(chunk, params, params.leading_seconds)
    return found_in(chunk, partial(_forced, params))


def _shown(params: RoundParameters, place: Place, topic: str, one: PlannerPartition) -> ChangeProposal | None:
    """The coordinator finds the replicas, of what is withdrawn or of all partitions."""
    name = (topic, one.index)
    if params.withdrawn and name not in params.withdrawn:
        return None
    sized = msgspec.structs.replace(one, bytes=params.size(one))
    return ChangeProposal(place, one.replicas, 0, [], 2, one.reason, one.rule, name=name, searched=sized)


def _forced(params: RoundParameters, place: Place, topic: str, partition: PlannerPartition) -> ChangeProposal | None:
    """A forced change is final once it is accepted."""
    if partition.original or partition.fault:
        return None
    key = partition_key(topic, partition.index)
    size = params.size(partition)
    if params.collects is not None and size < params.collects.at_least:
        return None
    forced = forced_change(partition, params, key ^ (params.round_number << 48) ^ params.seed)
    if forced is None or isinstance(forced, str):
        return None
    chance, is_scarce, bucket = params.random_bits(key), bool(params.choice.scarce), 0
    if params.collects is None:
        bucket = forced_bucket(size, forced.priority, params.even_bytes, chance, urgent_first=is_scarce)
    changes = load_changes(partition, size, forced.replicas)
    made = ChangeProposal(place, forced.replicas, bucket, changes, forced.priority, forced.reason, forced.rule)
    return made._replace(name=params.collected_name(topic, partition.index, size, key)) if made.copies else made


def accepted_of(proposals: Iterable[ChangeProposal], thresholds: Thresholds) -> list[ChangeProposal]:
    accepted = (accept(proposal, thresholds) for proposal in proposals)
    return [one for one in accepted if one is not None]


def accept(proposal: ChangeProposal, thresholds: Thresholds) -> ChangeProposal | None:
    """With the brokers that the coordinator has chosen; None: not accepted."""
    if proposal.searched is not None:
        return proposal.found((thresholds.searched or {}).get(proposal.name)) if proposal.name else None
    if thresholds.placed is None:
        return proposal if _is_accepted(proposal, thresholds) else None
    if not proposal.copies:
        return proposal
    chosen = None if proposal.name is None else thresholds.placed.get(proposal.name)
    return None if chosen is None else proposal.with_brokers(chosen)


def _is_accepted(proposal: ChangeProposal, thresholds: Thresholds) -> bool:
    """Every broker whose load changes allows it. What changes no load is accepted when replicas are placed."""
    allowed = [thresholds.limits.get((change.broker, change.side), 0) for change in proposal.load_changes]
    return proposal.bucket < min(thresholds.total_copied, min(allowed, default=0))


def apply_accepted(chunk: list[PlannerTopic], accepted: Iterable[ChangeProposal]) -> None:
    for proposal in accepted:
        at, place = proposal.position_in_chunk
        partition = chunk[at].partitions[place]
        if proposal.first_leader >= 0:
            partition.first_leader = proposal.first_leader
            continue
        first = not partition.original
        partition.original = partition.original or partition.replicas
        partition.replicas = proposal.replicas
        if first or proposal.searched is not None:
            partition.priority, partition.reason, partition.rule = proposal.priority, proposal.reason, proposal.rule


def collect_moves(chunk: list[PlannerTopic], params: RoundParameters) -> Iterator[PlannedMove | LeftOut | None]:
    """After the last round. Yields None now and then."""
    return found_in(chunk, partial(_move_or_left_out, params))


def _move_or_left_out(
    params: RoundParameters, _: Place, topic: str, partition: PlannerPartition
) -> PlannedMove | LeftOut | None:
    if partition.original and partition.original != partition.replicas:
        return _planned_move(topic, partition, params)
    return _left_out(topic, partition, params)


def _planned_move(topic: str, partition: PlannerPartition, params: RoundParameters) -> PlannedMove:
    copies, size = sum(broker not in partition.original for broker in partition.replicas), params.size(partition)
    reason, rule = partition.reason, partition.rule
    if not rule:
        reason, rule = balance_reason(partition, size, params.shares_before)
    return PlannedMove(
        topic,
        partition.index,
        partition.original,
        partition.replicas,
        partition.leader,
        copies * size,
        partition.priority,
        _with_goals(reason, partition.original, copies, params),
        rule,
        partition.first_leader,
    )


def _left_out(topic: str, partition: PlannerPartition, params: RoundParameters) -> LeftOut | None:
    """None if the goal does not concern the partition."""
    forced = is_forced(partition, params)
    if partition.rule == WITHDRAWN:
        reason = partition.reason
    elif forced:
        reason = _why_not_forced(topic, partition, params)
    else:
        reason = why_not_balanced(partition, params) if params.goal.balances else ""
    if not reason:
        return None
    told = _with_goals(reason, partition.replicas, 0, params)
    missed = forced and not is_on_its_way(partition, params)
    return LeftOut(topic, partition.index, partition.replicas, told, missed, partition.bytes)


def _why_not_forced(topic: str, partition: PlannerPartition, params: RoundParameters) -> str:
    forced = forced_change(partition, params, partition_key(topic, partition.index))
    if isinstance(forced, str):
        return forced
    if params.goal.to:
        return NONE_OF_SOME
    return no_room(partition, params)


def _with_goals(reason: str, original: Sequence[int], copies: int, params: RoundParameters) -> str:
    """Names the parts of a combined goal that ask for a move, or for a partition that is left out: `drain: broker 3 is
    to be drained`. Of `copies` added replicas, those that replace none of a lost or drained broker are for new ones.
    """
    goal = params.goal
    if goal.kind is not GoalKind.COMBINE:
        return reason
    leaving = params.leaving.intersection(original)
    drained = leaving.intersection(goal.drained)
    asking = [
        kind
        for kind, asks in (
            (GoalKind.HEAL, leaving != drained),
            (GoalKind.DRAIN, bool(drained)),
            (GoalKind.EXPAND, not leaving or copies > len(leaving)),
        )
        if asks
    ]
    return f"{', '.join(asking)}: {reason}"
