"""One channel for each registered broker, and which brokers have to learn of a change.

What a broker has missed while it was away. The requests after a registration do not name what is gone, and a process
that was frozen, or cut off from ZooKeeper, still has its memory:

* it goes on as the leader of a dropped replica. Producers with old metadata write to it: with acks=1 to a log that
  nobody reads, with acks=all until their time is over;
* it goes on showing partitions of deleted topics, since UpdateMetadata only adds.

A restarted process keeps the log of the dropped replica on disk.

Kafka's controller leaves all three. Here the returning broker deletes and forgets what moves of this term have dropped
and what was deleted. What an earlier term has dropped is stopped and stays on disk (`stop_unassigned`): ZooKeeper
may have been restored since. So does a log whose topic is not in ZooKeeper without a mark for deletion: what is put
back may need it.
"""

import asyncio
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_reassign_rpc.controller_channel.broker_channel import BrokerChannel
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, PendingRequests, StopReplicaState
from kafka_reassign_rpc.controller_channel.replica_answers import (
    BrokerReports,
    HostedReplica,
    cannot_be_in_sync,
    in_sync_elsewhere,
)
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition, Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.turns import Turn
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

MOST_MISSED = 100_000
"""How many dropped replicas, and partitions of deleted topics, are remembered. Further replicas are not; of the
topics, those that were deleted first are forgotten."""


class Dropped(NamedTuple):
    """`created` is `Topic.created`."""

    created: int
    topic_deleted: bool = False


class MissedChanges:
    """A broker is away from `left` until `returned`."""

    def __init__(self, cluster: Callable[[], Cluster]) -> None:
        self._cluster = cluster
        self._away: dict[int, PendingRequests] = {}
        """What these brokers had not confirmed when they left. They may not have done it."""
        self._dropped: dict[int, dict[TopicPartition, Dropped]] = {}
        """By broker: the partitions of which it has lost its replica."""
        self._deleted: dict[str, int] = {}
        """By name of a deleted topic: its number of partitions."""

    def left(self, broker: int, unconfirmed: PendingRequests) -> None:
        self._away[broker] = unconfirmed

    def replica_dropped(self, broker: int, name: TopicPartition, dropped: Dropped) -> None:
        if sum(map(len, self._dropped.values())) < MOST_MISSED:
            self._dropped.setdefault(broker, {})[name] = dropped

    def topic_deleted(self, topic: str, created: int, indexes: Collection[int]) -> None:
        for dropped in self._dropped.values():
            for index in indexes:
                name = TopicPartition(topic, index)
                if name in dropped and dropped[name].created == created:
                    dropped[name] = Dropped(created, topic_deleted=True)
        if self._away:
            self._deleted[topic] = max(self._deleted.pop(topic, 0), max(indexes, default=-1) + 1)
            while sum(self._deleted.values()) > MOST_MISSED:
                del self._deleted[next(iter(self._deleted))]

    def returned(self, brokers: Mapping[int, PendingRequests]) -> Iterator[None]:
        for broker, pending in brokers.items():
            unconfirmed = self._away.pop(broker, None)
            dropped = self._dropped.pop(broker, {})
            if unconfirmed is not None:
                yield from self._forget(pending, [*self._deleted.items(), *unconfirmed.deleted().items()])
                for name, stop in unconfirmed.all_stops():
                    if stop.delete:
                        dropped[name] = Dropped(stop.created, topic_deleted=stop.leader_epoch == DELETED_EPOCH)
                    yield
            yield from self._stop_dropped(broker, pending, dropped)
        if not self._away:
            self._deleted = {}

    def _forget(self, pending: PendingRequests, deleted: Iterable[tuple[str, int]]) -> Iterator[None]:
        for topic, count in deleted:
            pending.partitions_deleted(topic, self._gone(topic, count))
            yield

    def _stop_dropped(
        self, broker: int, pending: PendingRequests, dropped: dict[TopicPartition, Dropped]
    ) -> Iterator[None]:
        while dropped:
            name, one = dropped.popitem()
            if self._may_be_needed(name, one):
                self.replica_dropped(broker, name, one)
            elif (stop := self._stop(broker, name, one.created)) is not None:
                pending.stop(*name, stop)
            yield

    def _may_be_needed(self, name: TopicPartition, dropped: Dropped) -> bool:
        """The partition has no leader, or others have removed or replaced it or its topic in ZooKeeper. The log stays
        until a later return.
        """
        if dropped.topic_deleted:
            return False
        topic = self._cluster().topics.get(name.topic)
        value = None if topic is None or topic.created != dropped.created else topic.partitions.get(name.partition)
        return value is None or value.leader == NO_LEADER

    def _stop(self, broker: int, name: TopicPartition, created: int) -> StopReplicaState | None:
        """None if the broker has a replica there again or must not stop it. A topic in deletion deletes the log by
        itself. If another topic has the name now and the broker has a replica of it, the broker will report
        INCONSISTENT_TOPIC_ID.
        """
        cluster = self._cluster()
        deleted = StopReplicaState(DELETED_EPOCH, delete=True, created=created)
        if name.topic in cluster.unreadable:
            return None
        topic = cluster.topics.get(name.topic)
        if topic is None:
            return deleted
        value = topic.partitions.get(name.partition)
        if topic.deleting or name.partition in topic.unreadable or (value is not None and broker in value.replicas):
            return None
        return deleted._replace(leader_epoch=value.leader_epoch) if topic.created == created and value else deleted

    def _gone(self, topic: str, count: int) -> Collection[int]:
        cluster = self._cluster()
        if topic in cluster.unreadable:
            return ()
        known = cluster.topics.get(topic)
        return range(count) if known is None else set(range(count)).difference(known.partitions, known.unreadable)


Followers = tuple[int, ...]
"""Broker ids. (Their pending requests know whether the replica is new there.)"""


class LeadersFirst:
    """A leader learns of a new leader epoch before its followers do.

    A fetcher with an older epoch than its leader's gets FENCED_LEADER_EPOCH, and goes on at once with its own
    LeaderAndIsr. One with a newer epoch, or a new replica whose leader does not know it yet, gets UNKNOWN_LEADER_EPOCH
    and backs off for replica.fetch.backoff.ms, a second by default (AbstractFetcherThread's processFetchRequest and
    onPartitionFenced in Kafka 3.9). Kafka's ZooKeeper controller sends to all replicas at once, and who is ahead of the
    leader loses that second.

    To wait until the leader has answered costs followers nothing: they could not fetch with the new epoch before. A
    broker that led, and has not learned of the end, never waits: until then it accepts records that the new leader does
    not have. Who waits is decided in `ChannelManager._new_leader_epoch`.
    """

    def __init__(self) -> None:
        self._held: dict[str, dict[int, tuple[int, Followers]]] = {}
        """By topic and partition: the leader, and the followers that wait for it."""

    def hold(self, topic: str, index: int, leader: int, followers: Followers) -> None:
        if followers:
            self._held.setdefault(topic, {})[index] = leader, followers
        else:
            self.forget(topic, index)

    def waiting(self, topic: str, index: int) -> Followers:
        held = self._held.get(topic)
        return () if held is None else held.get(index, (0, ()))[1]

    def forget(self, topic: str, index: int) -> None:
        held = self._held.get(topic)
        if held is not None and held.pop(index, None) is not None and not held:
            del self._held[topic]

    def forget_topic(self, topic: str) -> None:
        self._held.pop(topic, None)

    def forget_replica(self, topic: str, index: int, broker: int) -> None:
        """The broker stops its replica: a LeaderAndIsr that is held back must not undo that."""
        held = self._held.get(topic, {}).get(index)
        if held is not None:
            self.hold(topic, index, held[0], tuple(one for one in held[1] if one != broker))

    def partitions(self) -> Mapping[str, Iterable[int]]:
        return {topic: list(held) for topic, held in self._held.items()}

    def release(self, leader: int, topic: str, indexes: Iterable[int]) -> Iterator[tuple[int, Followers]]:
        for index in indexes:
            held = self._held.get(topic, {}).get(index)
            if held is not None and held[0] == leader:
                self.forget(topic, index)
                yield index, held[1]


class ChannelManager:
    """The methods mark what is out of date on a broker; `flush` sends it."""

    def __init__(
        self,
        cluster: Callable[[], Cluster],
        sender: Sender,
        reports: BrokerReports,
        links: BrokerLinks | None = None,
    ) -> None:
        self._cluster = cluster
        self._sender = sender
        self._reports = reports
        self._links = links or BrokerLinks()
        self._channels: dict[int, BrokerChannel] = {}
        self._leaders_first = LeadersFirst()
        self._missed = MissedChanges(cluster)
        self._stops_on_absent_brokers: dict[int, dict[TopicPartition, StopReplicaState]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._turn = Turn()

    def set_brokers(self, wanted: Mapping[int, Broker]) -> list[int]:
        """Returns the ids that were not connected before: they learn everything, and with `returned` what they have
        missed.
        """
        for broker_id, channel in list(self._channels.items()):
            if wanted.get(broker_id) != channel.broker:
                del self._channels[broker_id]
                self._missed.left(broker_id, channel.unconfirmed())
                task = asyncio.create_task(channel.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        new = [broker_id for broker_id in wanted if broker_id not in self._channels]
        for broker_id in new:
            self._channels[broker_id] = BrokerChannel(
                wanted[broker_id], self._cluster, self._sender, self._reports, self, self._links, self._turn
            )
        for channel in self._channels.values():
            channel.pending.live_brokers_changed()
        return new

    def returned(self, brokers: Collection[int]) -> Iterator[None]:
        return self._missed.returned({id_: self._channels[id_].pending for id_ in brokers})

    def everything(self) -> None:
        for channel in self._channels.values():
            channel.pending.everything()

    def partition_changed(self, topic: str, index: int, before: Partition | None, after: Partition) -> None:
        """A replica that was pending deletion before may have stopped, been added and been removed again in one round.
        A partition that somebody else has created has no state until this controller writes the first one.
        """
        known = None if before is None or before.partition_epoch < 0 else before
        has_new_epoch = known is None or known.leader_epoch != after.leader_epoch
        if has_new_epoch:
            self._new_leader_epoch(topic, index, known, after)
        if before is not None and before.isr != after.isr:
            for replica in set(before.isr).difference(after.isr):
                if (channel := self._channels.get(replica)) is not None:
                    channel.replicas.reconsider(topic, index)
        for replica in after.pending_deletion:
            if has_new_epoch or before is None or replica not in before.pending_deletion:
                self.stop_and_delete(replica, topic, index, after)
        if before is not None and before.replicas is not after.replicas:
            for replica in before.replicas:
                if replica not in after.replicas and replica != self._sender.id:
                    self._dropped(replica, topic, index, before, after)

    def _dropped(self, broker_id: int, topic: str, index: int, before: Partition, after: Partition) -> None:
        """A move deletes what it drops, and remembers brokers that are away. What else takes a replica away leaves the
        log; a broker that returns is asked anyway."""
        channel, known = self._channels.get(broker_id), self._cluster().topics.get(topic)
        if channel is not None:
            if broker_id not in after.pending_deletion:
                channel.pending.review(topic, (index,))
        elif known is not None and broker_id in (*before.removing, *after.pending_deletion):
            self._missed.replica_dropped(broker_id, TopicPartition(topic, index), Dropped(known.created))

    def review(self, topic: str, indexes: Collection[int]) -> Iterator[None]:
        """Others have changed these partitions: any broker may hold what it has no replica of now."""
        for channel in list(self._channels.values()):
            channel.pending.review(topic, indexes)
            yield

    def not_asked(self, topic: Topic) -> Mapping[int, Collection[int]]:
        """By broker the partitions that it may hold, or have the log of, though they are not assigned to it, as far as
        reviews of this term have shown."""
        found = {id_: channel.not_asked(topic.name, topic.partitions) for id_, channel in self._channels.items()}
        return {id_: indexes for id_, indexes in found.items() if indexes}

    def _new_leader_epoch(self, topic: str, index: int, known: Partition | None, after: Partition) -> None:
        leader = after.leader if after.leader in after.replicas and after.leader in self._channels else NO_LEADER
        led_before = NO_LEADER if known is None else known.leader
        waiting: list[int] = []
        for replica in after.replicas:
            channel = self._channels.get(replica)
            if channel is None:
                continue
            pending = channel.pending
            is_new = known is None or replica not in known.replicas
            led = replica == led_before
            waits = leader not in (NO_LEADER, replica) and not led and not pending.lists_all_replicas
            if waits and pending.hold_leader_and_isr(topic, index, is_new=is_new):
                waiting.append(replica)
            else:
                pending.leader_and_isr(topic, index, is_new=is_new, at_once=led)
        self._leaders_first.hold(topic, index, leader, tuple(waiting))

    def leader_and_isr_answered(
        self, broker_id: int, partitions: Mapping[str, Iterable[int]] | None
    ) -> Generator[None, None, None]:
        """Marks LeaderAndIsr for the followers of these partitions (None: of all) where the broker leads them. If it
        has now accepted a topic id that another broker refused, that one is out of sync.
        """
        channel = self._channels.get(broker_id)
        if channel is None:
            return
        for topic, indexes in (self._leaders_first.partitions() if partitions is None else partitions).items():
            # One that has changed again since has another LeaderAndIsr on its way.
            known = channel.pending.without_leader_and_isr(topic, indexes)
            for index, followers in self._leaders_first.release(broker_id, topic, known):
                for replica in followers:
                    if (follower := self._channels.get(replica)) is not None:
                        follower.pending.leader_and_isr(topic, index, is_new=False, leader_knows=True)
                yield
        for refusing in list(self._channels.values()):
            elsewhere: dict[HostedReplica, int] = {}
            broker = refusing.broker.id
            for refused in refusing.replicas.kept_of(partitions):
                in_sync = self._accepted_by(refused, broker)
                if in_sync is not None and cannot_be_in_sync(refused, broker, self._cluster()):
                    elsewhere[refused] = in_sync
                elif in_sync is not None:
                    refusing.replicas.reconsider(*refused.name)
                yield
            if elsewhere:
                refusing.replicas.refused_in_sync(elsewhere)
        self.flush()

    def _accepted_by(self, replica: HostedReplica, broker_id: int) -> int | None:
        waiting = self._leaders_first.waiting(*replica.name)
        for other in in_sync_elsewhere(replica, broker_id, self._cluster()):
            channel = self._channels.get(other)
            if channel is not None and other not in waiting and channel.has_accepted(replica):
                return other
        return None

    def accepted_elsewhere(self, broker_id: int, replica: HostedReplica) -> bool:
        return self._accepted_by(replica, broker_id) is not None

    def leader_and_isr(self, broker_id: int, topic: str, index: int) -> None:
        """The replica stays new if it was."""
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.pending.leader_and_isr(topic, index, is_new=False)

    def waits_for_leader(self, broker_id: int, topic: str, index: int) -> bool:
        return broker_id in self._leaders_first.waiting(topic, index)

    def metadata(self, topic: str, indexes: Collection[int]) -> None:
        for channel in self._channels.values():
            channel.pending.metadata(topic, indexes)

    def stop(self, broker_id: int, topic: str, index: int, stop: StopReplicaState) -> None:
        self._leaders_first.forget_replica(topic, index, broker_id)
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.pending.stop(topic, index, stop)

    async def stops_answered(self, broker_id: int, seconds: float) -> None:
        channel = self._channels.get(broker_id)
        if channel is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await channel.stops_answered()

    def stop_and_delete(self, broker_id: int, topic: str, index: int, value: Partition) -> None:
        """A broker that is not registered is not waited for: `flush` reports the replica as stopped."""
        known = self._cluster().topics.get(topic)
        stop = StopReplicaState(value.leader_epoch, delete=True, created=-1 if known is None else known.created)
        if broker_id in self._cluster().brokers:
            self.stop(broker_id, topic, index, stop)
        else:
            self._stops_on_absent_brokers.setdefault(broker_id, {})[TopicPartition(topic, index)] = stop

    def topic_deleted(self, topic: Topic) -> None:
        self._leaders_first.forget_topic(topic.name)
        self._missed.topic_deleted(topic.name, topic.created, topic.partitions)
        for channel in self._channels.values():
            channel.pending.topic_deleted(topic.name, topic.partitions)

    def topic_vanished(self, name: str) -> None:
        self._leaders_first.forget_topic(name)
        for channel in self._channels.values():
            channel.pending.topic_vanished(name)

    def replica_deleted(self, broker_id: int, topic: Topic, index: int) -> None:
        stop = StopReplicaState(DELETED_EPOCH, delete=True, created=topic.created, deleted=topic.id)
        self.stop(broker_id, topic.name, index, stop)

    def flush(self) -> None:
        absent, self._stops_on_absent_brokers = self._stops_on_absent_brokers, {}
        for broker_id, stops in absent.items():
            self._reports.stopped(broker_id, stops)
        for channel in self._channels.values():
            if channel.pending:
                channel.wake()

    async def close(self) -> None:
        channels, self._channels = list(self._channels.values()), {}
        await asyncio.gather(*(channel.close() for channel in channels), *self._closing)
