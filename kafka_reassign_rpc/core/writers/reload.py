"""What a controller keeps when it reads the cluster again because others have changed what is stored. Everything
durable is as read. Of the soft state this stays:

shutting down, unheard            of brokers with the same registration
sizes                             of topics that are still the same
partitions that others removed    all, and those that turn out to be gone now
offline replicas                  of brokers with the same registration, in topics with the same id: all others
                                  answer again
completed moves                   if what was read still shows them (`durable_assignment`)
since when a topic has its id     of topics that are still the same
the batch                         unless it was written since
unseen topics                     as the fresh cluster has them
all else                          except what
                                  queued moves wait for, which is found again
"""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import reassigned_by_others
from kafka_reassign_rpc.core.reassignment_algebra import with_known_completion
from kafka_reassign_rpc.core.round.changed_by_others import changed_by_others, has_lost_id, is_put_back
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState, readable_again
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import keep_id_since, put_partition


class Reloaded(NamedTuple):
    """Topics that are gone, and partitions whose replicas or moves others have changed."""

    gone: list[Topic]
    changed: set[TopicPartition]


def take_over(cluster: Cluster, fresh: Cluster, found: Reloaded) -> Iterator[None]:
    """Makes `cluster` equal to `fresh`, which was just read, but keeps soft state. `cluster` changes only at the
    end.
    """
    found.gone.extend(topic for topic in cluster.topics.values() if _is_gone(topic, fresh))
    lost = {topic.name for topic in found.gone}
    fresh.soft = _soft_state(cluster, fresh, lost)
    yield from _keep_of_topics(cluster, fresh)
    yield from _find_changed(cluster, fresh, lost, found.changed)
    if fresh.batch is not None and cluster.batch is not None and fresh.batch.changed == cluster.batch.changed:
        fresh.batch = replace(cluster.batch, has_children=fresh.batch.has_children)
    # A cancel znode that has children stays: one that was carried out is no cancel of the next batch.
    if fresh.cancel_all is not None and fresh.cancel_all.id == fresh.soft.cancelled:
        fresh.cancel_all = None
    for name in lost:
        fresh.queue.orphan(name)
    fresh.leases.follow(cluster.leases.common)
    for field in cluster.__struct_fields__:
        setattr(cluster, field, getattr(fresh, field))
    cluster.derive_settings()


def _soft_state(known: Cluster, fresh: Cluster, lost: set[str]) -> SoftState:
    soft, same = known.soft, _same_brokers(known, fresh)
    return SoftState(
        shutting_down=soft.shutting_down & same,
        unheard=soft.unheard & same | fresh.brokers.keys() - same,
        gone=soft.gone,
        sizes={name: size for name, size in soft.sizes.items() if name.topic not in lost},
        broker_settings=soft.broker_settings,
        started_with=soft.started_with,
        former=soft.former,
        cancelled=soft.cancelled,
        window=soft.window,
        reported=soft.reported,
        migrating=soft.migrating,
        kraft=soft.kraft,
        takes_nothing=soft.takes_nothing,
        unseen=fresh.soft.unseen,
    )


def _same_brokers(known: Cluster, fresh: Cluster) -> set[int]:
    return {
        id_ for id_, broker in fresh.brokers.items() if (was := known.brokers.get(id_)) and was.epoch == broker.epoch
    }


def _keep_of_topics(known: Cluster, fresh: Cluster) -> Iterator[None]:
    former, same = fresh.soft.former, _same_brokers(known, fresh)
    for topic in list(known.topics.values()):
        now = fresh.topics.get(topic.name)
        if not topic.deleting and topic.name in fresh.unreadable:
            former.keep(topic, topic.partitions, is_reported=True)  # until it can be read, or has its own id again
        elif not topic.deleting:
            changed = changed_by_others(topic, now)
            if changed or (now is not None and has_lost_id(topic, now)):
                former.keep(topic, changed)
        if now is not None and now.id in (None, topic.id):
            keep_id_since(topic, now)
            former.read_again(topic, now)
            for index, partition in topic.partitions.items():
                if not (partition.offline or partition.pending_deletion) or index not in now.partitions:
                    continue
                value = with_known_completion(partition, now.partitions[index])
                offline = tuple([replica for replica in partition.offline if replica in same])
                put_partition(fresh, now, index, replace(value, offline=offline))
        yield
    for topic in list(fresh.topics.values()):
        if topic.name not in known.topics:
            # Not those that this controller has created in a round whose commit was refused half-way, nor states of a
            # topic that was left alone: these were there all the time.
            was_there = topic.name in known.unreadable
            restored = is_put_back if was_there else _has_been_led
            former.appeared(topic, [index for index, value in topic.partitions.items() if restored(value)])
            yield


def _find_changed(known: Cluster, fresh: Cluster, lost: set[str], changed: set[TopicPartition]) -> Iterator[None]:
    for topic, indexes in fresh.moving.items():
        for index in indexes:
            if topic in lost or fresh.get(topic, index) != known.get(topic, index):
                changed.add(TopicPartition(topic, index))
            yield
        yield
    for name in fresh.topics.keys() & known.topics.keys() - lost:
        before = known.topics[name].partitions
        repaired = readable_again(known.topics[name], fresh.topics[name])
        for index, value in fresh.topics[name].partitions.items():
            if index in repaired or reassigned_by_others(before.get(index), value):
                changed.add(TopicPartition(name, index))
            yield
        yield


def mark_put_back(cluster: Cluster) -> Iterator[None]:
    """Marks partitions of a freshly read cluster whose states were restored."""
    for topic in list(cluster.topics.values()):
        cluster.soft.former.appeared(
            topic,
            [index for index, value in topic.partitions.items() if is_put_back(value)],
        )
        yield


def _has_been_led(value: Partition) -> bool:
    return value.leader_epoch > 0


def _is_gone(topic: Topic, fresh: Cluster) -> bool:
    now = fresh.topics.get(topic.name)
    return topic.name not in fresh.unreadable if now is None else now.created != topic.created
