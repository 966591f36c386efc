"""The targets of repairs (KIP-46): whether a repair is still needed once brokers return or other moves come, and which
brokers it is for."""

import re
from collections.abc import Iterable, Sequence

from kafka_reassign_rpc.core.healing.brake import listed
from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.core.state.cluster import HEAL, Cluster, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.support.counted import plural

_REASON = re.compile(r"heal brokers? ([0-9]{1,10}(?:, [0-9]{1,10})*)")


def repair_reason(brokers: Iterable[int]) -> str:
    """The reason of a move that repairs these brokers: `heal broker 3`, `heal brokers 3, 6`."""
    repaired = sorted(brokers)
    return f"heal broker{plural(len(repaired))} {listed(repaired)}"


def repaired_brokers(reason: str, target: Iterable[int]) -> set[int]:
    """The brokers that a repair with this reason takes a replica from on its way to `target`, back or not.

    The replicas of the partition do not tell that: a move that gets another target loses the replicas of the former
    one, and a broker that comes back during its repair is like any other. A broker in `target` keeps its replica.
    """
    found = _REASON.fullmatch(reason)
    return set() if found is None else {int(broker) for broker in found.group(1).split(", ")} - {*target}


def wanted_replicas(cluster: Cluster, partition: Partition, queued: WaitingMove | None) -> tuple[int, ...]:
    """The replicas that a partition will have, as far as repairs are concerned.

    A waiting move counts before one in flight. Neither counts unless it is a repair while it would bring in an absent
    broker: it mends nothing, and that broker has lost nothing, since it never held the replica (KIP-46 repairs what a
    failed broker owned). The move waits for the broker, as its sender wants.
    """
    if queued is not None and (queued.route == HEAL or all(replica in cluster.brokers for replica in queued.target)):
        return queued.target
    return partition.original if _waits_for_a_broker(cluster, partition) else partition.target


def _waits_for_a_broker(cluster: Cluster, partition: Partition) -> bool:
    """Whether the move in flight would bring in an absent broker; False for a repair: it is planned again instead."""
    is_repair = partition.move is not None and partition.move.route == HEAL
    return not is_repair and not all(replica in cluster.brokers for replica in partition.adding)


def still_to_copy(partition: Partition, wanted: Sequence[int]) -> list[int]:
    """The replicas of `wanted` that have yet to be copied, whether their move is in flight or waits."""
    return [
        broker
        for broker in wanted
        if broker not in partition.isr and (broker in partition.adding or broker not in partition.replicas)
    ]


def still_needed(cluster: Cluster, partition: Partition | None, target: tuple[int, ...]) -> tuple[int, ...] | None:
    """The target of a waiting repair, as far as it is still needed; None: not at all.

    A broker that came back keeps its replicas, unless that leaves them less even over racks than the repair does.
    """
    if partition is None:
        return None
    replicas = wanted_replicas(cluster, partition, None)
    if all(replica in cluster.brokers for replica in replicas):
        return None
    if len(replicas) != len(target):
        return target
    left = tuple([old if old in cluster.brokers else new for old, new in zip(replicas, target, strict=True)])
    racks = {replica: cluster.brokers[replica].rack for replica in (*left, *target) if replica in cluster.brokers}
    with_returned, repaired = (count_by_rack(chosen, racks).values() for chosen in (left, target))
    if len(set(left)) < len(left) or not is_as_even(with_returned, repaired):
        return target
    return left


def is_repair_of_returned_brokers(cluster: Cluster, partition: Partition) -> bool:
    """Whether a partition moves because of failed brokers that have all come back."""
    move = partition.move
    return (
        partition.is_moving
        and move is not None
        and move.route == HEAL
        and all(replica in cluster.brokers for replica in move.original)
    )
