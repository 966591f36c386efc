"""Proposals that a goal forces: replicas must leave a broker (HEAL, DRAIN), a factor or racks must change."""

from collections.abc import Sequence
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.rack_rule import NO_RACK
from kafka_reassign_rpc.planner.deterministic_random import random_bits
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.scheduling.queue_order import start_priority
from kafka_reassign_rpc.support.counted import counted, those

NO_SOURCE = "no live replica is in sync: there is nothing to copy from"
IN_FLIGHT = "its reassignment is in flight"
ON_ITS_WAY = "its reassignment, in flight or waiting, does that already"
NO_OTHER_LEADER = "no other live replica is in sync: none can lead in its place"
PREFERRED_ALREADY = "another replica is preferred already: a preferred election lets it lead"
NONE_OF_SOME = "no broker of --to has room for it and leaves it as even over racks as it was"


class ForcedChange(NamedTuple):
    replicas: tuple[int, ...]
    priority: int
    reason: str
    rule: str


def forced_change(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str | None:
    """A text says why the change is impossible; None: the partition stays."""
    if not is_forced(partition, params):
        return None
    if partition.fault:
        return partition.fault
    if partition.moving:
        return ON_ITS_WAY if is_on_its_way(partition, params) else IN_FLIGHT
    if params.sources.isdisjoint(partition.isr):
        return NO_SOURCE
    if params.goal.mends_racks:
        return _mend_racks(partition, params, key)
    if params.goal.kind is GoalKind.SET_FACTOR:
        return _change_factor(partition, params, key)
    if params.goal.demoted:
        return _demote(partition, params, key)
    return _replace_leaving(partition, params, key)


def why_not_balanced(partition: PlannerPartition, params: RoundParameters) -> str:
    """ "" if it may move although nothing forces it."""
    if partition.fault:
        return partition.fault
    if partition.moving:
        return IN_FLIGHT
    if not params.live.issuperset(partition.replicas):
        return "it has a replica on a broker that is not live: heal it first"
    return NO_SOURCE if params.sources.isdisjoint(partition.isr) else ""


def may_move(partition: PlannerPartition, goal: Goal, live: frozenset[int]) -> bool:
    """Rounds of HEAL or DRAIN skip all others."""
    if goal.kind is GoalKind.HEAL:
        return not live.issuperset(partition.replicas)
    return not set(goal.drained).isdisjoint(partition.replicas)


def is_forced(partition: PlannerPartition, params: RoundParameters) -> bool:
    if params.goal.mends_racks:
        return params.choice.rack_rule.copies_lacking(partition.replicas) > 0
    if params.goal.kind is GoalKind.SET_FACTOR:
        return len(partition.replicas) != params.goal.factor
    if params.goal.demoted:
        return _is_led_by(params.goal.demoted, partition)
    return not params.leaving.isdisjoint(partition.replicas)


def _is_led_by(brokers: frozenset[int], partition: PlannerPartition) -> bool:
    """Now, or after the next preferred election."""
    return not brokers.isdisjoint((partition.leader, *partition.replicas[:1]))


def is_on_its_way(partition: PlannerPartition, params: RoundParameters) -> bool:
    """Also of one at which no change can begin."""
    return partition.moving and _reaches_goal(partition.destination, params)


def _reaches_goal(replicas: tuple[int, ...], params: RoundParameters) -> bool:
    rule = params.choice.rack_rule
    if params.goal.mends_racks:
        return bool(replicas) and NO_RACK not in rule.counts(replicas) and rule.copies_lacking(replicas) == 0
    if params.goal.kind is GoalKind.SET_FACTOR:
        return len(replicas) == params.goal.factor
    if params.goal.demoted:
        return False  # nobody tells in which order its replicas will be
    return bool(replicas) and params.leaving.isdisjoint(replicas)


def _replace_leaving(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str:
    old = partition.replicas
    kept = [broker for broker in old if broker not in params.leaving]
    gone = [broker for broker in old if broker in params.leaving]
    size, new = params.size(partition), list(old)
    for turn, broker in enumerate(gone):
        home = params.choice.rack_rule.racks.get(broker)
        chosen = params.choice.choose(kept, size, random_bits(key, 1000 + turn), home)
        if chosen is None:
            return _no_broker_chosen(partition, params, kept)
        kept.append(chosen)
        new[new.index(broker)] = chosen
    target = tuple(new)
    broken = _broken_rule(old, target, params)
    if broken:
        return broken
    lost = [broker for broker in gone if broker not in params.goal.drained]
    drained = [broker for broker in gone if broker in params.goal.drained]
    if not lost:
        return ForcedChange(target, 2, f"{those(drained, verb='are')} to be drained", "drain")
    priority = start_priority(partition.isr, partition.min_isr, params.sources)
    also = f", {those(drained, verb='are')} to be drained" if drained else ""
    return ForcedChange(target, priority, f"{those(lost, verb='are')} lost{also}", "live-brokers")


def _demote(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str:
    """Demoted brokers go behind all others. One in sync comes first, at random: so all get about as many."""
    old, demoted = partition.replicas, params.goal.demoted
    absent = [broker for broker in old if broker not in params.live]
    if absent:
        return _heal_first(absent)
    others = [broker for broker in old if broker not in demoted]
    able = [broker for broker in others if broker in partition.isr]
    if not able:
        return NO_OTHER_LEADER
    first = old[0] if old[0] in able else able[random_bits(key, 700) % len(able)]
    behind = [broker for broker in old if broker in demoted]
    target = (first, *(broker for broker in others if broker != first), *behind)
    if target == old:
        return PREFERRED_ALREADY
    return ForcedChange(target, 2, f"{those(behind, verb='are')} to lead nothing", "demote")


def _mend_racks(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str:
    """Takes from the fullest racks: each copy brings the spread nearer."""
    old, rule, choice = partition.replicas, params.choice.rack_rule, params.choice
    absent = [broker for broker in old if broker not in params.live]
    if absent:
        return _heal_first(absent)
    size, new = params.size(partition), list(old)

    def worth(broker: int) -> tuple[bool, bool, bool, int, int]:
        is_preferred, room = broker == old[0], choice.free_bytes.get(broker, 0)
        return broker in partition.isr, broker == partition.leader, is_preferred, room, random_bits(key, broker)

    for lacking in range(rule.copies_lacking(old), 0, -1):
        held = rule.counts(new)
        most = max(held.values())
        given = min((broker for broker in new if held[rule.racks[broker]] == most), key=worth)
        kept = [broker for broker in new if broker != given]
        chosen = choice.choose(kept, size, random_bits(key, 1000 + lacking))
        if chosen is None or rule.copies_lacking([*kept, chosen]) >= lacking:
            return no_room(partition, params)
        new[new.index(given)] = chosen
    racks = ", ".join(f"{count} in rack {rack}" for rack, count in sorted(rule.counts(old).items()))
    return ForcedChange(tuple(new), 2, f"uneven over racks: {racks}", "racks")


def _change_factor(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str:
    old = partition.replicas
    if len(old) < params.goal.factor:
        return _raise_factor(partition, params, key)
    if params.goal.factor < partition.min_isr:
        few = counted(params.goal.factor, "replica")
        return f"min.insync.replicas is {partition.min_isr}: producers could not write to {few}"
    kept = _replicas_to_keep(partition, params, key)
    return kept if isinstance(kept, str) else _changed_factor(old, kept, params)


def _raise_factor(partition: PlannerPartition, params: RoundParameters, key: int) -> ForcedChange | str:
    old = partition.replicas
    size, new = params.size(partition), list(old)
    while len(new) < params.goal.factor:
        chosen = params.choice.choose(new, size, random_bits(key, 1000 + len(new)))
        if chosen is None:
            return _no_broker_chosen(partition, params, new)
        new.append(chosen)
    return _changed_factor(old, tuple(new), params)


def _changed_factor(old: tuple[int, ...], target: tuple[int, ...], params: RoundParameters) -> ForcedChange | str:
    reason = f"replication factor {len(old)} to {params.goal.factor}"
    return _broken_rule(old, target, params) or ForcedChange(target, 2, reason, "replication-factor")


def _replicas_to_keep(partition: PlannerPartition, params: RoundParameters, key: int) -> tuple[int, ...] | str:
    """When the factor falls; a text says why there is no such choice. The leader stays, and as many racks as the rack
    rule asks for; then those in sync before others, then the preferred leader, then those on the emptiest brokers.
    """
    rack_rule, free_bytes = params.choice.rack_rule, params.choice.free_bytes
    left = [broker for broker in partition.replicas if broker in params.live]
    if len(left) < params.goal.factor:
        absent = [broker for broker in partition.replicas if broker not in params.live]
        return _heal_first(absent)
    preferred, bound = left[0], rack_rule.bound(partition.replicas, params.goal.factor)
    if not rack_rule.can_become_even((), left, params.goal.factor, bound):
        return "its live replicas are less even over racks than all of them: heal it first"

    def goodness(broker: int) -> tuple[bool, bool, bool, int, int]:
        return (
            broker == partition.leader,
            broker in partition.isr,
            broker == preferred,
            free_bytes.get(broker, 0),
            random_bits(key, broker),
        )

    best_first = sorted(left, key=goodness, reverse=True)
    kept: list[int] = []
    while len(kept) < params.goal.factor:
        best = next(
            one for one in best_first if rack_rule.can_become_even([*kept, one], left, params.goal.factor, bound)
        )
        best_first.remove(best)
        kept.append(best)
    return tuple(broker for broker in partition.replicas if broker in kept)


def _broken_rule(before: Sequence[int], after: Sequence[int], params: RoundParameters) -> str:
    """ "" if `after` breaks no hard rule."""
    absent = [broker for broker in after if broker not in params.live]
    if absent and not params.goal.heals_some:
        return _heal_first(absent)
    if not params.choice.rack_rule.allows(before, after):
        if params.goal.to:
            return NONE_OF_SOME
        return "no broker has room that leaves the partition as even over racks as it was" + others_cordoned(
            before, params
        )
    return ""


def _no_broker_chosen(partition: PlannerPartition, params: RoundParameters, kept: Sequence[int]) -> str:
    if params.goal.to:
        return NONE_OF_SOME
    candidates = [broker for weighted in params.choice.by_rack.values() for broker in weighted.brokers]
    wanted = params.goal.factor or len(partition.replicas)
    if len(candidates) < wanted and all(broker in kept for broker in candidates):
        holders = params.choice.rack_rule.cordoned.intersection(kept).union(candidates)
        brokers = counted(len(holders), "broker")
        text = f"replication factor {wanted} is larger than the {brokers} that can hold a replica"
    else:
        return no_room(partition, params)
    return text + others_cordoned(partition.replicas, params)


def no_room(partition: PlannerPartition, params: RoundParameters) -> str:
    text = "no broker of another rack has room for it" if params.goal.mends_racks else "no broker has room for it"
    return text + others_cordoned(partition.replicas, params)


def others_cordoned(replicas: Sequence[int], params: RoundParameters) -> str:
    """These might have taken the replica, and somebody may open them or mend their disks."""
    rule = params.choice.rack_rule
    closed = rule.cordoned.difference(replicas)
    cordoned, failed = len(closed - rule.failed), len(closed & rule.failed)
    return "".join(
        [
            f"; {counted(cordoned, 'other', 'are')} cordoned" if cordoned else "",
            f"; {counted(failed, 'broker', 'have')} failed log dirs" if failed else "",
        ]
    )


def _heal_first(absent: Sequence[int]) -> str:
    return f"{those(absent, verb='are')} not live: heal it first"
