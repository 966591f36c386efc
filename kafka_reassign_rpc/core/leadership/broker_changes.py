"""What a broker's start, failure, bounce, controlled shutdown or failed log dir means for a partition.

`settle` adapts one partition to the brokers that are registered. It reads only that partition, changes nothing where
nothing is wrong, and can be repeated. For a failure, a start, a bounce and a controller failover the controller settles
every partition, in slices. For a failed log dir it settles those that the broker has answered with KAFKA_STORAGE_ERROR
(`log_dir_answered`): such a replica counts as dead until its broker answers without an error, or registers anew. In the
order of effects:

1. A partition without a state gets its first leader and ISR.
2. Dead replicas leave the ISR, and a live member of the ISR replaces a dead leader (`elections.offline_election`;
   KafkaController.onReplicasBecomeOffline). If the whole ISR is dead, there is no leader and the ISR stays: each member
   has all records, and the first one to return leads. (Kafka shrinks the ISR to the member handled last.)
3. A partition without a leader gets one from the ISR; if its topic allows unclean election, from all live replicas
   (also `elections.offline_election`; PartitionStateMachine.triggerOnlinePartitionStateChange).
4. A move that has only waited for this is completed.
5. A replica that is pending deletion counts as deleted once its broker is gone. As in Kafka, the log may still be on
   that broker's disk when it returns. If the topic znode listed the replica until then, stock brokers would show a
   reassignment in progress, and for ever if the broker is decommissioned, which is what most moves are for.
"""

from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, StaleBrokerEpoch
from kafka_reassign_rpc.core.leadership.elections import first_electable, offline_election
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.reassignment_algebra.completion import completed
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView, assignment_write
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition

UNKNOWN_BROKER_EPOCH = -1


def settle(view: RoundView, topic: str, index: int, *, down: Collection[int] = ()) -> list[Change]:
    """Adapt a partition to the registered brokers.

    down    registered brokers that count as dead: they bounced, that is, they registered with a new epoch before the
            controller saw that they were gone. Settle the partition once with them and once without.
    """
    partition = view.get(topic, index)
    if partition is None:
        return []
    value = settled(view.cluster, topic, partition, down)
    if value is partition:
        return []
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def elect_missing_leader(view: RoundView, topic: str, index: int) -> list[Change]:
    """Elect a leader if the partition has none and unclean election is allowed now.

    Source: PartitionStateMachine.triggerOnlinePartitionStateChange.
    """
    partition = view.get(topic, index)
    return settle(view, topic, index) if partition is not None and partition.leader == NO_LEADER else []


def settled(cluster: Cluster, topic: str, partition: Partition, down: Collection[int] = ()) -> Partition:
    """The partition after `settle`: the same object where nothing has to change."""
    if partition.partition_epoch < 0 and not partition.isr:
        value = first_state(cluster, partition)
    else:
        value = offline_election(cluster, topic, partition, down)
    if value.offline and not all(replica in cluster.brokers and replica not in down for replica in value.offline):
        # The broker will answer anew.
        value = replace(value, offline=tuple([r for r in value.offline if r in cluster.brokers and r not in down]))
    if value.is_moving and not down:
        value = completed(cluster, value) or value
    if value.pending_deletion and not all(replica in cluster.brokers for replica in value.pending_deletion):
        value = replace(
            value, pending_deletion=tuple(replica for replica in value.pending_deletion if replica in cluster.brokers)
        )
    return value


def log_dir_answered(view: RoundView, topic: str, index: int, broker: int, *, is_offline: bool) -> list[Change]:
    """A broker has answered LeaderAndIsr for its replica of this partition: the replica's log dir has failed, or works.

    Source: KafkaController.processLeaderAndIsrResponseReceived and onReplicasBecomeOffline.
    """
    partition = view.get(topic, index)
    if partition is None or broker not in partition.replicas or (broker in partition.offline) is is_offline:
        return []
    offline = (*partition.offline, broker) if is_offline else without(partition.offline, (broker,))
    value = settled(view.cluster, topic, replace(partition, offline=offline))
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def begun_anew(view: RoundView, topic: str, index: int, broker: int) -> list[Change]:
    """Raise the leader epoch of a partition whose replica on this broker is in an unknown state. Nothing else changes.

    With a higher leader epoch a broker takes up a replica whatever has become of it (ReplicaManager, Partition).
    """
    partition = view.get(topic, index)
    if partition is None or broker not in partition.replicas or partition.leader == NO_LEADER:
        return []
    value = replace(partition, leader_epoch=partition.leader_epoch + 1)
    return [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]


def first_state(cluster: Cluster, partition: Partition) -> Partition:
    """A new partition's first leader and ISR: the first live replica, and all live replicas.

    If none is live, there is no leader and the ISR is all replicas: each of them has all records, since there are none.
    """
    isr = tuple(replica for replica in partition.replicas if cluster.is_online(replica, partition))
    return replace(
        partition,
        leader=isr[0] if isr else NO_LEADER,
        isr=isr or partition.replicas,
        leader_epoch=0,
    )


def controlled_shutdown_refusal(cluster: Cluster, broker_id: int, broker_epoch: int) -> KafkaError | None:
    """Why a ControlledShutdown request is refused; None where it is from the broker as it is registered now."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return BrokerNotAvailable(f"Broker id {broker_id} does not exist.")
    if broker_epoch not in (UNKNOWN_BROKER_EPOCH, broker.epoch) and broker_epoch < broker.epoch:
        return StaleBrokerEpoch(
            f"Received controlled shutdown request from an old broker epoch {broker_epoch} for broker {broker_id}."
            f" Current broker epoch is {broker.epoch}."
        )
    return None


def stops_following(view: RoundView, topic: str, index: int, broker: int) -> bool:
    """Whether a broker that shuts down stops its replica of this partition before that (with a StopReplica).

    It does so for each partition with other replicas that it does not lead (KafkaController.doControlledShutdown). A
    follower that went on fetching would be proposed for the ISR again and again.
    """
    partition = view.get(topic, index)
    return (
        partition is not None
        and broker in partition.replicas
        and len(partition.replicas) > 1
        and partition.leader != broker
    )


def controlled_shutdown(view: RoundView, topic: str, index: int, broker: int) -> tuple[bool, list[Change]]:
    """Move leadership and ISR membership of one partition away from a broker that shuts down.

    It must be in `SoftState.shutting_down` already. Returns whether it still leads (then it asks again), and the
    changes. Partitions with a single replica are ignored, as in Kafka (KafkaController.doControlledShutdown).
    """
    partition = view.get(topic, index)
    if partition is None or len(partition.replicas) < 2 or broker not in partition.replicas:
        return False, []
    cluster = view.cluster
    if partition.leader == broker:
        leader = first_electable(cluster, partition, partition.replicas, partition.isr)
        if leader is None:
            return True, []
        isr = without(partition.isr, cluster.soft.shutting_down)
    else:
        leader = partition.leader
        isr = without(partition.isr, (broker,))
        if not isr or isr == partition.isr:
            return False, []
    value = replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)
    value = completed(cluster, value) or value
    return False, [PartitionChange(topic, index, value, assignment_write(view, topic, partition, value))]
