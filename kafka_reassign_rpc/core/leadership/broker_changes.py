"""What a broker's coming, going or shutting down means for a partition.

`settle` brings one partition in line with the brokers that are there; it looks at nothing but the partition, does
nothing where all is well, and can be repeated. A failure, a join, a bounce and a takeover are all "settle every
partition", cut by the caller into slices. In the order of effects:

1. a partition that has no state yet gets its first leader and ISR;
2. dead replicas leave the ISR, a dead leader is replaced from the ISR (KafkaController.onReplicasBecomeOffline);
   where no member of the ISR is left, the leader is nobody and the ISR stays: all of its members have all records,
   and the first of them to come back leads. (Kafka keeps one of them, whichever it comes to last.)
3. a partition without a leader gets one from the ISR, or from the live replicas where its topic allows unclean
   election (PartitionStateMachine.triggerOnlinePartitionStateChange);
4. a move that only waited for this is finished;
5. a pending_deletion replica whose broker is gone counts as deleted. As in Kafka, its log may lie on that broker's disk
   when it comes back; keeping it in the topic znode until then would show stock brokers a reassignment in progress,
   for ever where the broker has been taken out of service, which is what moves are mostly for.
"""

from collections.abc import Collection

from msgspec.structs import replace

from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, StaleBrokerEpoch
from kafka_reassign_rpc.core.leadership.elections import allows_unclean, first_electable, first_live, unclean_leader
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.reassignment_algebra.completion import finished
from kafka_reassign_rpc.core.round.round_view import Change, PartitionChange, RoundView, assignment_write
from kafka_reassign_rpc.core.state.cluster import NO_LEADER, Cluster, Partition

UNKNOWN_BROKER_EPOCH = -1


def settle(view: RoundView, topic: str, index: int, *, down: Collection[int] = ()) -> list[Change]:
    """Bring a partition in line with the brokers that are there.

    down    brokers that are registered but have to be taken for dead: they have bounced, that is, come back under
            a new epoch before their going was seen. Settle once with them and once without.
    """
    partition = view.get(topic, index)
    if partition is None:
        return []
    value = settled(view.cluster, topic, partition, down)
    if value is partition:
        return []
    return [PartitionChange(topic, index, value, assignment_write(partition, value))]


def settled(cluster: Cluster, topic: str, partition: Partition, down: Collection[int] = ()) -> Partition:
    """The partition as `settle` would have it: the very same object where nothing has to change."""
    if partition.partition_epoch < 0 and not partition.isr:
        value = first_state(cluster, partition)
    else:
        value = _with_leader_and_isr(cluster, topic, partition, down)
    if value.is_moving and not down:
        value = finished(cluster, value) or value
    if value.pending_deletion and not all(replica in cluster.brokers for replica in value.pending_deletion):
        value = replace(
            value, pending_deletion=tuple(replica for replica in value.pending_deletion if replica in cluster.brokers)
        )
    return value


def first_state(cluster: Cluster, partition: Partition) -> Partition:
    """A new partition's leader and ISR: the first live replica, and all live ones.

    Where none is alive nobody leads, and all replicas are the ISR: each of them has all there is, nothing.
    """
    isr = tuple(replica for replica in partition.replicas if cluster.is_live(replica))
    return replace(
        partition,
        leader=isr[0] if isr else NO_LEADER,
        isr=isr or partition.replicas,
        leader_epoch=0,
    )


def _with_leader_and_isr(cluster: Cluster, topic: str, partition: Partition, down: Collection[int]) -> Partition:
    brokers = cluster.brokers
    # Written for the usual case, in which nothing has changed: this runs for every partition of the cluster.
    leader = partition.leader
    for replica in partition.isr:
        if replica not in brokers or replica in down:
            isr = tuple(replica for replica in partition.isr if replica in brokers and replica not in down)
            break
    else:
        if cluster.is_live(leader) and leader not in down:
            return partition
        isr = partition.isr
    if leader == NO_LEADER or not cluster.is_live(leader) or leader in down:
        elected = first_electable(cluster, partition.replicas, isr, down)
        if elected is None and allows_unclean(cluster, topic):
            unclean = first_live(cluster, partition.replicas, down)
            if unclean is not None:
                return unclean_leader(partition, unclean)
        if elected is not None:
            leader = elected
        elif leader not in isr:  # a leader in controlled shutdown leads on while nobody can take over
            leader = NO_LEADER
    isr = isr or partition.isr
    if leader == partition.leader and isr == partition.isr:
        return partition
    return replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)


def may_shut_down(cluster: Cluster, broker_id: int, broker_epoch: int) -> KafkaError | None:
    """Whether a ControlledShutdown request is one of the broker as it is registered now."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return BrokerNotAvailable(f"Broker id {broker_id} does not exist.")
    if broker_epoch not in (UNKNOWN_BROKER_EPOCH, broker.epoch) and broker_epoch < broker.epoch:
        return StaleBrokerEpoch(
            f"Received controlled shutdown request from an old broker epoch {broker_epoch} for broker {broker_id}."
            f" Current broker epoch is {broker.epoch}."
        )
    return None


def controlled_shutdown(view: RoundView, topic: str, index: int, broker: int) -> tuple[bool, list[Change]]:
    """Take leadership and ISR membership of one partition off a broker that shuts down.

    The broker has to be among `Cluster.shutting_down` already. Returns whether it still leads (the broker will ask
    again), and the changes. Partitions with a single replica are left alone and not counted, as in Kafka
    (KafkaController.doControlledShutdown).
    """
    partition = view.get(topic, index)
    if partition is None or len(partition.replicas) < 2 or broker not in partition.replicas:
        return False, []
    cluster = view.cluster
    if partition.leader == broker:
        leader = first_electable(cluster, partition.replicas, partition.isr)
        if leader is None:
            return True, []
        isr = without(partition.isr, cluster.shutting_down)
    else:
        leader = partition.leader
        isr = without(partition.isr, (broker,))
        if not isr or isr == partition.isr:
            return False, []
    value = replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)
    value = finished(cluster, value) or value
    return False, [PartitionChange(topic, index, value, assignment_write(partition, value))]
