"""Replicas on servers, which are no brokers, replicas that are missing because no broker was free for them, and new
replicas on cordoned brokers.

A stock broker that creates a topic takes this server for a broker: it chooses from all nodes of the last UpdateMetadata
(ZkMetadataCache.getAliveBrokers), and finds its controller among the same nodes (MetadataCacheControllerNodeProvider).
It cannot tell the two apart, so that cannot be prevented. (One that migrates to KRaft asks the controller instead.) So
another broker replaces the id of this or a former server in the topic znode, unless the replica may be a real broker's.

If no broker is free, the topic znode counts the replica as missing (field `missing_replicas`), and the next free broker
gets it: when a broker registers, or at a controller failover. A client that moves the partition decides its replication
factor: after the move nothing is missing.

A stock broker that creates a topic, and a tool that adds partitions in ZooKeeper, know no cordon, either. A partition
that never had a state has no log anywhere, so the server changes its assignment before it writes the first state:
nothing is copied, and the cordoned broker never hears of it. This corrects only topics without any earlier state that
were written after the cordon: a partition that merely lost its state may have a log. A replica for which no open broker
is left stays.

A real broker with the id of a server may be down, with the only log that has all acknowledged records. ZooKeeper does
not name the brokers of the past, so a replica counts as a broker's unless it cannot have records:

no state, or the first one without a leader     no replica has ever led the partition: no records
the id leads, or is in sync                     a broker's: a stock controller gives that only to registered brokers
others are in sync, the id is not               records that count are on the others. At its start a server checks
                                                more: see `held_by_brokers`
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.config_values import parse_brokers
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError
from kafka_reassign_rpc.core.leadership.broker_changes import first_state
from kafka_reassign_rpc.core.reassignment_algebra import without
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def never_led(partition: Partition) -> bool:
    """Whether the partition provably never had a leader, and so no records.

    It has no state, or the one that this server writes if no replica is live. A stock controller creates no state
    without a leader, and a restored state whose partition lost its leader has a higher leader epoch.
    """
    if partition.partition_epoch < 0:
        return True
    return partition.partition_epoch == 0 and partition.leader == NO_LEADER and partition.leader_epoch == 0


def is_in_use(partition: Partition, own_id: int) -> bool:
    """Whether a broker with this id leads or is in sync, or no replica is in sync."""
    return not never_led(partition) and (not partition.isr or own_id in (partition.leader, *partition.isr))


def is_of_broker(cluster: Cluster, partition: Partition, own_id: int) -> bool:
    """Then only that broker may decide about the replica."""
    return own_id in cluster.brokers or is_in_use(partition, own_id)


def refusal(cluster: Cluster, replicas: Iterable[int], partition: Partition | None = None) -> KafkaError | None:
    """Refuses replicas on a server's id, for which no broker ever comes, except what `partition` already has on a
    broker that is down.
    """
    ids = sorted(
        {
            replica
            for replica in replicas
            if cluster.is_server(replica)
            and (
                partition is None or replica not in partition.replicas or not is_of_broker(cluster, partition, replica)
            )
        }
    )
    if not ids:
        return None
    return InvalidReplicaAssignment(
        f"No broker can have the id {' or '.join(map(str, ids))}: a reassignment server has taken it"
        f" (/admin/reassignment_server_ids/{ids[0]}), and servers hold no replicas."
    )


def held_by_brokers(topics: Iterable[Topic], own_id: int, *, is_ours: bool) -> Iterator[TopicPartition]:
    """The partitions of which a broker with this id holds a replica, or may hold one.

    is_ours   a server took the id when no broker held replicas under it; else a replica out of sync may also belong to
              a broker that is down
    """
    for topic in topics:
        for index, partition in topic.partitions.items():
            if own_id not in (*partition.replicas, *partition.pending_deletion):
                continue
            if index in topic.unreadable or (is_in_use(partition, own_id) if is_ours else not never_led(partition)):
                yield TopicPartition(topic.name, index)


def corrected(view: RoundView, topic: str, index: int, partition: Partition, own_id: int) -> Partition:
    """Returns the same object if nothing changes."""
    cluster, value = view.cluster, partition
    if partition.partition_epoch >= 0 or partition.is_moving or topic in view.too_large:
        return partition
    closed = parse_brokers(cluster.settings.get(CORDONED_BROKERS, "")) or frozenset()
    is_new = cluster.topics[topic].stateless_since > cluster.settings_changed
    wrong = [broker for broker in partition.replicas if broker in closed] if is_new else []
    for broker in wrong:
        rest = replace(value, replicas=without(value.replicas, (broker,)))
        other = free_broker(cluster, rest, own_id, index)
        if other is None:
            break
        value = replace(value, replicas=tuple([other if one == broker else one for one in value.replicas]))
    if value is not partition:
        placed = ", ".join(map(str, partition.replicas))
        reason = f"somebody else has placed it on {placed}: no new replica lands on a cordoned broker"
        view.report(Event(catalogue.CORDON_CORRECTED, topic, index, reason=reason, replicas=value.replicas))
    return value


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
