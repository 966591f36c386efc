"""What one broker still has to learn: the order, the size and the repetition of the requests to it.

`PendingRequests` holds no messages. It holds the names of the partitions whose state at the broker is out of date; the
channel builds the request from the cluster when the connection is free. So a burst of changes to one partition costs
one entry, and a broker that was away learns the latest state.

The order (the first one that applies is sent next):

1. where the broker has to learn everything, as after its registration: the metadata of all partitions, so that it does
   not say of a topic that it does not exist (KafkaController.onBrokerStartup);
2. the live brokers, where they changed: a follower must know its leader's address before it can fetch;
3. StopReplica for a partition that has, or may have, been assigned to this broker again since: it must not undo the
   LeaderAndIsr;
4. LeaderAndIsr (see `pending_leader_and_isr`), UpdateMetadata, StopReplica for all other partitions, one request of
   each in turn, as in a batch of Kafka's ControllerBrokerRequestBatch: many of one kind do not hold up the others.

The first LeaderAndIsr after a registration is complete: it has all replicas of the broker in one request. After it the
broker writes its file of high watermarks, over and over (ReplicaManager.becomeLeaderOrFollower), and would lose there
the high watermark of each partition that it has not been told of. Other requests have at most
`PARTITIONS_PER_REQUEST` partitions.

A request without an answer is repeated on the next connection (`restore`), with the state of that time. A StopReplica
drops a LeaderAndIsr that was pending for the same partition. A StopReplica that the broker has refused is repeated
later, unless the partition has been assigned to the broker again by then. (Kafka does not repeat it: the log stays
until the broker or the controller changes.) Other requests that the broker has refused are not repeated as they were:
where it is a LeaderAndIsr, the controller raises leader epochs (see `BrokerChannel`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple, TypeVar
from uuid import UUID

from kafka_reassign_rpc.controller_channel.pending_leader_and_isr import PendingLeaderAndIsr
from kafka_reassign_rpc.core.state.cluster import Cluster, TopicPartition

_K = TypeVar("_K")
_V = TypeVar("_V")

PARTITIONS_PER_REQUEST = 500
"""Keeps the time that the event loop builds and encodes one request well under 20 ms."""

DELETED_EPOCH = -2
"""Leader epoch of a StopReplica for a topic in deletion (Kafka's LeaderAndIsr.EpochDuringDelete)."""


class StopReplicaState(NamedTuple):
    """How a StopReplica stops one replica (Kafka's StopReplicaPartitionState).

    `leader_epoch` fences an older stop; `delete` removes the log. `created`: `Topic.created`, since the
    request and its answer only have the topic's name. `deleted`: the id of the topic that is deleted, if it has one.
    """

    leader_epoch: int
    delete: bool
    created: int = -1
    deleted: UUID | None = None


def is_undone(cluster: Cluster, name: TopicPartition, stop: StopReplicaState) -> bool:
    """Whether the topic with which this log is to be deleted is there, and not in deletion any more.

    Somebody has removed the mark. The topic may have been put back meanwhile: its id tells which one it is.
    """
    topic = cluster.topics.get(name.topic)
    return topic is not None and not topic.deleting and stop.deleted is not None and topic.id == stop.deleted


class LiveBrokers(NamedTuple):
    """UpdateMetadata with the live brokers and no partition."""


class AllMetadata(NamedTuple):
    """UpdateMetadata with the live brokers and all partitions. It may take more than one request."""


class LeaderAndIsr(NamedTuple):
    partitions: Mapping[str, Mapping[int, bool]]
    """By topic and partition: whether the replica is new on this broker."""
    is_complete: bool = False
    """One request for all replicas of the broker. `partitions` has then only what is known of some of them."""


class UpdateMetadata(NamedTuple):
    partitions: Mapping[str, Iterable[int]]
    deleted: Mapping[str, Iterable[int]]
    """Partitions of topics in deletion: the broker removes them from its metadata."""


class StopReplica(NamedTuple):
    stops: Mapping[TopicPartition, StopReplicaState]


BrokerRequest = LiveBrokers | AllMetadata | LeaderAndIsr | UpdateMetadata | StopReplica


class PendingRequests:
    """The pending requests of one broker, which has just registered: at first it has to learn everything.

    `take` hands out the next request; `restore` puts back one without an answer.
    """

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
        )

    @property
    def lists_all_replicas(self) -> bool:
        """Whether the next LeaderAndIsr is a complete one."""
        return self._all_replicas or not self._knows_replicas

    def everything(self) -> None:
        """The broker has to learn the whole state of the cluster. The caller marks anew the stops that still hold."""
        self._all_metadata = self._all_replicas = True
        self._urgent_stops |= self._stops
        self._stops = {}
        self._refused_stops = {}

    def live_brokers_changed(self) -> None:
        self._brokers = True

    def leader_and_isr(
        self, topic: str, partition: int, *, is_new: bool, leader_knows: bool = False, at_once: bool = False
    ) -> None:
        """The broker holds a replica and has to learn the partition's leader, ISR or assignment.

        `leader_knows`: it is a follower, and its leader has learned the same by now. `at_once`: it has led, and
        believes that it leads until it gets this one; so this one cannot be held.
        """
        if self._stops or self._refused_stops:
            name = TopicPartition(topic, partition)
            self._refused_stops.pop(name, None)
            stop = self._stops.pop(name, None)
            if stop is not None:
                self._urgent_stops[name] = stop
        self._leader_and_isr.put(topic, partition, is_new=is_new, leader_knows=leader_knows, at_once=at_once)

    def metadata(self, topic: str, partitions: Collection[int]) -> None:
        """The broker's metadata of these partitions is out of date."""
        self._metadata.setdefault(topic, set()).update(partitions)
        self._not_deleted(topic, partitions)

    def topic_vanished(self, topic: str) -> None:
        """Nothing is known of the topic any more. Its stops stay: each of them was decided before."""
        self._metadata.pop(topic, None)
        self._leader_and_isr.drop_topic(topic)

    def topic_deleted(self, topic: str, partitions: Iterable[int]) -> None:
        self.topic_vanished(topic)
        self._deleted.setdefault(topic, set()).update(partitions)

    def partitions_deleted(self, topic: str, partitions: Iterable[int]) -> None:
        """These partitions do not exist (any more). Others of a topic of this name may."""
        gone = set(partitions).difference(self._metadata.get(topic, ()))
        if gone:
            self._deleted.setdefault(topic, set()).update(gone)

    def deleted(self) -> Mapping[str, int]:
        """The topics with partitions that the broker has to remove from its metadata, each with one more than the
        highest index."""
        return {topic: max(indexes) + 1 for topic, indexes in self._deleted.items()}

    def _not_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """A topic of the same name exists again."""
        deleted = self._deleted.get(topic)
        if deleted is not None:
            deleted.difference_update(partitions)
            if not deleted:
                del self._deleted[topic]

    def stop(self, topic: str, partition: int, stop: StopReplicaState) -> None:
        """The broker stops its replica. A log that an earlier stop deletes, which is still pending, is deleted too."""
        self._leader_and_isr.drop(topic, partition)
        name = TopicPartition(topic, partition)
        self._refused_stops.pop(name, None)
        earlier = self._urgent_stops.pop(name, None) or self._stops.get(name)
        self._stops[name] = stop if earlier is None else _both(earlier, stop)

    def stops_refused(self, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """The broker has refused these stops: they wait for `retry_refused_stops`. Newer requests replace them."""
        for name, stop in stops.items():
            if not self.has_stop(name) and not self.has_leader_and_isr(name):
                self._refused_stops[name] = stop

    def retry_refused_stops(self) -> None:
        self._stops |= self._refused_stops
        self._refused_stops = {}

    @property
    def has_stops(self) -> bool:
        """Whether any stop is pending, other than those that the broker has refused."""
        return bool(self._stops or self._urgent_stops)

    def all_stops(self) -> Iterator[tuple[TopicPartition, StopReplicaState]]:
        """The stops that the broker has not confirmed, those that it has refused too."""
        return chain(self._refused_stops.items(), self._urgent_stops.items(), self._stops.items())

    def has_stop(self, name: TopicPartition) -> bool:
        """Whether a stop of this replica is pending."""
        return name in self._stops or name in self._urgent_stops

    def has_leader_and_isr(self, name: TopicPartition) -> bool:
        """Whether a LeaderAndIsr for this replica is pending."""
        return name in self._leader_and_isr

    def without_leader_and_isr(self, topic: str, indexes: Iterable[int]) -> Iterator[int]:
        """Those of these partitions for whose replica no LeaderAndIsr is pending, each as it is when its turn comes."""
        return (index for index in indexes if (topic, index) not in self._leader_and_isr)

    def hold_leader_and_isr(self, topic: str, index: int, *, is_new: bool) -> bool:
        """It has to wait until `leader_and_isr` marks it again. A complete request has it nevertheless.

        Returns False where it cannot wait: the broker has to be told of an earlier epoch still, and at once.
        """
        return self._leader_and_isr.hold(topic, index, is_new=is_new)

    def take(self, limit: int | None = None) -> BrokerRequest | None:
        """The next request; None when the broker knows everything. `limit`: instead of `PARTITIONS_PER_REQUEST`."""
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
        kinds = (self._take_leader_and_isr, self._take_metadata, self._take_stops)
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

    def refused(self, request: BrokerRequest) -> None:
        """The broker has refused the whole request. If it was a complete one, the next LeaderAndIsr has to be so.

        What was new in it will be so in the next one that has it.
        """
        if isinstance(request, LeaderAndIsr):
            if request.is_complete:
                self._knows_replicas = False
            for topic, indexes in request.partitions.items():
                for index, is_new in indexes.items():
                    if is_new and TopicPartition(topic, index) not in self._leader_and_isr:
                        self._leader_and_isr.hold(topic, index, is_new=True)

    def restore(self, request: BrokerRequest) -> None:
        """Put back a request that got no answer. Newer pending requests go before it."""
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

    def _restore_starts(self, partitions: Mapping[str, Mapping[int, bool]]) -> None:
        for topic, indexes in partitions.items():
            deleted = self._deleted.get(topic, ())
            for index, is_new in indexes.items():
                if index not in deleted and TopicPartition(topic, index) not in self._stops:
                    # Whether the broker believes that it leads is not known here.
                    self.leader_and_isr(topic, index, is_new=is_new, at_once=True)

    def _restore_stops(self, stops: Mapping[TopicPartition, StopReplicaState]) -> None:
        """They are older than all that is pending. So they go first, or a newer stop takes their place."""
        for name, stop in stops.items():
            newer = self._stops if name in self._stops else self._urgent_stops
            newer[name] = _both(stop, newer[name]) if name in newer else stop


def _both(earlier: StopReplicaState, later: StopReplicaState) -> StopReplicaState:
    """One stop for both: it deletes the log if either does."""
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
