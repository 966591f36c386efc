"""Replicas on servers, which are no brokers, and replicas that are missing because no broker was free for them.

A stock broker that creates a topic by itself (auto-creation, `__consumer_offsets`) takes every node of its metadata for
a broker, this server (`own_id`) included. It has to know this server: it finds the controller among the live brokers of
UpdateMetadata (kafka.server.MetadataCacheControllerNodeProvider). So the topic znode must get another assignment:
another broker takes the place of `own_id`, and of the id of a server that was the controller before. Where the replica
may be that of a real broker (`own_replicas`), it stays.

Where no other broker is free, that replica is missing. The topic znode remembers it, in a field of its own
(`missing_replicas`), and the next broker that is free gets it: when a broker registers, or at a controller failover. A
client that moves the partition decides its replication factor: from the end of the move on nothing is missing any more.
"""

from msgspec.structs import replace

from kafka_reassign_rpc.core.leadership.broker_changes import first_state
from kafka_reassign_rpc.core.reassignment_algebra.assignment import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition
from kafka_reassign_rpc.core.topics.own_replicas import is_of_broker


def settle_missing(view: RoundView, topic: str, index: int, own_id: int) -> list[PartitionChange]:
    """`place_missing` for a partition as it is in the view."""
    partition = view.get(topic, index)
    if partition is None:
        return []
    value, missing = place_missing(view, topic, index, partition, own_id)
    return [] if value is partition else [PartitionChange(topic, index, value, missing=missing)]


def place_missing(view: RoundView, topic: str, index: int, partition: Partition, own_id: int) -> tuple[Partition, int]:
    """The partition without `own_id` and the ids of other servers, and with its missing replicas, as far as brokers are
    free; how many stay missing.

    The same object where nothing changes. The missing replicas of a partition that moves have to wait for the end of
    the move. All stay as they are where the topic znode cannot be written.
    """
    missing = view.missing(topic, index)
    if topic in view.too_large:
        return partition, missing
    value = partition
    servers = view.cluster.servers
    for server in [id_ for id_ in partition.replicas if id_ == own_id or id_ in servers]:
        if not is_of_broker(view.cluster, value, server):
            before = len(value.target)
            value = without_own_id(view.cluster, value, server, index)
            missing += before - len(value.target)
    while missing and not value.is_moving:
        broker = _free_broker(view.cluster, value, own_id, index)
        if broker is None:
            break
        value = replace(value, replicas=(*value.replicas, broker), leader_epoch=value.leader_epoch + 1)
        missing -= 1
    return value, missing


def without_own_id(cluster: Cluster, partition: Partition, own_id: int, index: int) -> Partition:
    """The partition with another broker in place of `own_id`, which holds no records, or with one replica less if no
    broker is free.

    A partition that already had a leader keeps its other replicas and its ISR; the new replica must catch up. If no
    broker is free for the only replica of a partition or target, the partition stays as it is.
    """
    broker = _free_broker(cluster, partition, own_id, index)
    if broker is None and not without(partition.target, (own_id,)):
        return partition
    named = tuple(broker if replica == own_id and broker is not None else replica for replica in partition.replicas)
    value = replace(
        partition,
        replicas=without(named, (own_id,)),
        adding=without(partition.adding, (own_id,)),
        removing=without(partition.removing, (own_id,)),
    )
    isr = without(partition.isr, (own_id,))
    if not isr:
        return replace(first_state(cluster, value), leader_epoch=partition.leader_epoch + bool(partition.isr))
    return replace(value, isr=isr, leader_epoch=partition.leader_epoch + 1)


def _free_broker(cluster: Cluster, partition: Partition, own_id: int, index: int) -> int | None:
    """A live broker without a replica, preferably in a rack without one; None where there is none."""
    taken = {own_id, *partition.replicas, *partition.pending_deletion}
    free = [broker for id_, broker in sorted(cluster.brokers.items()) if id_ not in taken and cluster.is_live(id_)]
    used = {cluster.brokers[replica].rack for replica in partition.replicas if replica in cluster.brokers}
    best = [broker for broker in free if broker.rack not in used] or free
    return best[index % len(best)].id if best else None
