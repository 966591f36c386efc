"""Whether a goal makes sense for a cluster, and which of its weights change nothing for want of figures."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

from kafka_reassign_rpc.core.config_values import listed
from kafka_reassign_rpc.planner.brokers.broker_load import LEADER_MEASURES, MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, GoalWeights, PlanError, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker
from kafka_reassign_rpc.support.counted import agreeing, counted, plural, those
from kafka_reassign_rpc.support.typed_commands import command

_ELSEWHERE = "with a kafka-reassign-rpc server as the controller; elsewhere delete cordoned.log.dirs from their configs"
_OPENS = f"`kafka-reassign cordon` opens them {_ELSEWHERE}"
_RATES = ("produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")


def check_goal(goal: Goal, brokers: Mapping[int, PlannerBroker], options: PlanOptions) -> None:
    """Raises PlanError."""
    live = frozenset(broker.id for broker in brokers.values() if broker.live)
    if not live:
        raise PlanError("no broker is live")
    cordoned = frozenset(broker.id for broker in brokers.values() if broker.cordoned)
    leaving = goal.drained
    if live.issubset({*cordoned, *leaving}) and not live.issubset(leaving):
        raise PlanError(f"{goal.kind}: the other live {_why_closed(brokers, live.difference(leaving))}")
    if goal.kind is GoalKind.COMBINE:
        _check_parts(goal, live)
    for kind in (GoalKind.DRAIN, GoalKind.EXPAND, GoalKind.DEMOTE):
        if (named := goal.brokers_of(kind)) is not None:
            _check_named(kind, named, brokers, live)
    if goal.to:
        _check_receivers(goal, brokers)
    if goal.heals_some:
        alive = [broker for broker in goal.brokers_of(GoalKind.HEAL) or () if broker in live]
        if alive:
            raise PlanError(f"heal: {those(alive, verb='are')} live; drain empties a live broker")
    if goal.kind is GoalKind.SET_FACTOR:
        _check_factor(goal.factor, len(live))
    if goal.least_bytes and (goal.forces_changes or options.weights.spread_topics):
        raise PlanError(f"{goal.kind}: small partitions can stay only where a plan evens out brokers and nothing else")
    chooses = goal.kind not in (GoalKind.DEMOTE, GoalKind.SET_FACTOR)
    if of_leaders := [] if chooses else sorted({*options.broker_max}.intersection(LEADER_MEASURES)):
        flag = f"--broker-max-{of_leaders[0].replace('_', '-')}"
        raise PlanError(f"{goal.kind}: replicas that are there begin to lead, so {flag} cannot be kept: leave it out")
    if goal.mends_racks:
        _check_racks(goal, options, {broker for broker in live if brokers[broker].rack}, cordoned)


def check_lost(goal: Goal, known: Collection[int]) -> None:
    """`known`: brokers that are listed or hold replicas; lost ones need not be listed. Raises PlanError."""
    _require_known(GoalKind.HEAL, goal.brokers_of(GoalKind.HEAL) or (), known)


def _require_known(kind: GoalKind, named: Collection[int], known: Collection[int]) -> None:
    unknown = [broker for broker in named if broker not in known]
    if unknown:
        raise PlanError(f"{kind}: the snapshot has no {those(unknown)}")


def _why_closed(brokers: Mapping[int, PlannerBroker], closed: Collection[int]) -> str:
    others, them = f"broker{plural(len(closed))}", "it" if len(closed) == 1 else "the brokers"
    failed = [broker for broker in closed if brokers[broker].failed_log_dirs]
    if len(failed) == len(closed):
        return f"{others} {agreeing(len(closed), 'have')} failed log dirs: repair the disks, then restart {them}"
    either = " or have failed log dirs" if failed else ""
    return f"{others} {agreeing(len(closed), 'are')} cordoned{either}: {_OPENS}"


def _check_parts(goal: Goal, live: frozenset[int]) -> None:
    if len(goal.parts) < 2:
        raise PlanError("combine: name at least two of --heal, --drain and --expand; one of them is a plan of its own")
    for one, other in combinations(goal.parts, 2):
        both = sorted({*goal.parts[one]} & {*goal.parts[other]})
        if both:
            stand = those(both, verb="stand")
            each = "it" if len(both) == 1 else "each"
            raise PlanError(f"combine: {stand} in --{one} and in --{other}: {each} can have one part")
    dead = [broker for broker in goal.drained if broker not in live]
    if dead:
        raise PlanError(f"combine --drain: {those(dead, verb='are')} not live: --heal takes lost brokers")


def _check_named(
    kind: GoalKind, named: Collection[int], brokers: Mapping[int, PlannerBroker], live: frozenset[int]
) -> None:
    if not named:
        raise PlanError(f"{kind}: name the brokers")
    _require_known(kind, named, brokers)
    dead = [broker for broker in named if broker not in live]
    if kind in (GoalKind.EXPAND, GoalKind.DEMOTE) and dead:
        raise PlanError(f"{kind}: {those(dead, verb='are')} not live")
    cordoned = [broker for broker in named if broker in live and brokers[broker].cordoned]
    if kind is GoalKind.EXPAND and cordoned:
        closed = f"{those(cordoned, verb='are')} cordoned and {agreeing(len(cordoned), 'get')} no replica"
        raise PlanError(f"expand: {closed}: {_how_to_open(cordoned)}")
    if kind is GoalKind.DRAIN and live.issubset(named):
        raise PlanError("drain: no live broker would be left")
    if kind is GoalKind.DEMOTE and live.issubset(named):
        raise PlanError("demote: no live broker would be left to lead")


def _check_receivers(goal: Goal, brokers: Mapping[int, PlannerBroker]) -> None:
    for broker in goal.to:
        found = brokers.get(broker)
        why = "the snapshot does not have it" if found is None else "it is not live" if not found.live else ""
        if not why and broker in goal.drained:
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
    return f"`{command('kafka-reassign cordon', '--uncordon', '--brokers', listed(brokers))}` {_ELSEWHERE}"


def ineffective_weights(weights: GoalWeights, held: Iterable[Load]) -> Iterator[str]:
    """Notes on weights that somebody has asked for and that change nothing."""
    usual, loads = GoalWeights(), list(held)
    for name in _RATES:
        given, place = getattr(weights, name), MEASURES.index(name)
        if given > getattr(usual, name) and not any(load[place] for load in loads):
            yield f"--weight {name}={given:g} changes nothing: the snapshot has no such rate (`export --rates`)"


def size_notes(known: int, unknown: int, partitions: int, typical_size: int) -> Iterator[str]:
    """Notes on sizes that are not known, of so many partitions. `typical_size`: bytes that the plan assumes."""
    if not known and partitions:
        yield "no size is known: replicas are counted instead of bytes"
    elif unknown:
        yield (
            f"{unknown} of {counted(partitions, 'partition')} {agreeing(unknown, 'have')} no known size: "
            f"the plan assumes {typical_size} bytes for each, the mean of the others"
        )
