"""The algebra of a reassignment (KIP-455): replica sets in, replica sets out. Nobody's liveness matters here.

    RS  replicas    what stands; while moving: the target, then what is to be removed
    AR  adding      RS that were not there before the move
    RR  removing    RS that will not be there after it
    ORS origin      RS - AR (but for what `core.reassignment_algebra.target_change` keeps of a former target)
    TRS target      RS - RR

A new target keeps the origin: what only the former target needed is removed_at_once at once, unless a leader or a
sufficient
ISR would be lost with it. For example

    standing                      [1,2,3]
    target [4,2,5]                RS [4,2,5,1,3]  AR [4,5]  RR [1,3]
    then target [6,2,3]           RS [6,2,3,1]    AR [6]    RR [1]    removed_at_once [4,5]
    then cancelled                RS [1,2,3]                          removed_at_once [6]

Source: kafka.controller.ReplicaAssignment (the order of the tail is that of ZooKeeper mode: the order in which
the remaining original replicas stand).
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Partition

Replicas = tuple[int, ...]


class Reassigned(NamedTuple):
    """The replica sets that should stand, and the replicas that stand now and are in none of them."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas
    removed_at_once: Replicas
    retained: Replicas = ()
    """Of `removing`: see `core.reassignment_algebra.target_change`."""

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)


def reassign(partition: Partition, target: Replicas, retained: Replicas = ()) -> Reassigned:
    """What stands once `target` is given to a partition that may or may not be moving; `retained`: see
    `core.reassignment_algebra.target_change`."""
    origin = partition.origin
    removing = without(origin, target) + retained
    replicas = target + removing
    removed_at_once = without(partition.replicas, replicas) if partition.is_moving else ()
    return Reassigned(replicas, without(target, origin), removing, removed_at_once, retained)


def original(partition: Partition) -> Replicas:
    """The original replicas of a move, in their original order; of a partition at rest, those that stand.

    A move without a record (a stock controller started it) has the order of `Partition.origin`: all that is known.
    """
    origin = partition.origin
    recorded = origin if partition.move is None else partition.move.original
    if recorded != origin and set(recorded) != set(origin):  # a stale record: the topic znode is the truth
        return origin
    return recorded


def cancel(partition: Partition) -> Reassigned:
    """What stands once the move of a partition is cancelled: its original replicas."""
    back = original(partition)
    return Reassigned(back, adding=(), removing=(), removed_at_once=without(partition.replicas, back))


def without(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    """`replicas` in their order, but for those among `others`."""
    return tuple([replica for replica in replicas if replica not in others])  # a list is twice as fast


def among(replicas: Iterable[int], others: Collection[int]) -> Replicas:
    """`replicas` in their order, as far as they are among `others`."""
    return tuple([replica for replica in replicas if replica in others])


def retire(partition: Partition, removed_at_once: Replicas, replicas: Replicas) -> Replicas:
    """The pending_deletion replicas once `removed_at_once` have left the assignment and `replicas` make it up.

    Also those whose brokers are gone: what the topic znode says of them makes a next controller tell the others,
    should this one die before it has. Once it has, they count as deleted (see `brokers`, 5).
    A pending_deletion replica that is given back to the partition is no longer to be deleted; its broker is sent the
    StopReplica that was pending first, so that it starts from nothing.
    """
    if not partition.pending_deletion and not removed_at_once:
        return ()
    return without((*partition.pending_deletion, *without(removed_at_once, partition.pending_deletion)), replicas)
