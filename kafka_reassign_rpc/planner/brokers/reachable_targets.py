"""Targets that racks allow.

A change keeps the counts of a partition by rack, or makes them more even: so each rack holds at least the least, and
at most the most of these. (With three replicas in three racks, each holds a third, whatever its brokers are.) A rack
that cannot have its share gets the nearest possible, the others the rest, in proportion. A broker holds at most one
replica of a partition.
"""

from collections.abc import Mapping
from typing import TypeVar

from kafka_reassign_rpc.planner.brokers.broker_load import LEADER_MEASURES, MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_targets import ALIKE, BrokerTargets, is_within
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions

_ROUNDS = 200
_MATTERS = 1e-6
"""A plan names what it aims at in place of a target where it differs by a larger part."""

K = TypeVar("K", int, str)


def reachable_targets(
    targets: BrokerTargets, racks: Mapping[int, str], spreads: Mapping[tuple[int, int], Load]
) -> BrokerTargets:
    """`racks`: of the brokers that have targets; `spreads`: see `Survey`."""
    inside: dict[str, list[int]] = {}
    for broker in targets.targets:
        inside.setdefault(racks[broker], []).append(broker)
    found = {broker: list(wanted) for broker, wanted in targets.targets.items()}
    for place, name in enumerate(MEASURES):
        if name in LEADER_MEASURES:  # any replica may lead
            continue
        least = sum(fewest * load[place] for (fewest, _), load in spreads.items())
        one_of_each = sum(load[place] for load in spreads.values())
        bounds = {
            rack: (
                min(least, len(brokers) * one_of_each),
                sum(min(most, len(brokers)) * load[place] for (_, most), load in spreads.items()),
            )
            for rack, brokers in inside.items()
        }
        wanted = {rack: sum(found[broker][place] for broker in brokers) for rack, brokers in inside.items()}
        if sum(most for _, most in bounds.values()) < sum(wanted.values()) * (1 - ALIKE):
            continue  # partitions have more replicas than there are brokers: nobody can share these out
        of_racks = _within(wanted, bounds)
        for rack, brokers in inside.items():
            of_rack = {broker: found[broker][place] for broker in brokers}
            if of_racks[rack] != wanted[rack]:
                times = of_racks[rack] / wanted[rack] if wanted[rack] else 0.0
                of_rack = {broker: value * times for broker, value in of_rack.items()}
            for broker, value in _within(of_rack, dict.fromkeys(brokers, (0, one_of_each))).items():
                found[broker][place] = value
    return BrokerTargets({broker: tuple(values) for broker, values in found.items()}, targets.weights)


def centres_of_tolerance(targets: BrokerTargets, aims: BrokerTargets, tolerance: float) -> BrokerTargets:
    """What brokers have to be within the tolerance of: of their targets, wherever the plan's aim is. What racks keep
    further away is held against the aim.
    """
    return BrokerTargets(
        {
            broker: tuple(
                wanted if is_within(abs(aim - wanted), tolerance * wanted) else aim
                for wanted, aim in zip(of, aims.targets[broker], strict=True)
            )
            for broker, of in targets.targets.items()
        },
        targets.weights,
    )


def other_aims(targets: BrokerTargets, aims: BrokerTargets) -> dict[str, dict[int, float]]:
    """By measure and broker: what a plan aims at where racks keep it from the targets themselves."""
    found: dict[str, dict[int, float]] = {}
    for place, name in enumerate(MEASURES):
        both = {broker: (of[place], aims.targets[broker][place]) for broker, of in targets.targets.items()}
        if any(abs(aim - wanted) > wanted * _MATTERS for wanted, aim in both.values()):
            found[name] = {broker: aim for broker, (_, aim) in both.items()}
    return found


def _within(wanted: Mapping[K, float], bounds: Mapping[K, tuple[int, int]]) -> Mapping[K, float]:
    """The same sum within bounds: between them in proportion to what is wanted."""
    if all(low * (1 - ALIKE) <= wanted[key] <= high * (1 + ALIKE) for key, (low, high) in bounds.items()):
        return wanted
    whole = sum(wanted.values())

    def scaled(times: float) -> dict[K, float]:
        return {key: min(max(times * wanted[key], low), high) for key, (low, high) in bounds.items()}

    few, many = 0.0, 1.0
    while sum(scaled(many).values()) < whole and many < 2.0**_ROUNDS:
        many *= 2
    for _ in range(_ROUNDS):
        middle = (few + many) / 2
        few, many = (middle, many) if sum(scaled(middle).values()) < whole else (few, middle)
    return scaled(many)


def lower_bound(
    goal: Goal,
    before: Mapping[int, Load],
    after: Mapping[int, Load],
    targets: BrokerTargets,
    leaving: frozenset[int],
    mended: int,
    options: PlanOptions,
) -> int:
    """The bytes that every plan with the same result copies:

    HEAL, DRAIN          what left the leaving brokers must lie elsewhere
    COMBINE              the larger part: a replica that leaves one broker may come to a new one
    SET_FACTOR           what the cluster holds more afterwards
    EXPAND, REBALANCE    the larger of what brokers above the band must give (down to the band, or to where the plan
                         left them), and what brokers below it must get. EXPAND counts only the latter
    RACKS                what was copied to repair racks (`mended`): each copy gained one rack, and none gains two
    """
    if goal.kind is GoalKind.RACKS:
        return mended
    if goal.kind is GoalKind.SET_FACTOR:
        return max(0, sum(load.bytes for load in after.values()) - sum(load.bytes for load in before.values()))
    left = sum(before[broker].bytes - after[broker].bytes for broker in leaving if broker in before)
    if not goal.balances:
        return left
    given = taken = 0.0
    for broker, (share, *_) in targets.targets.items():
        low, high = share * (1 - options.tolerance), share * (1 + options.tolerance)
        given += max(0.0, before[broker].bytes - max(high, after[broker].bytes))
        taken += max(0.0, min(low, after[broker].bytes) - before[broker].bytes)
    return int(max(left, taken) if goal.joining else max(given, taken, mended))
