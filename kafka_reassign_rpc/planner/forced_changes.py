"""Proposals that a goal forces: replicas that must leave a broker, and a replication factor that must change."""

from collections.abc import Container, Iterable, Sequence

from kafka_reassign_rpc.planner.round_input import RoundInput
from kafka_reassign_rpc.planner.stable_hash import mix
from kafka_reassign_rpc.planner.values import Goal, Kind, PlannerPartition

Placed = tuple[tuple[int, ...], int, str, str]
"""Replicas, priority, reason, rule."""


def place(partition: PlannerPartition, view: RoundInput, key: int) -> Placed | str | None:
    """Where the partition should lie instead; a text says why it cannot; None: it stays where it is."""
    if not is_forced(partition, view):
        return None
    if partition.moving:
        return "a reassignment of it is in flight"
    if view.kind is Kind.SET_FACTOR:
        return _resized(partition, view, key)
    return _replaced(partition, view, key)


def may_move(partition: PlannerPartition, goal: Goal, live: frozenset[int]) -> bool:
    """The goal may want it changed: no round has to look at any other partition."""
    if goal.kind is Kind.HEAL:
        return not live.issuperset(partition.replicas)
    if goal.kind is Kind.DRAIN:
        return not set(goal.brokers).isdisjoint(partition.replicas)
    return goal.kind is not Kind.SET_FACTOR or len(partition.replicas) != goal.factor


def is_forced(partition: PlannerPartition, view: RoundInput) -> bool:
    """The goal wants this partition changed."""
    if view.kind is Kind.SET_FACTOR:
        return len(partition.replicas) != view.factor
    return not view.leaving.isdisjoint(partition.replicas)


def priority_of(isr: Iterable[int], min_isr: int, live: Container[int]) -> int:
    """0 below min.insync.replicas, 1 one replica left, 2 the rest."""
    alive = sum([broker in live for broker in isr])
    if alive < min_isr:
        return 0
    return 1 if alive == 1 else 2


def _replaced(partition: PlannerPartition, view: RoundInput, key: int) -> Placed | str:
    old = partition.replicas
    if view.kind is Kind.HEAL and view.live.isdisjoint(partition.isr):
        return "no live replica is in sync: there is nothing to copy from"
    kept = [broker for broker in old if broker not in view.leaving]
    gone = [broker for broker in old if broker in view.leaving]
    size, new = view.size(partition), list(old)
    for turn, broker in enumerate(gone):
        chosen = view.choose(kept, size, mix(key, 1000 + turn))
        if chosen is None:
            return no_place(partition, view, kept)
        kept.append(chosen)
        new[new.index(broker)] = chosen
    placed = tuple(new)
    refused = refusal(old, placed, view)
    if refused:
        return refused
    names = named(gone)
    if view.kind is Kind.HEAL:
        return placed, priority_of(partition.isr, partition.min_isr, view.live), f"{names} lost", "live-brokers"
    return placed, 2, f"{names} to be drained", "drain"


def _resized(partition: PlannerPartition, view: RoundInput, key: int) -> Placed | str:
    old = partition.replicas
    if len(old) < view.factor:
        return _grown(partition, view, key)
    if view.factor < partition.min_isr:
        return f"min.insync.replicas is {partition.min_isr}: nobody could write to {view.factor} replicas"
    new = list(old)
    while len(new) > view.factor:
        new.remove(_worst(new, partition, view, key))
    refused = refusal(old, tuple(new), view)
    return refused or (tuple(new), 2, f"replication factor {len(old)} to {view.factor}", "replication-factor")


def _grown(partition: PlannerPartition, view: RoundInput, key: int) -> Placed | str:
    old = partition.replicas
    size, new = view.size(partition), list(old)
    while len(new) < view.factor:
        chosen = view.choose(new, size, mix(key, 1000 + len(new)))
        if chosen is None:
            return no_place(partition, view, new)
        new.append(chosen)
    refused = refusal(old, tuple(new), view)
    return refused or (tuple(new), 2, f"replication factor {len(old)} to {view.factor}", "replication-factor")


def _worst(replicas: list[int], partition: PlannerPartition, view: RoundInput, key: int) -> int:
    """Which replica to drop: one that is not live, shares its rack, is not in sync, lies on the fullest broker.

    Never the preferred leader or the one that leads, never the last of its rack while another rack has two.
    """
    leads = partition.leader if partition.leader in replicas else -1
    first = next((broker for broker in replicas if broker in view.live), replicas[0])
    racks = [view.rack(broker) for broker in replicas]
    heaviest = {broker: -view.rooms.get(broker, 0) for broker in replicas}

    def badness(broker: int) -> tuple[bool, bool, bool, int, int]:
        return (
            broker not in view.live,
            racks.count(view.rack(broker)) > 1,
            broker not in partition.isr,
            heaviest[broker],
            mix(key, broker),
        )

    held = [broker for broker in replicas if broker not in (leads, first)]
    return max(held or [broker for broker in replicas if broker != leads], key=badness)


def refusal(before: Sequence[int], after: Sequence[int], view: RoundInput) -> str:
    """Which hard rule `after` would break, or ""."""
    absent = [broker for broker in after if broker not in view.live]
    if absent and not view.partial:
        return f"{named(absent)} not live: heal it first"
    if not view.keeps_racks(before, after):
        return "no broker has room without giving up a rack"
    return ""


def no_place(partition: PlannerPartition, view: RoundInput, kept: Sequence[int]) -> str:
    usable = sum(len(table.brokers) for table in view.tables.values())
    wanted = view.factor or len(partition.replicas)
    if usable < wanted and not any(broker not in kept for table in view.tables.values() for broker in table.brokers):
        return f"replication factor {wanted} is larger than the {usable} brokers that can hold a replica"
    return f"no broker has room for {view.size(partition)} bytes"


def named(brokers: Sequence[int]) -> str:
    """broker 3 is, brokers 3, 4 are."""
    text = ", ".join(map(str, brokers))
    return f"broker {text} is" if len(brokers) == 1 else f"brokers {text} are"
