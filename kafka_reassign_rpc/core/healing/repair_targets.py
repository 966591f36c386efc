"""Repairs (KIP-46), of what brokers or log dirs have lost: whether their targets, which the planner chooses, are still
needed once brokers return or other moves come; what they cost in bytes and time; and how fast they may copy, which is
what `self.healing.throttle` amounts to, for each broker.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

import msgspec

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.core.settings.healing_settings import ASSUMED_THROUGHPUT, HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, Partition, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, rate_of
from kafka_reassign_rpc.support.counted import plural

_LOST, _IN_PART = "broker", "log dirs of broker"
_IDS = r"([0-9]{1,10}(?:, [0-9]{1,10})*)"
_REASON = re.compile(rf"heal (?:brokers? {_IDS})?(?: and )?(?:log dirs of brokers? {_IDS})?")


def repair_reason(brokers: Collection[int], log_dirs_of: Collection[int] = ()) -> str:
    """These brokers are lost, and those have lost the log dirs with a partition's replicas."""
    parts = [
        f"{what}{plural(len(ids))} {listed(ids)}" for what, ids in ((_LOST, brokers), (_IN_PART, log_dirs_of)) if ids
    ]
    return f"heal {' and '.join(parts)}"


def repaired_brokers(reason: str, target: Iterable[int]) -> set[int]:
    """The brokers from which a repair with this reason takes a replica on its way to `target`, back or not.

    The partition does not show that: a new target loses the replicas of the former one, and a broker that comes back
    during its repair is like any other. A broker in `target` keeps its replica.
    """
    found = _REASON.fullmatch(reason)
    return set() if found is None else {broker for ids in found.groups() for broker in _ids(ids)} - {*target}


def lost_in_part(reason: str) -> frozenset[int]:
    """The brokers with lost log dirs that a repair with this reason replaces."""
    found = _REASON.fullmatch(reason)
    return frozenset() if found is None else frozenset(_ids(found.group(2)))


def listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))


def _ids(listed_ids: str | None) -> Iterator[int]:
    return map(int, (listed_ids or "").split(", ") if listed_ids else ())


def wanted_replicas(cluster: Cluster, partition: Partition, queued: WaitingMove | None) -> tuple[int, ...]:
    """The replicas that a partition will have, as far as repairs are concerned.

    A waiting repair counts before a move in flight. Any other waiting move mends nothing for what may be hours, nor
    does a move in flight that would bring in an absent broker, which never held the replica and so lost nothing
    (KIP-46).
    """
    if queued is not None and queued.terms.route == HEAL:
        return queued.terms.target
    if partition.move is not None and ends_unseen(partition):
        return partition.move.terms.target  # a repair that has just ended is not lost again
    return partition.original if _waits_for_a_broker(cluster, partition) else partition.target


def ends_unseen(partition: Partition) -> bool:
    """In front of KRaft: a look lists the move in flight no more, and not its target. A broker may lag, or others may
    have cancelled the move: until further looks say, nothing is repaired there."""
    move = partition.move
    if move is None or move.phase is not Phase.MOVING or partition.is_moving:
        return False
    return partition.replicas != move.terms.target


def serves_as_repair(queued: WaitingMove | None, cluster: Cluster, partition: Partition) -> TypeGuard[WaitingMove]:
    """Whether a waiting move is as good as a repair: all of its brokers are there."""
    return (
        queued is not None
        and queued.terms.route != HEAL
        and not any(cluster.is_lost(broker, partition) for broker in queued.terms.target)
    )


def leaving(cluster: Cluster, partition: Partition, queued: WaitingMove | None, wanted: Collection[int]) -> list[int]:
    """The lost replicas that a move in flight takes away, and that count until then. Those of a repair do not: the
    failure ends when the repair is queued (KIP-46).
    """
    is_repair = partition.move is not None and partition.move.terms.route == HEAL
    if is_repair or (queued is not None and queued.terms.route == HEAL):
        return []
    return [replica for replica in partition.original if replica not in wanted and cluster.is_lost(replica, partition)]


def _waits_for_a_broker(cluster: Cluster, partition: Partition) -> bool:
    """Whether the move in flight adds a replica on an absent broker or a failed log dir. A repair is planned again
    instead.
    """
    is_repair = partition.move is not None and partition.move.terms.route == HEAL
    return not is_repair and any(cluster.is_lost(replica, partition) for replica in partition.adding)


def still_to_copy(partition: Partition, wanted: Sequence[int]) -> list[int]:
    return [
        broker
        for broker in wanted
        if broker not in partition.isr and (broker in partition.adding or broker not in partition.replicas)
    ]


def still_needed(
    cluster: Cluster, partition: Partition | None, target: tuple[int, ...], in_part: Collection[int] = ()
) -> tuple[int, ...] | None:
    """The target of a waiting repair as far as it is still needed, or None.

    A broker that came back keeps its replicas, unless they are then less even over racks than after the repair.
    """
    if partition is None:
        return None
    replicas = wanted_replicas(cluster, partition, None)
    missing = {replica for replica in replicas if not is_back(cluster, partition, replica, in_part)}
    if not missing:
        return None
    if len(replicas) != len(target):
        return target
    left = tuple([new if old in missing else old for old, new in zip(replicas, target, strict=True)])
    racks = {replica: cluster.brokers[replica].rack for replica in (*left, *target) if replica in cluster.brokers}
    with_returned, repaired = (count_by_rack(chosen, racks).values() for chosen in (left, target))
    if len(set(left)) < len(left) or not is_as_even(with_returned, repaired):
        return target
    return left


def is_repair_of_returned_brokers(cluster: Cluster, partition: Partition) -> bool:
    move = partition.move
    return (
        partition.is_moving
        and move is not None
        and move.terms.route == HEAL
        and all(is_back(cluster, partition, replica, lost_in_part(move.terms.reason)) for replica in move.original)
    )


def is_back(cluster: Cluster, partition: Partition, replica: int, in_part: Collection[int]) -> bool:
    """One of `in_part`, which had lost log dirs, has to answer for its replicas first."""
    return not cluster.is_lost(replica, partition) and not (replica in in_part and replica in cluster.soft.unheard)


Rate = Callable[[int, str], float | None]
"""How fast a broker copies on one side (LEADER_RATE, FOLLOWER_RATE), bytes/s; None where that is not known."""


def rates_of(cluster: Cluster, throttle: HealingThrottle, fastest: int) -> Rate:
    """The rates of repairs: of `self.healing.throttle`, or a stricter one that a broker has; without a throttle
    `fastest`, a broker's observed throughput in bytes/s, 0 before the first observation.
    """
    leased = throttle.of(fastest)

    def rate(broker: int, side: str) -> float | None:
        if leased < 0:
            return fastest or None
        standing = rate_of(side, cluster.broker_configs.get(str(broker), {}), cluster.default_configs)
        return leased if standing is None else min(leased, standing)

    return rate


def renewed(throttle: HealingThrottle, present: int, fastest: int, former: HealingThrottle | None) -> int:
    """The rate of a repair that waits or moves at `present`. `former`: the throttle that repairs had from this
    controller before, None: it has seen none.

    A number holds at once; a share is computed when a repair joins the queue and when the setting changes, not with
    each observation. A new controller has observed nothing yet, so it keeps what it finds.
    """
    if throttle.percent and (throttle == former or (former is None and present > 0)):
        return present
    return throttle.of(fastest)


def explained(throttle: HealingThrottle, fastest: int) -> str:
    """What a share amounts to, and of what; else ""."""
    if not throttle.percent:
        return ""
    link = f"a broker was seen to receive {fastest} B/s"
    if not fastest:
        link = f"no broker's link was seen, {ASSUMED_THROUGHPUT} B/s are assumed"
    return f"at {throttle.of(fastest)} B/s for each broker, {throttle}: {link}"


class Copy(NamedTuple):
    """`leader` sends `size` bytes (None: unknown) to `receivers`, or to one broker while the planner has not chosen."""

    leader: int
    size: int | None
    receivers: Collection[int] = ()


class RepairCost(msgspec.Struct, frozen=True):
    """The bytes that are copied, as far as sizes are known, and the time of the busiest broker in ms; None: unknown.

    unsized   copies of unknown size: `bytes` lacks them
    """

    bytes: int | None
    copy_ms: int | None
    unsized: int = 0


UNKNOWN_COST = RepairCost(None, None)
NO_COST = RepairCost(0, 0)
"""Nothing is to be copied."""


class CostSum:
    def __init__(self) -> None:
        self._sent: Counter[int] = Counter()
        self._received: Counter[int] = Counter()
        self._anywhere = 0
        self._unsized = 0
        self._sized = 0

    def add(self, copy: Copy) -> None:
        if copy.size is None:
            self._unsized += max(1, len(copy.receivers))
            return
        self._sized += 1
        self._sent[copy.leader] += copy.size * max(1, len(copy.receivers))
        for broker in copy.receivers:
            self._received[broker] += copy.size
        if not copy.receivers:
            self._anywhere += copy.size

    def cost(self, others: Collection[int], rate: Rate) -> RepairCost:
        """`others` may get what has no receiver yet, in equal parts."""
        if self._unsized and not self._sized:
            return RepairCost(None, None, self._unsized)
        each = self._anywhere / len(others) if others else 0.0
        received = {broker: self._received[broker] + each for broker in {*self._received, *others}}
        sides: list[tuple[str, Mapping[int, float]]] = [(LEADER_RATE, self._sent), (FOLLOWER_RATE, received)]
        seconds = [
            _seconds(load, rate(broker, side)) for side, loads in sides for broker, load in loads.items() if load
        ]
        known = [one for one in seconds if one is not None]
        is_timed = not self._unsized and len(known) == len(seconds) and (others or not self._anywhere)
        copy_ms = int(max(known, default=0.0) * 1000) if is_timed else None
        return RepairCost(self._sent.total(), copy_ms, self._unsized)


def _seconds(load: float, rate: float | None) -> float | None:
    return load / rate if rate else None
