"""Clusters for the planner's tests: short constructors, random clusters, and the hard rules written a second time."""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.plan_result import Plan, PlannerSummary
from kafka_reassign_rpc.planner.planner_cluster import (
    PlannerBroker,
    PlannerCluster,
    PlannerPartition,
    PlannerTopic,
    Volume,
)

MIB = 1 << 20
ROUNDS_ALONE = PlanOptions(effort=Effort.NONE)
QUICK = PlanOptions(effort=Effort.QUICK)
"""For what holds with any effort: only the quality of a plan needs the whole search, which takes seconds."""


def brokers(racks: Sequence[str | None], *, dead: Iterable[int] = (), capacity: int = -1) -> list[PlannerBroker]:
    """Brokers 1, 2, …, one for each rack given."""
    gone = set(dead)
    return [PlannerBroker(number, rack, number not in gone, capacity) for number, rack in enumerate(racks, 1)]


def partition(
    index: int, *replicas: int, live: Iterable[int] | None = None, size: int = MIB, **more: Any
) -> PlannerPartition:
    alive = set(replicas if live is None else live)
    isr = tuple(broker for broker in replicas if broker in alive)
    return PlannerPartition(index, tuple(replicas), isr[0] if isr else -1, isr, bytes=size, **more)


def topic(name: str, *partitions: PlannerPartition) -> PlannerTopic:
    return PlannerTopic(name, list(partitions))


def random_cluster(
    count: int, racks: int, partitions: int, *, factor: int = 3, seed: int = 1, dead: Iterable[int] = ()
) -> PlannerCluster:
    """Brokers 0 … count - 1, racks in rotation, topics of Zipf sizes, replicas spread over racks."""
    chance, gone = random.Random(seed), set(dead)
    made: list[PlannerTopic] = []
    left = partitions
    while left > 0:
        size = min(left, max(1, partitions // (4 * (len(made) + 1))))
        made.append(
            topic(f"t{len(made)}", *[_random_partition(chance, n, count, racks, factor, gone) for n in range(size)])
        )
        left -= size
    return PlannerCluster([PlannerBroker(n, f"r{n % racks}", n not in gone, 10**13) for n in range(count)], made)


def _random_partition(
    chance: random.Random, index: int, count: int, racks: int, factor: int, gone: set[int]
) -> PlannerPartition:
    replicas: list[int] = []
    while len(replicas) < factor:
        broker = chance.randrange(count)
        crowded = len(replicas) < racks and any(broker % racks == other % racks for other in replicas)
        if broker not in replicas and not crowded:
            replicas.append(broker)
    live = [broker for broker in replicas if broker not in gone]
    size = int(MIB * chance.paretovariate(1.2)) % 10**10
    return partition(
        index, *replicas, live=live, size=size, produce=chance.randrange(10**6), fetch=chance.randrange(10**6)
    )


@st.composite
def clusters(draw: st.DrawFn, most: int = 8) -> PlannerCluster:
    """Small clusters of every kind: racks or none or some, dead and unknown brokers, moves in flight, unknown sizes."""
    count = draw(st.integers(2, most))
    named = draw(st.sampled_from(["all", "none", "some"]))
    rack = {"all": st.sampled_from("abc"), "none": st.none(), "some": st.sampled_from(["a", "b", None])}[named]
    listed = [draw(_brokers(number, rack)) for number in range(1, count + 1)]
    ids = [broker.id for broker in listed]
    topics = []
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), unique=True, max_size=4)):
        made = []
        for index in range(draw(st.integers(1, 6))):
            replicas = draw(st.lists(st.sampled_from(ids), unique=True, min_size=1, max_size=min(4, count)))
            isr = [broker for broker in replicas if draw(st.integers(0, 5))]
            made.append(
                PlannerPartition(
                    index,
                    tuple(replicas),
                    isr[0] if isr else -1,
                    tuple(isr),
                    draw(st.integers(0, 9)) == 0,
                    draw(st.sampled_from([-1, 0, 10, 100, 500])),
                    draw(st.integers(0, 100)),
                    draw(st.integers(0, 100)),
                    draw(st.integers(1, 2)),
                )
            )
        topics.append(PlannerTopic(name, made))
    return PlannerCluster(listed, topics)


@st.composite
def _brokers(draw: st.DrawFn, number: int, racks: st.SearchStrategy[str | None]) -> PlannerBroker:
    """Of one size, of several volumes, or of an unknown size; full or not; perhaps with moves on their way."""
    live = draw(st.integers(0, 4)) > 0 or number == 1
    volumes = draw(st.lists(st.sampled_from([0, 90, 150, 300, 700]), max_size=3))
    coming = draw(st.sampled_from([(0, 0), (0, 0), (100, 0), (0, 1), (100, 1)]))
    if volumes:
        held = tuple(Volume(1_000, free) for free in volumes)
        return PlannerBroker(number, draw(racks), live, 1_000 * len(held), sum(volumes), *coming, held)
    capacity, free = draw(st.sampled_from([-1, 10_000, 1_000])), draw(st.sampled_from([-1, 0, 5_000, 200]))
    return PlannerBroker(number, draw(racks), live, capacity, free, *coming)


@st.composite
def goals(draw: st.DrawFn, cluster: PlannerCluster, kinds: Sequence[GoalKind] = tuple(GoalKind)) -> Goal:
    live = [broker.id for broker in cluster.brokers if broker.live]
    kind = draw(st.sampled_from(kinds))
    if kind is GoalKind.COMBINE:
        lost = [broker.id for broker in cluster.brokers if not broker.live]
        first, *others = draw(st.permutations(live))
        parts = {GoalKind.DRAIN: (first,), GoalKind.HEAL: tuple(lost[: draw(st.integers(0, 1))])}
        new = others[: draw(st.integers(0, 1))]
        return Goal(kind, parts=parts | ({GoalKind.EXPAND: tuple(new)} if new else {}))
    if kind in (GoalKind.DRAIN, GoalKind.EXPAND, GoalKind.DEMOTE):
        return Goal(kind, tuple(draw(st.lists(st.sampled_from(live), unique=True, min_size=1, max_size=2))))
    return Goal(kind, factor=draw(st.integers(1, len(live))) if kind is GoalKind.SET_FACTOR else 0)


def worst(summary: PlannerSummary) -> float:
    """The worst broker's distance from its target after the plan, by measures that count unless asked otherwise."""
    return max(far for name, far in summary.imbalance_after.items() if getattr(GoalWeights(), name))


def spread(cluster: PlannerCluster, replicas: Iterable[int]) -> int:
    """In how many racks the replicas are, as far as one knows. Live brokers without a rack are in one of their own."""
    listed = {broker.id: broker for broker in cluster.brokers}
    aware = any(broker.live and broker.rack for broker in cluster.brokers)
    known = [listed[one] for one in replicas if listed[one].live or (listed[one].rack and aware)]
    return len({broker.rack or "?" if aware else "" for broker in known})


def crowd(cluster: PlannerCluster, replicas: Iterable[int]) -> int:
    """The most replicas in one rack. One on a lost broker of which no rack is known may be in the fullest."""
    listed = {broker.id: broker for broker in cluster.brokers}
    aware = any(broker.live and broker.rack for broker in cluster.brokers)
    known = [listed[one] for one in replicas if listed[one].live or (listed[one].rack and aware)]
    counts = Counter(broker.rack or "?" if aware else "" for broker in known)
    return max(counts.values(), default=0) + sum(listed[one] not in known for one in replicas)


def broken_rules(cluster: PlannerCluster, goal: Goal, plan: Plan, headroom: float) -> list[str]:
    """The hard rules, written independently of the planner: one line for each violation."""
    live = {broker.id for broker in cluster.brokers if broker.live}
    usable = live - set(goal.drained)
    stood = {(one.name, held.index): held for one in cluster.topics for held in one.partitions}
    sizes = [held.bytes for held in stood.values() if held.bytes >= 0]
    mean = sum(sizes) // len(sizes) if sizes else 0
    arriving: dict[int, list[int]] = {}
    broken = []

    @cache
    def most_and_least(count: int) -> tuple[int, int]:
        """In how many racks so many replicas can be at most, and how many one rack must hold at least."""
        ways = [*itertools.combinations(usable, min(count, len(usable)))]
        return max(spread(cluster, way) for way in ways), min(crowd(cluster, way) for way in ways)

    for move in plan.moves:
        held, target = stood[move.topic, move.partition], move.target
        name = f"{move.topic}-{move.partition} {held.replicas} -> {target}"
        if move.original != held.replicas or target == held.replicas:
            broken.append(f"{name}: does not start where it stands, or is no move")
        if len(set(target)) != len(target):
            broken.append(f"{name}: a broker twice")
        stays_lost = set(held.replicas) - live - set(goal.brokers_of(GoalKind.HEAL) or ()) if goal.heals_some else set()
        if not (usable | stays_lost).issuperset(target):
            broken.append(f"{name}: on brokers that are not live")
        wanted = goal.factor if goal.kind is GoalKind.SET_FACTOR else len(held.replicas)
        if len(target) != wanted:
            broken.append(f"{name}: replication factor")
        most, least = most_and_least(len(target))
        if spread(cluster, target) < min(spread(cluster, held.replicas), most):
            broken.append(f"{name}: in fewer racks than before, and than it could be")
        added = max(0, len(target) - len(held.replicas))
        if crowd(cluster, target) > max(crowd(cluster, held.replicas) + added, least):
            broken.append(f"{name}: more in one rack than before, and than needed")
        if not live & set(held.isr):
            broken.append(f"{name}: nothing to copy from")
        if move.first_leader >= 0 and (
            move.first_leader not in live & set(held.isr) & set(held.replicas)
            or move.first_leader == held.leader
            or not set(target) - set(held.replicas)
        ):
            broken.append(f"{name}: {move.first_leader} cannot lead first")
        if held.moving:
            broken.append(f"{name}: in flight")
        for broker in set(target) - set(held.replicas):
            arriving.setdefault(broker, []).append(held.bytes if held.bytes >= 0 else mean)
    for one in cluster.brokers:
        got = sorted(arriving.get(one.id, []), reverse=True)
        if one.free >= 0 and any(got):
            volumes = one.volumes or (Volume(max(one.capacity, 0), one.free),)
            rooms = [volume.free - int(volume.size * headroom) for volume in volumes]
            coming = one.arriving + one.arriving_unknown * mean
            if sum(got) > sum(room for room in rooms if room > 0) - coming or not fits(got, rooms):
                broken.append(f"broker {one.id}: gets {got}, has {volumes}, {coming} bytes are on their way")
    return broken


def fits(sizes: Sequence[int], rooms: Sequence[int]) -> bool:
    """Whether these replicas, the largest first, can lie on volumes with so much room. Tries every way."""
    if not sizes:
        return True
    first, *rest = sizes
    tried = {room: place for place, room in enumerate(rooms) if room >= first}
    return any(fits(rest, [*rooms[:place], room - first, *rooms[place + 1 :]]) for room, place in tried.items())
