"""What others do to the znodes of topics by hand, and how far the controller follows.

in ZooKeeper                                    the controller
a topic, or a partition in its znode, is gone   forgets it; brokers go on, and no log is deleted
it is back                                      takes the newer state of the two, with epochs that brokers accept
it is back, and has vanished in another term    takes the state as it is, with epochs that brokers accept
the state of a partition is gone, or older      does the same
the state's ISR names no replica of it, or is   keeps the former leader and ISR, with epochs that brokers accept
empty
replicas of which none is in sync and alive     keeps the former replicas in sync until new ones have caught up: a
                                                move, with the replicas in the znode as its target
no replicas                                     keeps the former ones
the id of a topic is gone                       writes it back

Stock Kafka ignores changed replicas until the next controller, which takes what it finds
(KafkaController.processPartitionModifications, processTopicChange).
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.reassignment_algebra import among, without
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Topic

MOST_RAISED = 1_000
"""By how much a partition epoch rises at once. It is the state znode's version, so each step is a write."""

UNKNOWN_CHANGES = 100
"""By how much the partition epoch of a restored state rises if the former one is unknown: brokers may have seen more
ISR changes. (A leader that asks for an ISR says which epoch it knows.)
"""

EDITED = "replicas edited in ZooKeeper, none of them in sync"
"""The reason of a move that keeps what an edit would have taken away."""


def changed_by_others(known: Topic, read: Topic | None) -> dict[int, Partition]:
    """Partitions that others have taken away, or given other replicas or an older state. `read`: the topic as read
    again, None if it is gone.
    """
    if read is None or read.id not in (None, known.id):
        return dict(known.partitions)
    found = read.partitions
    return {
        index: value
        for index, value in known.partitions.items()
        if index not in found or (found[index] != value and _is_changed(value, found[index]))
    }


def has_lost_id(known: Topic, read: Topic) -> bool:
    """Whether the topic's znode was written by a tool from before 2.8, which leaves the id out (KAFKA-14190)."""
    return known.id is not None and read.id is None


def _is_changed(known: Partition, read: Partition) -> bool:
    return known.partition_epoch >= 0 and (
        _has_older_state(known, read)
        or not is_believable(known, read)
        or not set(known.isr).issubset(read.replicas)
        or not read.target
    )


def is_believable(known: Partition, read: Partition) -> bool:
    """Whether the ISR that was read can be true, given the known one: no controller and no broker writes one without
    any replica of the partition."""
    holders = {*read.replicas, *read.pending_deletion, *known.replicas, *known.pending_deletion}
    return not known.isr or read.isr == known.isr or not holders.isdisjoint(read.isr)


def _has_older_state(known: Partition, read: Partition) -> bool:
    return (
        read.created != known.created
        or read.partition_epoch < known.partition_epoch
        or read.leader_epoch < known.leader_epoch
    )


def with_former_state(read: Partition, former: Partition, *, is_repaired: bool = False) -> Partition:
    """Takes the newer of the two states, with epochs that no broker has seen.

    If the state is missing, older or impossible, brokers go on with what they know: its leader and ISR are the truth.
    Where another topic has had the name meanwhile, brokers have stopped these replicas in one more leader epoch
    (`request_builders.follow`). `is_repaired`: the state could not be read until this one was written by hand.
    """
    believable = is_believable(former, read)
    is_older = _has_older_state(former, read) or (is_repaired and read.leader_epoch <= former.leader_epoch)
    if former.partition_epoch < 0 or (believable and not is_older):
        return read
    is_newer = read.partition_epoch >= 0 and read.leader_epoch > former.leader_epoch
    state = read if is_newer and believable else former
    return with_higher_epochs(
        replace(
            read,
            leader=state.leader,
            isr=state.isr,
            leader_recovery_state=state.leader_recovery_state,
            controller_epoch=state.controller_epoch,
            offline=former.offline,
        ),
        former.leader_epoch + 1,
        former.partition_epoch,
    )


def with_higher_epochs(partition: Partition, leader_epoch: int, partition_epoch: int) -> Partition:
    """Raises both epochs above their present values and those that brokers have seen.

    A broker acts on LeaderAndIsr only with a higher leader epoch, and not with a lower partition epoch than it knows
    (Partition.makeLeader, makeFollower).
    """
    seen = min(partition_epoch, partition.partition_epoch + MOST_RAISED)
    return replace(
        partition,
        leader_epoch=min(max(partition.leader_epoch, leader_epoch) + 1, INT32),
        partition_epoch=max(partition.partition_epoch, seen) + 1,
    )


def put_back(read: Partition) -> Partition:
    """Raises the epochs of a state that was restored and whose former value this term does not know. Otherwise the next
    leader would skip LeaderAndIsr, and no replica would lead or ask for an ISR. The leader epoch rises half as much: it
    alone shows this where the state vanishes again and comes back under another controller, since the partition epoch
    is the znode's version. It stays below that, as `is_put_back` has it.
    """
    seen = max(read.partition_epoch, read.leader_epoch)  # each leader epoch was a change
    return with_higher_epochs(read, seen + UNKNOWN_CHANGES // 2, seen + UNKNOWN_CHANGES)


def is_put_back(read: Partition) -> bool:
    """Whether the state was restored, as far as that shows: each leader epoch was a write of it, but the znode
    has had fewer.

    Leader epochs that rose twice in one round look the same, and higher epochs do them no harm. A copy of another
    ZooKeeper stays undetected.
    """
    return 0 <= read.partition_epoch < read.leader_epoch


def with_live_in_sync(cluster: Cluster, partition: Partition, former: Partition | None) -> Partition:
    """Adds the in-sync replicas that others have taken out, if no live one is left without them; they stay as removing
    replicas until the target has caught up.

    Without `former`, the value before the change, only the state shows whether they are good: if it names a leader,
    they were not stopped. A stock controller names none once it has dropped all that was in sync and deleted the logs
    (at a cancel).
    """
    isr, replicas = partition.isr, (*partition.replicas, *partition.pending_deletion)
    inside = among(isr, replicas)
    if len(inside) == len(isr) and partition.target:
        return partition
    if any(cluster.is_online(replica, partition) for replica in inside) and partition.target:
        return partition
    before = () if former is None else former.replicas
    left = without(isr, replicas) if partition.leader in isr else among(without(isr, replicas), before)
    kept = tuple([replica for replica in left if cluster.is_online(replica, partition)])
    if not kept and not inside:
        kept = left
    target = partition.target
    if not target and former is not None:
        return replace(partition, replicas=former.replicas, adding=former.adding, removing=former.removing)
    if not target:
        return replace(partition, replicas=kept or replicas, adding=(), removing=())
    if not kept:
        return partition
    new = tuple([replica for replica in target if replica not in isr and replica not in before])
    # Who takes replicas out of a move may leave them among those that it removes.
    removing = without(partition.removing, kept) + kept
    value = replace(partition, replicas=partition.replicas + kept, adding=new, removing=removing)
    move = partition.move or MoveRecord(MoveTerms(target, reason=EDITED), value.origin)
    return replace(value, move=move)
