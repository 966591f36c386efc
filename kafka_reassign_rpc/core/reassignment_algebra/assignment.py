"""The algebra of a reassignment (KIP-455): replica sets in, replica sets out, whichever brokers are alive.

RS  replicas    the full replica set; during a move: the target, then the replicas to be removed
AR  adding      replicas of RS that the move adds
RR  removing    replicas of RS that leave at completion
ORS origin      RS - AR, without the retained replicas of `target_change`
TRS target      RS - RR

A new target keeps the origin. Adding replicas that only the former target needed are removed at once, unless the leader
or the size of the ISR depends on them: those are retained. For example

    at rest                       [1,2,3]
    target [4,2,5]                RS [4,2,5,1,3]  AR [4,5]  RR [1,3]
    then target [6,2,3]           RS [6,2,3,1]    AR [6]    RR [1]    removed at once: [4,5]
    then cancelled                RS [1,2,3]                          removed at once: [6]

Source: kafka.controller.ReplicaAssignment. Removing replicas come last, in their present order, as in ZooKeeper mode.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Partition

Replicas = tuple[int, ...]


class Reassigned(NamedTuple):
    """The replica sets after a decision.

    removed_at_once   present replicas that are in none of the new sets
    retained          part of `removing` (see `target_change`)
    """

    replicas: Replicas
    adding: Replicas
    removing: Replicas
    removed_at_once: Replicas
    retained: Replicas = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)


def reassign(partition: Partition, target: Replicas, retained: Replicas = ()) -> Reassigned:
    origin = partition.origin
    removing = without(origin, target) + retained
    replicas = target + removing
    removed_at_once = without(partition.replicas, replicas) if partition.is_moving else ()
    return Reassigned(replicas, without(target, origin), removing, removed_at_once, retained)


def cancel(partition: Partition) -> Reassigned:
    back = partition.original
    return Reassigned(back, adding=(), removing=(), removed_at_once=without(partition.replicas, back))


def without(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    return tuple([replica for replica in replicas if replica not in others])  # a list is twice as fast


def among(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    return tuple([replica for replica in replicas if replica in others])


def pending_deletion_after(partition: Partition, removed_at_once: Replicas, replicas: Replicas) -> Replicas:
    """The replicas that are pending deletion once `removed_at_once` have left.

    Those on dead brokers count: the topic znode still lists them as removing, so that a next controller propagates the
    change if this one dies first. A replica that the partition gets back no longer counts: its broker first gets the
    pending StopReplica, so that the replica starts with an empty log.
    """
    if not partition.pending_deletion and not removed_at_once:
        return ()
    return without((*partition.pending_deletion, *without(removed_at_once, partition.pending_deletion)), replicas)
