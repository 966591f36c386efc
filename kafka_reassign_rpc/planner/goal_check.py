"""Whether a goal makes sense for a cluster."""

from collections.abc import Collection, Iterable, Mapping

from kafka_reassign_rpc.core.cordon import listed
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker
from kafka_reassign_rpc.support.typed_commands import command

_OPENS = "`kafka-reassign cordon` opens them"


def check_goal(goal: Goal, brokers: Mapping[int, PlannerBroker], options: PlanOptions) -> None:
    """Raises PlanError, which says what to change. `brokers`: by id."""
    live = frozenset(broker.id for broker in brokers.values() if broker.live)
    if not live:
        raise PlanError("no broker is live")
    cordoned = frozenset(broker.id for broker in brokers.values() if broker.cordoned)
    leaving = goal.brokers if goal.kind is GoalKind.DRAIN else ()
    if live.issubset({*cordoned, *leaving}) and not live.issubset(leaving):
        raise PlanError(f"{goal.kind}: the other live brokers {_why_closed(brokers, live.difference(leaving))}")
    if goal.kind in (GoalKind.DRAIN, GoalKind.EXPAND):
        _check_named(goal, brokers, live)
    if goal.to:
        _check_receivers(goal, brokers)
    if goal.kind is GoalKind.HEAL:
        alive = [broker for broker in goal.brokers if broker in live]
        if alive:
            raise PlanError(f"heal: broker {_listed(alive)} is live; drain empties a live broker")
    if goal.kind is GoalKind.SET_FACTOR:
        _check_factor(goal.factor, len(live))
    if goal.mends_racks:
        _check_racks(goal, options, {broker for broker in live if brokers[broker].rack}, cordoned)


def _why_closed(brokers: Mapping[int, PlannerBroker], closed: Collection[int]) -> str:
    failed = [broker for broker in closed if brokers[broker].failed_log_dirs]
    if len(failed) == len(closed):
        return "have failed log dirs: repair the disks, then restart the brokers"
    either = " or have failed log dirs" if failed else ""
    return f"are cordoned{either}: {_OPENS}"


def _check_named(goal: Goal, brokers: Mapping[int, PlannerBroker], live: frozenset[int]) -> None:
    if not goal.brokers:
        raise PlanError(f"{goal.kind}: name the brokers")
    unknown = [broker for broker in goal.brokers if broker not in brokers]
    if unknown:
        raise PlanError(f"{goal.kind}: the snapshot has no broker {_listed(unknown)}")
    dead = [broker for broker in goal.brokers if broker not in live]
    if goal.kind is GoalKind.EXPAND and dead:
        raise PlanError(f"expand: broker {_listed(dead)} is not live")
    cordoned = [broker for broker in goal.brokers if broker in live and brokers[broker].cordoned]
    if goal.kind is GoalKind.EXPAND and cordoned:
        raise PlanError(f"expand: broker {_listed(cordoned)} is cordoned and gets no replica: {_how_to_open(cordoned)}")
    if goal.kind is GoalKind.DRAIN and live.issubset(goal.brokers):
        raise PlanError("drain: no live broker would be left")


def _check_receivers(goal: Goal, brokers: Mapping[int, PlannerBroker]) -> None:
    for broker in goal.to:
        found = brokers.get(broker)
        why = "the snapshot does not have it" if found is None else "it is not live" if not found.live else ""
        if not why and broker in goal.brokers:
            why = "it is to be emptied"
        if not why and found is not None and found.cordoned:
            why = f"it is cordoned: {_how_to_open([broker])}"
        if why:
            raise PlanError(f"{goal.kind} --to: broker {broker} gets no replica, {why}")


def _check_factor(factor: int, live: int) -> None:
    if factor < 1:
        raise PlanError("set-rf: the replication factor must be at least 1")
    if factor > live:
        raise PlanError(f"set-rf: the replication factor {factor} is larger than the {live} live brokers")


def _check_racks(goal: Goal, options: PlanOptions, in_racks: Collection[int], cordoned: frozenset[int]) -> None:
    if goal.racks and goal.kind is not GoalKind.REBALANCE:
        raise PlanError(f"{goal.kind}: only a rebalance can mend racks as well")
    if options.max_bytes >= 0:
        raise PlanError(f"{goal.kind}: bytes that mend racks have no limit; without one, or without mending racks")
    if not in_racks:
        raise PlanError(f"{goal.kind}: no live broker has a rack")
    if cordoned.issuperset(in_racks):
        raise PlanError(f"{goal.kind}: all live brokers with a rack are cordoned: {_OPENS}")


def _how_to_open(brokers: Iterable[int]) -> str:
    return f"`{command('kafka-reassign cordon', '--uncordon', '--brokers', listed(brokers))}`"


def _listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers))
