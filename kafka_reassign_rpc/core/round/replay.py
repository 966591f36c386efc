"""The only place that changes a `Cluster`.

`replay` puts in a committed round. `put_topic`, `partition_of` and others put in what was read from ZooKeeper. The rest
puts in news of brokers and configs.

Reading ZooKeeper after a commit gives the same cluster as `replay` of that commit, with two exceptions. Replicas that
are pending deletion, in a partition without a move record, are read as removing ones, since the znode does not
distinguish the two. And a completion whose topic znode is still to be written is read as a move. A controller failover
(`core.controller_failover`) completes such a move again, and both are the same. A controller that knew the cluster
before keeps what it knows of both (`durable_assignment.with_known_completion`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.reassignment_algebra.assignment import among, without
from kafka_reassign_rpc.core.round.changed_by_others import changed_by_others
from kafka_reassign_rpc.core.round.durable_assignment import with_known_completion
from kafka_reassign_rpc.core.round.round_view import (
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.state.cluster import (
    HEAL,
    LAST_ZXID,
    NO_LEADER,
    REVISIONS,
    Broker,
    Cluster,
    MoveRecord,
    Partition,
    Topic,
    TopicPartition,
)
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.slices import SliceCounter, in_slices

SLICE = 200
"""Number of partitions between two `yield`s."""

TOPICS = "topics"
"""Kind of config entity; the other one is "brokers"."""


class Durable(NamedTuple):
    """ZooKeeper's answers to the writes of a round.

    topics   zkVersions and czxids of the written topic znodes
    states   zkVersions of the written partition states
    created  czxids of those among them that were created
    records  czxid and ctime (ms since the epoch) of the written move records
    """

    topics: dict[str, tuple[int, int]]
    states: dict[TopicPartition, int]
    records: dict[TopicPartition, tuple[int, int]]
    created: dict[TopicPartition, int]


class PartitionTransition(NamedTuple):
    """A partition before and after a round; `before` is None for a new one."""

    topic: str
    partition: int
    before: Partition | None
    after: Partition


class ReplayedChanges:
    """The changes of a replay, which the controller propagates to the brokers."""

    def __init__(self) -> None:
        self.partitions: list[PartitionTransition] = []
        self.moves: dict[TopicPartition, MoveRecord] = {}
        """Moves whose records were written, with id and ctime from ZooKeeper."""
        self.created: list[str] = []
        self.deleting: list[str] = []
        self.deleted: list[Topic] = []
        """Topics that are gone, as they were last known."""
        self.leaving: dict[int, list[TopicPartition]] = {}
        """`RoundView.leaving`."""


def replay(
    cluster: Cluster, view: RoundView, durable: Durable, controller_epoch: int, applied: ReplayedChanges
) -> Iterator[None]:
    """Put a committed round into `cluster`, yielding every `SLICE` partitions; `applied` collects the changes.

    At each yield every partition is as before the round or as after it.
    """
    yield from _put_topics(cluster, view, durable, controller_epoch, applied)
    slices = SliceCounter(SLICE)
    for name, partition_change in view.partitions.items():
        _put(cluster, name, partition_change.value, durable, controller_epoch, applied)
        if partition_change.missing is not None:
            _put_missing(cluster, name, partition_change.missing)
        if slices.step():
            yield
    applied.leaving = view.leaving
    _put_failures(cluster, view)
    _put_topic_ids(cluster, view)
    for topic, (version, _) in durable.topics.items():
        if topic in cluster.topics:
            cluster.topics[topic].version = version
    cluster.former.decided(cluster.topics)


def _put_topics(
    cluster: Cluster, view: RoundView, durable: Durable, controller_epoch: int, applied: ReplayedChanges
) -> Iterator[None]:
    slices = SliceCounter(SLICE)
    for topic, change in view.topics.items():
        match change:
            case TopicCreated():
                version, created = durable.topics.get(topic, (-1, -1))
                _add_topic(cluster, Topic(topic, change.id, {}, version, created=created, id_since=created))
                cluster.topic_configs[topic] = dict(change.configs)
                applied.created.append(topic)
            case TopicDeletionStarted() if topic in cluster.topics:
                begin_deletion(cluster, topic)
                applied.deleting.append(topic)
            case TopicDeleted() if topic in cluster.topics:
                gone = cluster.topics[topic]
                applied.deleted.append(gone)
                if not gone.deleting:
                    cluster.former.keep(gone, gone.partitions, is_reported=True)
                remove_topic(cluster, topic)
        if isinstance(change, TopicCreated | PartitionsAdded):
            for index, value in change.partitions.items():
                _put(cluster, TopicPartition(topic, index), value, durable, controller_epoch, applied)
                if slices.step():
                    yield


def _put_topic_ids(cluster: Cluster, view: RoundView) -> None:
    for name, topic_id in view.topic_ids.items():
        topic = cluster.topics.get(name)
        if topic is not None:
            topic.id, topic.id_since = topic_id, LAST_ZXID
            topic.revision = next(REVISIONS)
            cluster.topic_names[topic_id] = name


def _put_failures(cluster: Cluster, view: RoundView) -> None:
    for broker, since in view.failed.items():
        if since is None:
            cluster.failed.pop(broker, None)
        else:
            cluster.failed[broker] = since


def _put_missing(cluster: Cluster, name: TopicPartition, missing: int) -> None:
    topic = cluster.topics.get(name.topic)
    if topic is not None and missing:
        topic.missing[name.partition] = missing
    elif topic is not None:
        topic.missing.pop(name.partition, None)


def _put(
    cluster: Cluster,
    name: TopicPartition,
    value: Partition,
    durable: Durable,
    controller_epoch: int,
    applied: ReplayedChanges,
) -> None:
    topic, index = name
    found = cluster.topics.get(topic)
    if found is None:
        return
    move = value.move
    record = durable.records.get(name)
    if record is not None and move is not None:
        move = applied.moves[name] = replace(move, id=record[0], started=record[1])
    version = durable.states.get(name)
    if version is not None:
        created = durable.created.get(name, value.created)
        value = replace(value, partition_epoch=version, controller_epoch=controller_epoch, move=move, created=created)
    elif move is not value.move:
        value = replace(value, move=move)
    before = found.partitions.get(index)
    if before is None or before != value:
        put_partition(cluster, found, index, value)
        applied.partitions.append(PartitionTransition(topic, index, before, value))


# ---------------------------------------------------------------------------------------------- from ZooKeeper


class LoadedAssignment(NamedTuple):
    """One partition in a topic znode."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class LoadedState(NamedTuple):
    """A partition's state znode; `version` is its zkVersion, `created` its czxid."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int
    leader_recovery_state: int = 0
    created: int = -1


_NO_STATE = LoadedState(leader=NO_LEADER, leader_epoch=0, isr=(), controller_epoch=0, version=-1)


def partition_of(
    assigned: LoadedAssignment, state: LoadedState | None, move: MoveRecord | None, *, is_latest: bool = False
) -> Partition:
    """The partition from its znodes.

    move        its move record, with the record's czxid and ctime
    is_latest   the record was written after the topic znode: the change of a target was interrupted between the two

    If the record fits the assignment, removing replicas that are neither original nor retained are pending deletion.
    The record of a partition at rest stays with it; a controller failover removes it.
    """
    pending_deletion: tuple[int, ...] = ()
    origin = without(assigned.replicas, assigned.adding)
    if move is not None and _fits(assigned, origin, move, is_latest=is_latest):
        pending_deletion = without(among(assigned.replicas, assigned.removing), (*move.original, *move.retained))
    state = state or _NO_STATE
    return Partition(
        replicas=without(assigned.replicas, pending_deletion) if pending_deletion else assigned.replicas,
        adding=assigned.adding,
        removing=without(assigned.removing, pending_deletion) if pending_deletion else assigned.removing,
        pending_deletion=pending_deletion,
        move=move,
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )


def _fits(assigned: LoadedAssignment, origin: tuple[int, ...], move: MoveRecord, *, is_latest: bool) -> bool:
    """Whether the record is about the move in the znode, and not about one that a stock controller has ended since.

    A stock controller leaves the record where it is, and may have moved the partition again: then what that move
    removes is no pending deletion. It may be all that is in sync.
    """
    return (
        set(move.original) <= set(origin)
        and set(origin) - set(move.original) <= set(assigned.removing)
        and (is_latest or without(assigned.replicas, assigned.removing) in (move.target, move.original))
    )


def put_topic(
    cluster: Cluster,
    name: str,
    topic_id: UUID | None,
    partitions: Mapping[int, Partition],
    *,
    version: int,
    extra: Mapping[str, msgspec.Raw] | None = None,
    missing: Mapping[int, int] | None = None,
    unreadable: frozenset[int] = frozenset(),
    deleting: bool = False,
    created: int = -1,
    id_since: int = LAST_ZXID,
) -> Topic:
    """Put in a topic as read from ZooKeeper, in place of its earlier state."""
    before = cluster.topics.get(name)
    remove_topic(cluster, name, configs=False)
    topic = Topic(
        name=name,
        id=topic_id,
        partitions=dict(partitions),
        version=version,
        extra=dict(extra or {}),
        missing=dict(missing or {}),
        unreadable=unreadable,
        deleting=deleting,
        created=created,
        id_since=id_since,
    )
    if before is not None:
        _keep_id_since(before, topic)
    _add_topic(cluster, topic)
    cluster.unreadable.pop(name, None)
    moving = {index for index, partition in partitions.items() if partition.is_moving}
    if moving:
        cluster.moving[name] = moving
    if not deleting:
        for index in moving:
            cluster.leases.put(name, index, partitions[index].lease)
    return topic


def _keep_id_since(known: Topic, fresh: Topic) -> None:
    """A topic that is read again has had its id for as long as before."""
    if (known.created, known.id) == (fresh.created, fresh.id):
        fresh.id_since = min(known.id_since, fresh.id_since)


def put_state(cluster: Cluster, name: TopicPartition, state: LoadedState) -> None:
    """Put in the state of a known partition that a broker has written by itself."""
    topic = cluster.topics[name[0]]
    value = replace(
        topic.partitions[name[1]],
        leader=state.leader,
        isr=state.isr,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.version,
        controller_epoch=state.controller_epoch,
        leader_recovery_state=state.leader_recovery_state,
        created=state.created,
    )
    put_partition(cluster, topic, name[1], value)


def keep_soft_state(known: Cluster, fresh: Cluster) -> Iterator[None]:
    """Put what no znode tells of topics into the cluster as read again: since when they have their ids, what their
    brokers have answered about log dirs, which moves are complete already, and what others have taken away or changed.
    Yields after each topic.

    A broker that has registered anew since answers anew, and so do all for a new topic of the same name.
    """
    fresh.former = known.former
    same = {
        id_
        for id_, broker in fresh.brokers.items()
        if id_ in known.brokers and known.brokers[id_].epoch == broker.epoch
    }
    for topic in list(known.topics.values()):
        now = fresh.topics.get(topic.name)
        if not topic.deleting and topic.name not in fresh.unreadable:
            former = changed_by_others(topic, now)
            if former:
                fresh.former.keep(topic, former)
        if now is not None and now.id == topic.id:
            _keep_id_since(topic, now)
            for index, partition in topic.partitions.items():
                if not (partition.offline or partition.pending_deletion) or index not in now.partitions:
                    continue
                value = with_known_completion(partition, now.partitions[index])
                offline = tuple([replica for replica in partition.offline if replica in same])
                put_partition(fresh, now, index, replace(value, offline=offline))
        yield
    for topic in list(fresh.topics.values()):
        if topic.name not in known.topics:
            # Not those that this controller has created in a round whose commit was refused half-way.
            fresh.former.appeared(topic, [index for index, value in topic.partitions.items() if value.leader_epoch > 0])
            yield


def note_put_back(cluster: Cluster) -> Iterator[None]:
    """Note partitions of a cluster that was just read whose states somebody has put back, as far as that shows: each
    leader epoch was a write of the state, and the znode has had fewer. Yields after each topic.

    A few others have fewer too: those whose leader epoch rose twice in one round. Higher epochs do them no harm. In a
    copy of another ZooKeeper this shows nothing.
    """
    for topic in list(cluster.topics.values()):
        cluster.former.appeared(
            topic,
            [index for index, value in topic.partitions.items() if 0 <= value.partition_epoch < value.leader_epoch],
        )
        yield


def topic_unreadable(cluster: Cluster, name: str, reason: str) -> None:
    """A topic's znode cannot be decoded. The earlier state of the topic holds until the controller must write it."""
    cluster.unreadable[name] = reason


def put_partition(cluster: Cluster, topic: Topic, index: int, partition: Partition) -> None:
    """Put in one partition of a known topic."""
    topic.partitions[index] = partition
    topic.revision = next(REVISIONS)
    if not topic.deleting:
        cluster.leases.put(topic.name, index, partition.lease)
    moving = cluster.moving.get(topic.name)
    if partition.is_moving:
        if moving is None:
            moving = cluster.moving[topic.name] = set()
        moving.add(index)
    elif moving is not None:
        moving.discard(index)
        if not moving:
            del cluster.moving[topic.name]


def remove_topic(cluster: Cluster, name: str, *, configs: bool = True) -> None:
    """Remove a topic that is gone."""
    topic = cluster.topics.pop(name, None)
    cluster.moving.pop(name, None)
    cluster.leases.remove(name)
    cluster.unreadable.pop(name, None)
    if configs:
        cluster.queue.orphan(name)
        cluster.topic_configs.pop(name, None)
        cluster.occupied_records = frozenset(record for record in cluster.occupied_records if record.topic != name)
        for index in topic.partitions if topic is not None and cluster.sizes else ():
            cluster.sizes.pop(TopicPartition(name, index), None)
    if topic is not None and topic.id is not None and cluster.topic_names.get(topic.id) == name:
        del cluster.topic_names[topic.id]


def begin_deletion(cluster: Cluster, name: str) -> None:
    """The topic is marked for deletion in ZooKeeper: from now on commands do not find it."""
    topic = cluster.topics.get(name)
    if topic is not None:
        topic.deleting = True
        cluster.leases.remove(name)
        cluster.queue.orphan(name)


def put_marks(cluster: Cluster, *, stale: Iterable[str], waiting: Iterable[str]) -> None:
    """These are all marks in `/admin/delete_topics` that mark no present topic, and all that wait."""
    cluster.stale_marks, cluster.waiting_marks = frozenset(stale), frozenset(waiting)


def _add_topic(cluster: Cluster, topic: Topic) -> None:
    cluster.topics[topic.name] = topic
    if topic.id is not None:
        cluster.topic_names[topic.id] = topic.name


# ---------------------------------------------------------------------------------------------- brokers, configs


class BrokersChanged(NamedTuple):
    """Broker ids. A bounced broker has registered with a new epoch; an updated one has other endpoints or rack."""

    joined: tuple[int, ...]
    gone: tuple[int, ...]
    bounced: tuple[int, ...]
    updated: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.joined or self.gone or self.bounced or self.updated)


def put_brokers(cluster: Cluster, registered: Mapping[int, Broker]) -> BrokersChanged:
    """Put in all registered brokers. A broker that left or bounced is no longer shutting down."""
    before = cluster.brokers
    after = {broker: registered[broker] for broker in sorted(registered)}
    both = [(before[id_], after[id_]) for id_ in after if id_ in before]
    changed = BrokersChanged(
        joined=tuple(id_ for id_ in after if id_ not in before),
        gone=tuple(id_ for id_ in sorted(before) if id_ not in after),
        bounced=tuple(new.id for old, new in both if new.epoch != old.epoch),
        updated=tuple(new.id for old, new in both if new.epoch == old.epoch and new != old),
    )
    cluster.brokers = after
    cluster.shutting_down.difference_update(changed.gone, changed.bounced)
    return changed


def put_servers(cluster: Cluster, ids: frozenset[int]) -> None:
    """Put in the ids that servers have taken."""
    cluster.servers = ids


def put_gone(cluster: Cluster, gone: Iterable[int]) -> None:
    """Put in the absent brokers with replicas, as counted just now. Where one has left them, waiting repairs are
    decided again: the brake may hold them no longer."""
    before, cluster.gone = cluster.gone, frozenset(gone)
    if before - cluster.gone and cluster.queue.routes[HEAL]:
        cluster.queue.more = True


def set_shutting_down(cluster: Cluster, broker: int) -> None:
    """The broker asked for a controlled shutdown: it is registered, but no longer live."""
    if broker in cluster.brokers:
        cluster.shutting_down.add(broker)


def put_configs(cluster: Cluster, kind: str, configs: Mapping[str, Mapping[str, str]]) -> None:
    """Put in the dynamic configs of some topics (`kind` "topics") or brokers ("brokers"), by name; empty: none left."""
    known = cluster.topic_configs if kind == TOPICS else cluster.broker_configs
    all_new = cluster.leases.being_written
    changed = [name for name, values in configs.items() if all_new or known.get(name, {}) != values]
    if kind == TOPICS:
        cluster.leases.configs_changed(topics=changed)
    else:
        brokers = [whole_number(name, 0, INT32) for name in changed]
        cluster.leases.configs_changed(brokers=[broker for broker in brokers if broker is not None])
        if "<default>" in changed:  # no lease relaxes a limit of the cluster, on any broker
            cluster.leases.configs_changed(brokers=cluster.leases.brokers)
    for name, values in configs.items():
        if values:
            known[name] = dict(values)
        else:
            known.pop(name, None)


def put_settings(cluster: Cluster, settings: Mapping[str, str], problem: str) -> None:
    """Put in the settings of the servers, or why they cannot be read."""
    cluster.settings, cluster.settings_problem = dict(settings), problem


def put_broker_settings(cluster: Cluster, settings: BrokerSettings) -> None:
    """Put in the settings that brokers were started with."""
    cluster.broker_settings = settings


def put_sizes(cluster: Cluster, sizes: Mapping[TopicPartition, int | None]) -> Iterator[None]:
    """Put in sizes of partitions as brokers reported them (None: no longer of interest), yielding every `SLICE`.

    A partition whose topic is gone is skipped.
    """
    for (name, size), pause in in_slices(sizes.items(), SLICE):
        if size is None or cluster.get(*name) is None:
            cluster.sizes.pop(name, None)
        else:
            cluster.sizes[name] = size
            if cluster.queue.place(*name) is not None or (cluster.batch is not None and name in cluster.batch.entries):
                cluster.queue.more = True  # its move may have waited for this size
        if pause:
            yield
