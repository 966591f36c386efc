"""Replicas on servers, which are no brokers, and replicas that are missing because no broker was free for them.

A stock broker that creates a topic takes this server for a broker: it chooses from all nodes of the last UpdateMetadata
(ZkMetadataCache.getAliveBrokers), and finds its controller among the same nodes (MetadataCacheControllerNodeProvider).
It cannot tell the two apart, so that cannot be prevented. (One that migrates to KRaft asks the controller instead.) So
another broker replaces the id of this or a former server in the
topic znode, unless the replica may be a real broker's (`own_replicas`).

If no broker is free, the topic znode counts the replica as missing (field `missing_replicas`), and the next free broker
gets it: when a broker registers, or at a controller failover. A client that moves the partition decides its replication
factor: after the move nothing is missing.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.leadership.broker_changes import first_state
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.topics.own_replicas import is_of_broker


def replace_missing(view: RoundView, topic: str, index: int, own_id: int) -> list[PartitionChange]:
    partition = view.get(topic, index)
    if partition is None:
        return []
    value, missing = place_missing(view, topic, index, partition, own_id)
    return [] if value is partition else [PartitionChange(topic, index, value, missing=missing)]


def place_missing(view: RoundView, topic: str, index: int, partition: Partition, own_id: int) -> tuple[Partition, int]:
    """Replaces server ids and places missing replicas on free brokers; also returns how many stay missing.

    Returns the same object if nothing changes, as when the topic znode cannot be written. A moving partition first ends
    its move.
    """
    missing = view.missing(topic, index)
    if topic in view.too_large:
        return partition, missing
    value = partition
    servers = view.cluster.servers
    on_servers = [
        id_
        for id_ in partition.replicas
        if (id_ == own_id or id_ in servers) and not is_of_broker(view.cluster, partition, id_)
    ]
    for server in on_servers:
        before = len(value.target)
        value = without_own_id(view.cluster, value, server, index)
        missing += before - len(value.target)
    while missing and not value.is_moving:
        broker = free_broker(view.cluster, value, own_id, index)
        if broker is None:
            break
        value = replace(value, replicas=(*value.replicas, broker), leader_epoch=value.leader_epoch + 1)
        missing -= 1
    if value is not partition and not (partition.is_moving or value.is_moving):
        view.report(Event(catalogue.REPLICA_PLACED, topic, index, reason=_why(on_servers), replicas=value.replicas))
    return value, missing


def _why(on_servers: Sequence[int]) -> str:
    if not on_servers:
        return "no broker was free for a replica that was missing"
    ids = ", ".join(map(str, on_servers))
    return f"somebody else has placed a replica on {ids}, and servers hold no replicas"


def without_own_id(cluster: Cluster, partition: Partition, own_id: int, index: int) -> Partition:
    """Another broker replaces `own_id`, which holds no records; if none is free, the partition loses the replica,
    unless it is the only one. A partition that had a leader keeps its other replicas and its ISR; the new replica must
    catch up.
    """
    others = without(partition.target, (own_id,))
    broker = free_broker(cluster, partition, own_id, index, or_cordoned=not others)
    if broker is None and not others:
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


def free_broker(
    cluster: Cluster, partition: Partition, own_id: int, index: int, *, or_cordoned: bool = False
) -> int | None:
    """A live broker without a replica, preferably in a rack without one; or None.

    or_cordoned   also a cordoned one if no other is free: else the partition would have no replica at all
    """
    closed = cordoned(cluster)
    taken = {own_id, *partition.replicas, *partition.pending_deletion}
    there = [broker for id_, broker in sorted(cluster.brokers.items()) if id_ not in taken and cluster.is_live(id_)]
    free = [broker for broker in there if broker.id not in closed] or (there if or_cordoned else [])
    used = {cluster.brokers[replica].rack for replica in partition.replicas if replica in cluster.brokers}
    best = [broker for broker in free if broker.rack not in used] or free
    return best[index % len(best)].id if best else None
