"""What one broker still has to learn: the order, the size and the repetition of its requests.

`PendingRequests` holds only names of partitions, and the channel builds the request when the connection is free. So a
burst of changes to one partition costs one entry, and a broker that was away learns the latest state. The first of
these that applies goes next:

1. After a registration: the metadata of all partitions, so that the broker does not deny that a topic exists
   (KafkaController.onBrokerStartup).
2. The live brokers: a follower must know its leader's address before it can fetch.
3. StopReplica for a partition that may be this broker's again since: it must not undo the LeaderAndIsr.
4. The review of partitions whose replicas others have changed: a leader that is no replica any more takes records that
   are lost. One that the broker has not answered waits (`retry_refused`): it must not keep it from all else.
5. LeaderAndIsr, UpdateMetadata, other StopReplica, the review of all that the broker holds, one of each in turn as in
   Kafka's ControllerBrokerRequestBatch: many of one kind do not delay the others.

The first LeaderAndIsr after a registration has all replicas of the broker: after it the broker rewrites its file of
high watermarks (ReplicaManager.becomeLeaderOrFollower), and would lose those of partitions that it left out.

A refused StopReplica goes again later, unless the broker has the partition again; Kafka does not repeat it, and the log
stays until broker or controller change.

The partitions of which a broker still needs a LeaderAndIsr. Followers whose leader knows the new leader epoch go
first: they replicate nothing until they know it too. So each partition pauses for about one request, however many
change at once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple, TypeVar
from uuid import UUID

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


class PendingLeaderAndIsr:
    def __init__(self) -> None:
        self._awaited: dict[str, dict[int, bool]] = {}
        """Followers whose leader knows the epoch."""
        self._others: dict[str, dict[int, bool]] = {}
        self._held: dict[str, dict[int, bool]] = {}
        """New replicas whose leader does not know the epoch yet. They wait; the request that comes first carries that
        they are new."""
        self._at_once: dict[str, set[int]] = {}
        """Those of `_awaited` and `_others` that must not wait."""

    def __bool__(self) -> bool:
        return bool(self._awaited or self._others)

    def __contains__(self, name: tuple[str, int]) -> bool:
        topic, index = name
        return index in self._awaited.get(topic, ()) or index in self._others.get(topic, ())

    def put(self, topic: str, index: int, *, is_new: bool, leader_knows: bool = False, at_once: bool = False) -> None:
        if at_once:
            self._at_once.setdefault(topic, set()).add(index)
        if self._held:
            is_new = _drop(self._held, topic, index) or is_new
        if leader_knows:
            is_new = _drop(self._others, topic, index) or is_new
        pending = self._awaited if leader_knows or index in self._awaited.get(topic, ()) else self._others
        indexes = pending.setdefault(topic, {})
        indexes[index] = is_new or indexes.get(index, False)

    def hold(self, topic: str, index: int, *, is_new: bool) -> bool:
        """Holds it back until `put`. Returns False if it must not wait."""
        if self._at_once and index in self._at_once.get(topic, ()):
            return False
        if self.drop(topic, index) or is_new:
            self._held.setdefault(topic, {})[index] = True
        return True

    def drop(self, topic: str, index: int) -> bool:
        """Whether the replica is new; False if it was not pending."""
        self._not_at_once(topic, (index,))
        is_new = _drop(self._awaited, topic, index)
        is_new |= _drop(self._others, topic, index)
        return _drop(self._held, topic, index) or is_new

    def drop_topic(self, topic: str) -> None:
        for pending in (self._awaited, self._others, self._held):
            pending.pop(topic, None)
        self._at_once.pop(topic, None)

    def _not_at_once(self, topic: str, indexes: Iterable[int]) -> None:
        found = self._at_once.get(topic) if self._at_once else None
        if found is not None:
            found.difference_update(indexes)
            if not found:
                del self._at_once[topic]

    def take(self, limit: int) -> dict[str, dict[int, bool]]:
        taken: dict[str, dict[int, bool]] = {}
        for pending in (self._awaited, self._others):
            limit -= _move(pending, taken, limit)
        for topic, indexes in taken.items():
            self._not_at_once(topic, indexes)
        return taken

    def take_all(self) -> dict[str, dict[int, bool]]:
        taken = self._awaited
        for pending in (self._others, self._held):
            for topic, indexes in pending.items():
                taken.setdefault(topic, {}).update(indexes)
        self._awaited, self._others, self._held, self._at_once = {}, {}, {}, {}
        return taken


def _drop(pending: dict[str, dict[int, bool]], topic: str, index: int) -> bool:
    indexes = pending.get(topic)
    if indexes is None:
        return False
    is_new = indexes.pop(index, False)
    if not indexes:
        del pending[topic]
    return is_new


def _move(source: dict[str, dict[int, bool]], target: dict[str, dict[int, bool]], limit: int) -> int:
    left = limit
    while source and left > 0:
        topic = next(iter(source))
        taken = list(islice(source[topic].items(), left))
        target.setdefault(topic, {}).update(taken)
        for index, _ in taken:
            del source[topic][index]
        if not source[topic]:
            del source[topic]
        left -= len(taken)
    return limit - left


_K = TypeVar("_K")
_V = TypeVar("_V")

PARTITIONS_PER_REQUEST = 500
"""With this many, the event loop builds and encodes a request in well under 20 ms."""

DELETED_EPOCH = -2
"""The leader epoch of a StopReplica for a topic in deletion (Kafka's LeaderAndIsr.EpochDuringDelete)."""


class StopReplicaState(NamedTuple):
    """Kafka's StopReplicaPartitionState. `leader_epoch` fences an older stop; `delete` removes the log. `created` is
    `Topic.created`, since request and answer only name the topic. `deleted`: the id of the topic in deletion, if it has
    one.
    """

    leader_epoch: int
    delete: bool
    created: int = -1
    deleted: UUID | None = None


def is_undone(cluster: Cluster, name: TopicPartition, stop: StopReplicaState) -> bool:
    """Whether somebody removed the deletion mark, or put the same topic back."""
    topic = cluster.topics.get(name.topic)
    return topic is not None and not topic.deleting and stop.deleted is not None and topic.id == stop.deleted


class LiveBrokers(NamedTuple): ...


class AllMetadata(NamedTuple): ...


class LeaderAndIsr(NamedTuple):
    partitions: Mapping[str, Mapping[int, bool]]
    """By topic and partition: whether the replica is new on this broker."""
    is_complete: bool = False
    """The request has all replicas of the broker. `partitions` then lists some of them only."""


class UpdateMetadata(NamedTuple):
    partitions: Mapping[str, Iterable[int]]
    deleted: Mapping[str, Iterable[int]]
    """Partitions of topics in deletion, which the broker removes from its metadata."""


class StopReplica(NamedTuple):
    stops: Mapping[TopicPartition, StopReplicaState]


class Review(NamedTuple):
    """The broker is asked which of these partitions it holds, and stops what is not assigned (`stop_unassigned`)."""

    partitions: Mapping[str, Iterable[int]] | None
    """None: all that it holds."""


BrokerRequest = LiveBrokers | AllMetadata | LeaderAndIsr | UpdateMetadata | StopReplica | Review


class PendingRequests:
    """At first the broker has just registered and has to learn everything."""

    def __init__(self) -> None:
        self._all_metadata = True
        self._all_replicas = True
        self._knows_replicas = False
        self._turn = 0
        self._brokers = False
        self._leader_and_isr = PendingLeaderAndIsr()
        self._metadata: dict[str, set[int]] = {}
        self._deleted: dict[str, set[int]] = {}
        self._stops: dict[TopicPartition, StopReplicaState] = {}
        self._urgent_stops: dict[TopicPartition, StopReplicaState] = {}
        self._refused_stops: dict[TopicPartition, StopReplicaState] = {}
        self._review_all = True
        self._review: dict[str, set[int]] = {}
        self._review_all_later = False
        self._review_later: dict[str, set[int]] = {}
        """What the broker could not be asked, or could not be made to stop yet."""

    def __bool__(self) -> bool:
        return bool(
            self._all_metadata
            or self._all_replicas
            or self._brokers
            or self._leader_and_isr
            or self._metadata
            or self._deleted
            or self._stops
            or self._urgent_stops
            or self._review
            or self._review_all
        )

    @property
    def lists_all_replicas(self) -> bool:
        return self._all_replicas or not self._knows_replicas

    def everything(self) -> None:
        self._all_metadata = self._all_replicas = True
        self._urgent_stops |= self._stops
        self._stops = {}
        self._refused_stops = {}
        self._review_all, self._review_all_later = True, False
        self._review, self._review_later = {}, {}

    def live_brokers_changed(self) -> None:
        self._brokers = True
        self._review_what_waits()

    def review(self, topic: str, partitions: Iterable[int]) -> None:
        self._review.setdefault(topic, set()).update(partitions)

    def review_later(self, names: Iterable[TopicPartition]) -> None:
        """With `retry_refused`, or when other brokers live."""
        for topic, index in names:
            self._review_later.setdefault(topic, set()).add(index)

    def not_asked(self, topic: str) -> Iterable[int] | None:
        """The partitions for which a review is pending; None: it is for all."""
        if self._review_all or self._review_all_later:
            return None
        return chain(self._review.get(topic, ()), self._review_later.get(topic, ()))

    def _review_what_waits(self) -> None:
        self._review_all |= self._review_all_later
        self._review_all_later = False
        for topic, indexes in self._review_later.items():
            self.review(topic, indexes)
        self._review_later = {}

    def leader_and_isr(
        self, topic: str, partition: int, *, is_new: bool, leader_knows: bool = False, at_once: bool = False
    ) -> None:
        """`leader_knows`: a follower whose leader has learned the same. `at_once`: the broker led, and believes that it
        leads until it gets this.
        """
        if self._stops or self._refused_stops:
            name = TopicPartition(topic, partition)
            self._refused_stops.pop(name, None)
            stop = self._stops.pop(name, None)
            if stop is not None:
                self._urgent_stops[name] = stop
        self._leader_and_isr.put(topic, partition, is_new=is_new, leader_knows=leader_knows, at_once=at_once)

    def metadata(self, topic: str, partitions: Collection[int]) -> None:
        self._metadata.setdefault(topic, set()).update(partitions)
        self._not_deleted(topic, partitions)

    def topic_vanished(self, topic: str) -> None:
        """Without a deletion. The topic's stops stay: each was decided before."""
        self._metadata.pop(topic, None)
        self._leader_and_isr.drop_topic(topic)

    def topic_deleted(self, topic: str, partitions: Iterable[int]) -> None:
        self.topic_vanished(topic)
        self._deleted.setdefault(topic, set()).update(partitions)

    def partitions_deleted(self, topic: str, partitions: Iterable[int]) -> None:
        """Other partitions of a topic of this name may exist."""
        gone = set(partitions).difference(self._metadata.get(topic, ()))
        if gone:
            self._deleted.setdefault(topic, set()).update(gone)

    def deleted(self) -> Mapping[str, int]:
        """What the broker has to forget: topics, each with one more than the highest index."""
        return {topic: max(indexes) + 1 for topic, indexes in self._deleted.items()}

    def _not_deleted(self, topic: str, partitions: Collection[int]) -> None:
        deleted = self._deleted.get(topic)
        if deleted is not None:
            deleted.difference_update(partitions)
            if not deleted:
                del self._deleted[topic]

    def stop(self, topic: str, partition: int, stop: StopReplicaState) -> None:
        """If an earlier pending stop deletes the log, this one does too."""
        self._leader_and_isr.drop(topic, partition)
        name = TopicPartition(topic, partition)
        self._refused_stops.pop(name, None)
        earlier = self._urgent_stops.pop(name, None) or self._stops.get(name)
        self._stops[name] = stop if earlier is None else _both(earlier, stop)

    def stops_refused(self, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """They wait for `retry_refused`, unless a newer request replaces them."""
        for name, stop in stops.items():
            if not self.has_stop(name) and not self.has_leader_and_isr(name):
                self._refused_stops[name] = stop

    def retry_refused(self) -> None:
        self._stops |= self._refused_stops
        self._refused_stops = {}
        self._review_what_waits()

    @property
    def has_stops(self) -> bool:
        return bool(self._stops or self._urgent_stops)

    def all_stops(self) -> Iterator[tuple[TopicPartition, StopReplicaState]]:
        return chain(self._refused_stops.items(), self._urgent_stops.items(), self._stops.items())

    def has_stop(self, name: TopicPartition) -> bool:
        return name in self._stops or name in self._urgent_stops

    def has_leader_and_isr(self, name: TopicPartition) -> bool:
        return name in self._leader_and_isr

    def without_leader_and_isr(self, topic: str, indexes: Iterable[int]) -> Iterator[int]:
        """Each is judged when its turn comes."""
        return (index for index in indexes if (topic, index) not in self._leader_and_isr)

    def hold_leader_and_isr(self, topic: str, index: int, *, is_new: bool) -> bool:
        """Holds it back until `leader_and_isr` marks it again; a complete request includes it all the same. Returns
        False if it must go at once: the broker has yet to learn of an earlier epoch.
        """
        return self._leader_and_isr.hold(topic, index, is_new=is_new)

    def take(self, limit: int | None = None) -> BrokerRequest | None:
        """None if the broker knows everything. `limit` replaces `PARTITIONS_PER_REQUEST`."""
        limit = PARTITIONS_PER_REQUEST if limit is None else limit
        if self._all_metadata:
            self._all_metadata = self._brokers = False
            self._metadata = {}
            return AllMetadata()
        if self._brokers:
            self._brokers = False
            return LiveBrokers()
        if self._urgent_stops:
            return StopReplica(_take_map(self._urgent_stops, limit))
        if self._review and not self.lists_all_replicas:
            return Review(_take_sets(self._review, limit))
        kinds = (self._take_leader_and_isr, self._take_metadata, self._take_stops, self._take_review)
        for _ in kinds:
            request = kinds[self._turn](limit)
            self._turn = (self._turn + 1) % len(kinds)
            if request is not None:
                return request
        self._turn = 0
        return None

    def _take_leader_and_isr(self, limit: int) -> LeaderAndIsr | None:
        if self._all_replicas or (self._leader_and_isr and self.lists_all_replicas):
            self._all_replicas, self._knows_replicas = False, True
            return LeaderAndIsr(self._leader_and_isr.take_all(), is_complete=True)
        return LeaderAndIsr(self._leader_and_isr.take(limit)) if self._leader_and_isr else None

    def _take_metadata(self, limit: int) -> UpdateMetadata | None:
        if not self._metadata and not self._deleted:
            return None
        deleted = _take_sets(self._deleted, limit)
        left = limit - sum(map(len, deleted.values()))
        return UpdateMetadata(_take_sets(self._metadata, left) if left > 0 else {}, deleted)

    def _take_stops(self, limit: int) -> StopReplica | None:
        return StopReplica(_take_map(self._stops, limit)) if self._stops else None

    def _take_review(self, _limit: int) -> Review | None:
        """Not before the broker has learned of all its replicas: until then it holds none, unless it was only cut
        off."""
        if self.lists_all_replicas or not self._review_all:
            return None
        self._review_all, self._review = False, {}
        return Review(None)

    def refused(self, request: BrokerRequest) -> None:
        """After a complete request the next LeaderAndIsr has to be complete. A replica that was new in it stays new."""
        if isinstance(request, LeaderAndIsr):
            if request.is_complete:
                self._knows_replicas = False
            for topic, indexes in request.partitions.items():
                for index, is_new in indexes.items():
                    if is_new and TopicPartition(topic, index) not in self._leader_and_isr:
                        self._leader_and_isr.hold(topic, index, is_new=True)

    def restore(self, request: BrokerRequest) -> None:
        """Newer pending requests go before it."""
        match request:
            case LiveBrokers():
                self._brokers = True
            case AllMetadata():
                self._all_metadata = True
            case LeaderAndIsr(starts, is_complete):
                self._all_replicas |= is_complete
                self._restore_starts(starts)
            case UpdateMetadata(partitions, deleted):
                for topic, indexes in deleted.items():
                    self._deleted.setdefault(topic, set()).update(indexes)
                    self._not_deleted(topic, self._metadata.get(topic, ()))
                for topic, indexes in partitions.items():
                    left = set(indexes).difference(self._deleted.get(topic, ()))
                    if left:
                        self.metadata(topic, left)
            case StopReplica(stops):
                self._restore_stops(stops)
            case Review(None):
                self._review_all_later = True
            case Review(reviewed):
                for topic, indexes in (reviewed or {}).items():
                    self._review_later.setdefault(topic, set()).update(indexes)

    def _restore_starts(self, partitions: Mapping[str, Mapping[int, bool]]) -> None:
        for topic, indexes in partitions.items():
            deleted = self._deleted.get(topic, ())
            for index, is_new in indexes.items():
                if index not in deleted and TopicPartition(topic, index) not in self._stops:
                    # Whether the broker believes that it leads is not known here.
                    self.leader_and_isr(topic, index, is_new=is_new, at_once=True)

    def _restore_stops(self, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """They are older than all that is pending: they go first, or a newer stop takes their place."""
        for name, stop in stops.items():
            newer = self._stops if name in self._stops else self._urgent_stops
            newer[name] = _both(stop, newer[name]) if name in newer else stop


def _both(earlier: StopReplicaState, later: StopReplicaState) -> StopReplicaState:
    if later.delete or not earlier.delete:
        return later
    return earlier if earlier.leader_epoch == DELETED_EPOCH else later._replace(delete=True)


def _take_map(source: dict[_K, _V], limit: int) -> dict[_K, _V]:
    taken = dict(islice(source.items(), limit))
    for key in taken:
        del source[key]
    return taken


def _take_sets(source: dict[str, set[int]], limit: int) -> dict[str, set[int]]:
    taken: dict[str, set[int]] = {}
    while source and limit > 0:
        topic = next(iter(source))
        indexes = source[topic]
        if len(indexes) <= limit:
            taken[topic] = indexes
            del source[topic]
        else:
            taken[topic] = {indexes.pop() for _ in range(limit)}
        limit -= len(taken[topic])
    return taken
